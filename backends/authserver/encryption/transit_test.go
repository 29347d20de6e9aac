package encryption_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// far returns an encryptor of a key management server.
func far(tb testing.TB, s *transittest.Server) *encryption.Transit {
	tb.Helper()
	c, err := transit.New(transit.Options{Address: s.URL, AppRole: transit.AppRole{RoleID: transittest.RoleID, SecretID: transittest.SecretID}})
	if err != nil {
		tb.Fatal(err)
	}
	k := c.Key("transit", "data")
	if err := k.Create(tb.Context(), transit.AES256GCM); err != nil {
		tb.Fatal(err)
	}
	return encryption.NewTransit(k)
}

func TestTransit(t *testing.T) {
	t.Parallel()
	s := transittest.New(t)
	e, place := far(t, s), encryption.Place("t", "r", "c")
	sealed, err := e.Seal(t.Context(), []byte("secret"), place)
	if err != nil || !strings.HasPrefix(sealed, "transit:vault:v1:") || !e.Current(sealed) {
		t.Fatalf("%q, error %v", sealed, err)
	}
	if plain, err := e.Open(t.Context(), sealed, place); err != nil || string(plain) != "secret" {
		t.Errorf("%q, error %v", plain, err)
	}
	for name, bad := range map[string]string{"cut": sealed[:len(sealed)-8] + "AAAAAAAA", "no tag": sealed[len("transit:"):], "empty": "", "a tag": "transit:", "no version": "transit:vault:x"} {
		if _, err := e.Open(t.Context(), bad, place); !errors.Is(err, keyring.ErrOpen) {
			t.Errorf("%s: error %v", name, err)
		}
		if name != "cut" && encryption.NewTransit(nil).Current(bad) {
			t.Errorf("%s: it is current", name)
		}
	}
	if _, err := e.Open(t.Context(), sealed, encryption.Place("t", "s", "c")); !errors.Is(err, keyring.ErrOpen) {
		t.Errorf("another place: error %v", err)
	}
	s.Rotate("transit", "data")
	if err := e.Refresh(t.Context()); err != nil || e.Current(sealed) {
		t.Errorf("current after a rotation, error %v", err)
	}
	s.Set(transittest.Faults{Sealed: true})
	if _, err := e.Open(t.Context(), sealed, place); !errors.Is(err, transit.ErrUnavailable) {
		t.Errorf("sealed server: error %v", err)
	}
	s.Set(transittest.Faults{Denied: "transit/decrypt"})
	if _, err := e.Open(t.Context(), sealed, place); err == nil || errors.Is(err, keyring.ErrOpen) {
		t.Errorf("denied: error %v", err) // the key exists, so that the text must not count as lost
	}
}

// fill stores rows that e has sealed, as the packages with secrets do.
func fill(tb testing.TB, k authtest.Kernel, e encryption.Encryptor, rows int) {
	tb.Helper()
	for i := range rows {
		kid := fmt.Sprintf("row-%04d", i)
		sealed, err := e.Seal(tb.Context(), []byte("secret of "+kid), encryption.Place("authserver_keys", kid, "private"))
		if err != nil {
			tb.Fatal(err)
		}
		if err := k.Write(tb.Context(), func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO authserver_keys (kid, algorithm, private, created_at) VALUES (?, 'x', ?, 0)", kid, sealed)
			return err
		}); err != nil {
			tb.Fatal(err)
		}
	}
}

// column names the column that fill has written.
var column = []encryption.Column{{Table: "authserver_keys", ID: "kid", Column: "private"}}

// opened returns how many rows can be opened with e, and how many of them are current.
func opened(tb testing.TB, k authtest.Kernel, e encryption.Encryptor) (good, current int) {
	tb.Helper()
	type row struct{ kid, private string }
	var rows []row
	if err := k.Read(tb.Context(), func(c store.Conn) (err error) {
		rows, err = store.List(c, func(r store.Row) (one row, err error) { return one, r.Scan(&one.kid, &one.private) }, "SELECT kid, private FROM authserver_keys")
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	for _, r := range rows {
		if plain, err := e.Open(tb.Context(), r.private, encryption.Place("authserver_keys", r.kid, "private")); err == nil && string(plain) == "secret of "+r.kid {
			good++
		}
		if e.Current(r.private) {
			current++
		}
	}
	return good, current
}

// TestReseal checks the move from each driver to each other, with an interruption.
func TestReseal(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		const rows = 230
		s := transittest.New(t)
		remote := far(t, s)
		fill(t, k, master(t, one, ""), rows)
		reseal := func(e encryption.Encryptor, want encryption.Resealed) {
			t.Helper()
			reports := 0
			done, err := encryption.Reseal(t.Context(), k.Server, e, column, func(encryption.Resealed) { reports++ })
			if err != nil || done != want || reports != 3 {
				t.Fatalf("%+v, error %v, reported %d times", done, err, reports)
			}
			if good, current := opened(t, k, e); good != rows || current != rows {
				t.Fatalf("%d open, %d are current", good, current)
			}
		}
		all, none := encryption.Resealed{Scanned: rows, Rewritten: rows}, encryption.Resealed{Scanned: rows}
		reseal(master(t, two, one), all)
		reseal(master(t, two, ""), none)

		// A run that is interrupted, as by a kill, is completed by the next run.
		target := encryption.Chain(remote, master(t, two, ""))
		ctx, cancel := context.WithCancel(t.Context())
		done, err := encryption.Reseal(ctx, k.Server, target, column, func(encryption.Resealed) { cancel() })
		if err == nil || done.Rewritten != 100 {
			t.Fatalf("%+v, error %v", done, err)
		}
		if good, current := opened(t, k, target); good != rows || current != 100 {
			t.Errorf("%d open, %d are current", good, current)
		}
		s.Set(transittest.Faults{Sealed: true})
		if _, err := encryption.Reseal(t.Context(), k.Server, target, column, nil); !errors.Is(err, transit.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		s.Set(transittest.Faults{})
		reseal(target, encryption.Resealed{Scanned: rows, Rewritten: rows - 100})
		reseal(remote, none)
		s.Rotate("transit", "data")
		reseal(remote, all)
		s.Oldest("transit", "data", 2)
		reseal(remote, none)
		reseal(encryption.Chain(master(t, one, ""), remote), all)
		reseal(master(t, one, ""), none)

		// A row that does not open stays unchanged, and the other rows are sealed again.
		fill2 := func(c store.Conn) error {
			_, err := c.Exec("UPDATE authserver_keys SET private = 'broken' WHERE kid = 'row-0001'")
			return err
		}
		if err := k.Write(t.Context(), fill2); err != nil {
			t.Fatal(err)
		}
		if done, err := encryption.Reseal(t.Context(), k.Server, master(t, two, one), column, nil); err != nil || done != (encryption.Resealed{Scanned: rows, Rewritten: rows - 1, Failed: 1}) {
			t.Errorf("%+v, error %v", done, err)
		}
		if _, err := encryption.Reseal(t.Context(), k.Server, nil, column, nil); !errors.Is(err, encryption.ErrNone) {
			t.Errorf("error %v", err)
		}
	})
}

// TestResealMeanwhile checks that a change between reading and writing is not overwritten.
func TestResealMeanwhile(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		fill(t, k, master(t, one, ""), 1)
		fresh, err := master(t, two, "").Seal(t.Context(), []byte("newer"), encryption.Place("authserver_keys", "row-0000", "private"))
		if err != nil {
			t.Fatal(err)
		}
		e := meanwhile{master(t, two, one), func() {
			if err := k.Write(t.Context(), func(c store.Conn) error {
				_, err := c.Exec("UPDATE authserver_keys SET private = ?", fresh)
				return err
			}); err != nil {
				t.Error(err)
			}
		}}
		if done, err := encryption.Reseal(t.Context(), k.Server, e, column, nil); err != nil || done != (encryption.Resealed{Scanned: 1}) {
			t.Errorf("%+v, error %v", done, err)
		}
		var stored string
		if err := k.Read(t.Context(), func(c store.Conn) error { return c.Row("SELECT private FROM authserver_keys").Scan(&stored) }); err != nil || stored != fresh {
			t.Errorf("%q, error %v", stored, err)
		}
	})
}

// meanwhile is an encryptor that calls happen before each Seal.
type meanwhile struct {
	encryption.Encryptor
	happen func()
}

func (m meanwhile) Seal(ctx context.Context, plaintext, place []byte) (string, error) {
	m.happen()
	return m.Encryptor.Seal(ctx, plaintext, place)
}
