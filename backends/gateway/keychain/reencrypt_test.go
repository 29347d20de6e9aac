package keychain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// rings returns a keyring with one key, and a keyring with a newer key in front of it.
func rings(t *testing.T) (before, after *keyring.AES) {
	t.Helper()
	first, second := []byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))
	before, err := keyring.NewAES(first)
	if err == nil {
		after, err = keyring.NewAES(second, first)
	}
	if err != nil {
		t.Fatal(err)
	}
	return before, after
}

// sealedText is a ciphertext in the database, with the id of its row.
type sealedText struct{ id, sealed string }

// sealedTexts returns all ciphertexts in the database, by id.
func (n *node) sealedTexts(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	rows, err := read(t.Context(), n.Service, func(row store.Row) (s sealedText, err error) { return s, row.Scan(&s.id, &s.sealed) },
		"SELECT id, sealed FROM gateway_provider_keys UNION ALL SELECT id, sealed FROM gateway_models WHERE sealed IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		all[row.id] = row.sealed
	}
	return all
}

func secretOf(i int) string { return fmt.Sprintf("sk-secret-%d", i) }

// Reencrypt encrypts anew the texts that an older key of the node's keyring has encrypted.
func (n *node) Reencrypt(ctx context.Context, progress func(sealed.Result)) (sealed.Result, error) {
	return Sealed.Reseal(ctx, n.db, n.ring, n.logger, progress)
}

// TestReencrypt rotates the master key while others read and change keys. The first run is killed in the middle, the
// second completes, and the third finds nothing to do.
func TestReencrypt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		before, after := rings(t)
		n := p.start(t)
		n.ring = before
		n.user(t, "alice")
		n.user(t, "bob")
		const keys = 2*sealed.Batch - 50 // fewer than a user may have
		for i := range keys {
			n.providerKey(t, "alice", "alpha", secretOf(i))
		}
		for i := range 120 {
			m := CustomModel{Entry: fmt.Sprint("local/", i), BaseURL: "http://h/v1", Model: "x", Tier: 1}
			if i%2 == 0 {
				m.APIKey = secretOf(i)
			}
			if _, err := n.AddModel(t.Context(), "bob", m); err != nil {
				t.Fatal(err)
			}
		}
		n.ring = after

		stop := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { // reads during the whole run
			for {
				select {
				case <-stop:
					return
				default:
				}
				alice, err := n.readAccount(context.Background(), "alice")
				if err != nil || len(alice.keys) != keys {
					t.Errorf("alice has %d keys, error %v", len(alice.keys), err)
					return
				}
				for i, k := range alice.keys {
					if k.secret != secretOf(i) {
						t.Errorf("key %d reads %q", i, k.secret)
						return
					}
				}
				if bob, err := n.readAccount(context.Background(), "bob"); err != nil || len(bob.customKeys) != 60 {
					t.Errorf("bob has %d keys, error %v", len(bob.customKeys), err)
					return
				}
			}
		})

		ctx, kill := context.WithCancel(t.Context())
		var progress []string
		result, err := n.Reencrypt(ctx, func(r sealed.Result) {
			progress = append(progress, fmt.Sprint(r.Checked, "/", r.Total))
			kill()
		})
		if !errors.Is(err, context.Canceled) || result.Resealed != sealed.Batch {
			t.Errorf("killed: %+v, error %v", result, err)
		}
		equal(t, progress, []string{"100/210"})

		progress = nil
		result, err = n.Reencrypt(t.Context(), func(r sealed.Result) { progress = append(progress, fmt.Sprint(r.Checked, "/", r.Total)) })
		if want := (sealed.Result{Checked: keys + 60, Total: keys + 60, Resealed: keys + 60 - sealed.Batch}); err != nil || result != want {
			t.Errorf("second run: %+v, error %v, want %+v", result, err, want)
		}
		equal(t, progress, []string{"100/210", "150/210", "210/210"})
		texts := n.sealedTexts(t)
		for id, text := range texts {
			if !after.Current(text) {
				t.Errorf("%s is under the old key", id)
			}
		}
		result, err = n.Reencrypt(t.Context(), nil)
		if want := (sealed.Result{Checked: keys + 60, Total: keys + 60}); err != nil || result != want || len(texts) != keys+60 {
			t.Errorf("third run: %+v, error %v, want %+v", result, err, want)
		}
		for id, text := range n.sealedTexts(t) {
			if text != texts[id] {
				t.Errorf("%s was encrypted anew without need", id)
			}
		}
		close(stop)
		all.Wait()
		if n.logs.Len() != 0 {
			t.Errorf("logged %+v", n.logs.All())
		}
	})
}

// TestReencryptLeavesChanges changes and removes texts between the reading and the writing of a batch. One text cannot
// be decrypted.
func TestReencryptLeavesChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		before, after := rings(t)
		n := p.start(t)
		n.ring = before
		n.user(t, "alice")
		var all [4]*ProviderKey
		for i := range all {
			all[i] = n.providerKey(t, "alice", "alpha", secretOf(i))
		}
		changed, removed, broken, fine := all[0].ID, all[1].ID, all[2].ID, all[3].ID
		n.sql(t, "UPDATE gateway_provider_keys SET sealed = 'nonsense' WHERE id = ?", broken)
		n.ring = meddler{after, func() {
			n.sql(t, "UPDATE gateway_provider_keys SET sealed = 'newer' WHERE id = ?", changed)
			n.sql(t, "DELETE FROM gateway_provider_keys WHERE id = ?", removed)
		}}
		result, err := n.Reencrypt(t.Context(), nil)
		if want := (sealed.Result{Checked: 4, Total: 4, Resealed: 1, Changed: 2, Unreadable: 1}); err != nil || result != want {
			t.Errorf("%+v, error %v, want %+v", result, err, want)
		}
		texts := n.sealedTexts(t)
		if len(texts) != 3 || texts[changed] != "newer" || texts[broken] != "nonsense" || !after.Current(texts[fine]) {
			t.Errorf("left %v", texts)
		}
		if lines := n.logs.FilterField(zap.String("id", broken)).All(); len(lines) != 1 {
			t.Errorf("logged %+v", n.logs.All())
		}
	})
}

// meddler is a keyring that changes rows, by meddle, before it encrypts a text.
type meddler struct {
	*keyring.AES
	meddle func()
}

func (m meddler) Seal(ctx context.Context, plaintext, associated []byte) (string, error) {
	m.meddle()
	return m.AES.Seal(ctx, plaintext, associated)
}
