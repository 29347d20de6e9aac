package sealed

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// aes returns a keyring with one key for each digit, which consists of that digit repeated. The first key seals.
func aes(t *testing.T, digits string) keyring.Keyring {
	t.Helper()
	keys := make([][]byte, 0, len(digits))
	for _, digit := range digits {
		keys = append(keys, []byte(strings.Repeat(string(digit), keyring.MasterKeySize)))
	}
	ring, err := keyring.NewAES(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// texts returns a sample of texts that a keyring has sealed. If damaged is true, the sample begins with a damaged text.
func texts(t *testing.T, ring keyring.Keyring, damaged bool) Sample {
	t.Helper()
	sealed, err := ring.Seal(t.Context(), []byte("x"), []byte("place"))
	if err != nil {
		t.Fatal(err)
	}
	all := []Text{{sealed, "place"}}
	if damaged {
		all = append([]Text{{"aes1.AAAA", "place"}}, all...)
	}
	return func(context.Context, *store.DB) ([]Text, error) { return all, nil }
}

func none(context.Context, *store.DB) ([]Text, error) { return nil, nil }

// onBoth runs the test on each engine with a function that opens one database any number of times.
func onBoth(t *testing.T, test func(t *testing.T, open func() *store.DB)) {
	t.Helper()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			file, dsn := filepath.Join(t.TempDir(), "test.db"), ""
			if engine == "postgres" {
				dsn = testenv.Postgres(t).DSN()
			}
			test(t, func() *store.DB {
				t.Helper()
				db, err := store.NewSQLite(store.SQLiteOptions{Path: file}, zap.NewNop())
				if dsn != "" {
					db, err = store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				return started(t, db)
			})
		})
	}
}

func started(t *testing.T, db *store.DB) *store.DB {
	t.Helper()
	if err := db.Register(Schema()); err != nil {
		t.Fatal(err)
	}
	db.Start(t.Context())
	return db
}

func ring(db *store.DB, base keyring.Keyring, sample Sample) *Ring {
	r := New(db, "gateway", base, sample, zap.NewNop())
	r.settle = 0 // no other node uses the database
	return r
}

// usable reports whether a ring seals and opens. It fails the test if the ring does only one of the two, or returns an
// error other than a 503.
func usable(t *testing.T, r *Ring) bool {
	t.Helper()
	sealed, err := r.Seal(t.Context(), []byte("x"), nil)
	_, open := r.Open(t.Context(), sealed, nil)
	if (err == nil) != (open == nil) || (err == nil) != (r.Ready() == nil) {
		t.Errorf("seal %v, open %v, ready %v", err, open, r.Ready())
	}
	if e, ok := apierror.From(err); err != nil && (!ok || e.Status != 503 || errors.Is(err, keyring.ErrOpen)) {
		t.Errorf("error %v", err)
	}
	return err == nil
}

// TestSecondKeyringIsUnfit checks that the database keeps the keyring of the first node, whatever keyring the second
// node has.
func TestSecondKeyringIsUnfit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func() *store.DB) {
		db := open()
		if held, err := Held(t.Context(), db, "gateway", none); err != nil || held {
			t.Errorf("an empty database: held %t, error %v", held, err)
		}
		good, bad := ring(db, aes(t, "1"), none), ring(open(), aes(t, "2"), none)
		if usable(t, good) {
			t.Error("the ring is usable before it was checked")
		}
		if err := good.Check(t.Context()); err != nil || !usable(t, good) {
			t.Fatalf("the first keyring: %v", err)
		}
		err := bad.Check(t.Context())
		if !errors.Is(err, ErrUnfit) || errors.Is(err, keyring.ErrOpen) || !strings.Contains(err.Error(), "of gateway: configure the master key that encrypted them") || usable(t, bad) {
			t.Errorf("another keyring: %v", err)
		}
		if held, err := Held(t.Context(), db, "gateway", none); err != nil || !held {
			t.Errorf("held %t, error %v", held, err)
		}
		if other := New(db, "board", aes(t, "2"), none, zap.NewNop()); other.Check(t.Context()) != nil {
			t.Error("services have check values of their own")
		}
		if err := bad.Adopt(t.Context()); err != nil || !usable(t, bad) {
			t.Errorf("adopted: %v", err)
		}
		if err := good.Check(t.Context()); !errors.Is(err, ErrUnfit) || usable(t, good) {
			t.Errorf("the replaced keyring: %v", err)
		}
	})
}

// TestDatabaseWithoutCheckValue checks a database that has secrets but no check value, as an earlier version left it.
func TestDatabaseWithoutCheckValue(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func() *store.DB) {
		db, old := open(), texts(t, aes(t, "1"), true)
		if held, err := Held(t.Context(), db, "gateway", old); err != nil || !held {
			t.Errorf("held %t, error %v", held, err)
		}
		if err := ring(db, aes(t, "2"), old).Check(t.Context()); !errors.Is(err, ErrUnfit) {
			t.Errorf("another keyring: %v", err)
		}
		if err := ring(db, aes(t, "1"), old).Check(t.Context()); err != nil {
			t.Errorf("the right keyring: %v", err)
		}
	})
}

// TestNodesStartTogether checks that of nodes that start at the same time with different keyrings, all nodes with one
// of the keyrings win.
func TestNodesStartTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func() *store.DB) {
		rings := make([]*Ring, 0, 8)
		for i := range 8 {
			rings = append(rings, ring(open(), aes(t, string("12"[i%2])), none))
		}
		fits := make([]bool, len(rings))
		var all sync.WaitGroup
		for i, r := range rings {
			all.Go(func() {
				err := r.Check(context.Background())
				if err != nil && !errors.Is(err, ErrUnfit) {
					t.Error(err)
				}
				fits[i] = err == nil
			})
		}
		all.Wait()
		for i := range fits {
			if fits[i] != fits[i%2] || fits[0] == fits[1] {
				t.Fatalf("%v", fits)
			}
		}
	})
}

// TestRotation gives nodes a new key one after the other, and checks that at each step all nodes open every text that
// any of them seals.
func TestRotation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func() *store.DB) {
		db := open()
		node := func(digits string) *Ring {
			t.Helper()
			r := ring(db, aes(t, digits), none)
			if err := r.Check(t.Context()); err != nil {
				t.Fatalf("%s: %v", digits, err)
			}
			return r
		}
		understand := func(rings ...*Ring) {
			t.Helper()
			for _, sealer := range rings {
				sealed, err := sealer.Seal(t.Context(), []byte("x"), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, opener := range rings {
					if _, err := opener.Open(t.Context(), sealed, nil); err != nil || !opener.Current(sealed) {
						t.Errorf("error %v, current %t", err, opener.Current(sealed))
					}
				}
			}
		}
		before, first, second := node("1"), node("21"), node("21")
		understand(before, first, second)
		if err := keyring.Advance(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if err := second.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		understand(first, second, node("2"))
		if err := before.Check(t.Context()); !errors.Is(err, ErrUnfit) || usable(t, before) {
			t.Errorf("a node that was left out: %v", err)
		}
		if err := first.Advance(t.Context()); err != nil {
			t.Errorf("once more: %v", err)
		}
		understand(first, second)
	})
}

// TestRun checks that a node that starts before its database is available checks the keyring later, reports a fault
// once, and notices changes by other nodes.
func TestRun(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	open := func() *store.DB {
		t.Helper()
		db, err := store.NewPostgres(store.PostgresOptions{DSN: server.DSN()}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	good := ring(started(t, open()), aes(t, "1"), none)
	if err := good.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if err := good.Check(t.Context()); !errors.Is(err, store.ErrUnavailable) || !usable(t, good) {
		t.Errorf("a good ring without its database: %v", err)
	}
	core, logs := observer.New(zap.InfoLevel)
	db := started(t, open())
	bad := New(db, "gateway", aes(t, "2"), none, zap.New(core))
	bad.every = time.Hour // so long that the ring learns changes only from notices
	if usable(t, bad) {
		t.Error("the ring is usable before the database could be read")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { bad.Run(ctx) })
	server.Start()
	eventually(t, "it finds out", func() bool { return logs.Len() == 1 })
	if usable(t, bad) {
		t.Error("an unfit ring is usable")
	}
	eventually(t, "its database listens", func() bool {
		n := 0
		_ = db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'").Scan(&n)
		})
		return n > 0
	})
	adopter := ring(db, aes(t, "2"), none)
	eventually(t, "another adopts its key", func() bool { return adopter.Adopt(t.Context()) == nil })
	eventually(t, "it fits", func() bool { return usable(t, bad) && logs.Len() == 2 })
	cancel()
	running.Wait()
}

func eventually(t *testing.T, name string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", name)
		}
	}
}
