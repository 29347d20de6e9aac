package keychain

import (
	"context"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
)

// TestSealedSample checks that a sample has ciphertexts from all tables, and not too many.
func TestSealedSample(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		const sampledTexts = 20
		n := p.start(t)
		check := func(name string, want int) {
			t.Helper()
			texts, err := Sealed.Sample(t.Context(), n.db)
			if err != nil || len(texts) != want {
				t.Errorf("%s: %d texts, error %v, want %d", name, len(texts), err, want)
			}
			for _, text := range texts {
				if _, err := n.ring.Open(t.Context(), text.Sealed, []byte(text.Associated)); err != nil {
					t.Errorf("%s: %+v: %v", name, text, err)
				}
			}
		}
		n.user(t, "alice")
		if _, err := n.AddModel(t.Context(), "alice", CustomModel{Entry: "local/open", BaseURL: "http://h/v1", Model: "x", Tier: 1}); err != nil {
			t.Fatal(err)
		}
		check("without secrets", 0)
		if _, err := n.AddModel(t.Context(), "alice", CustomModel{Entry: "local/shut", BaseURL: "http://h/v1", Model: "x", Tier: 1, APIKey: "sk-model"}); err != nil {
			t.Fatal(err)
		}
		check("the key of a model", 1)
		for i := range 2 * sampledTexts {
			n.providerKey(t, "alice", "alpha", secretOf(i))
		}
		check("provider keys", 1+sampledTexts)
	})
}

// closed is a keyring that is unavailable.
type closed struct{ keyring.Keyring }

func (closed) Open(context.Context, string, []byte) ([]byte, error) { return nil, sealed.ErrUnfit }
func (closed) Seal(context.Context, []byte, []byte) (string, error) { return "", sealed.ErrUnfit }

// TestKeyringUnavailable checks that, while the keyring is unavailable, Account fails instead of returning an account
// without keys, and no key is replaced.
func TestKeyringUnavailable(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	key := n.providerKey(t, "alice", "alpha", secret)
	n.user(t, "bob")
	if _, err := n.AddModel(t.Context(), "bob", CustomModel{Entry: "local/shut", BaseURL: "http://h/v1", Model: "x", Tier: 1, APIKey: "sk-model"}); err != nil {
		t.Fatal(err)
	}
	n.ring = closed{n.ring}
	n.forgetAll()
	for _, user := range []string{"alice", "bob"} {
		if account, err := n.Account(t.Context(), user); err == nil {
			t.Errorf("%s: %+v", user, account)
		}
	}
	if err := n.SyncProviderKey(t.Context(), "alice", "alpha", "", "sk-other"); err == nil {
		t.Error("a key is stored")
	}
	if keys, err := n.ProviderKeys(t.Context(), "alice"); err != nil || len(keys) != 1 || keys[0].ID != key.ID {
		t.Errorf("%+v %v", keys, err)
	}
	for _, line := range n.logs.All() {
		t.Errorf("logged: %s", line.Message)
	}
}
