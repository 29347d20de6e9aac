package tollgate

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	_ "github.com/tollgate-gateway/tollgate/modules/counters/memory"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
)

// The tests of this file do not run in parallel: provisioning sets the process's default Caddy logger, and the default
// folder is relative to the working directory.

// schema returns the schema of a service with one table.
func schema(name string) store.Schema {
	return store.Schema{Name: name, Migrations: fstest.MapFS{
		"00001_first.sql": {Data: []byte("-- +goose Up\nCREATE TABLE " + name + "_things (name TEXT);\n")},
	}}
}

// noSecrets returns an empty sample of secrets, as a service without secrets does.
func noSecrets(context.Context, *store.DB) ([]sealed.Text, error) { return nil, nil }

// provision creates the app of a configuration as a server does, in the working directory of the test.
func provision(t *testing.T, config string) *App {
	t.Helper()
	app, err := tryProvision(t, config)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func tryProvision(t *testing.T, config string) (*App, error) {
	t.Helper()
	base, err := caddy.ProvisionContext(&caddy.Config{
		Logging: &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "PANIC"}}}},
		AppsRaw: caddy.ModuleMap{"tollgate": json.RawMessage(config)},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := caddy.NewContext(base)
	app, err := From(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	t.Cleanup(func() {
		app.begun.Store(false) // cleanup has nothing to wait for
		cancel()
	})
	return app, nil
}

// files returns the databases and key files below the working directory.
func files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".db", ".key"}, filepath.Ext(path)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func ready(t *testing.T, dbs ...*store.DB) {
	t.Helper()
	for _, db := range dbs {
		if err := db.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// tables returns the names of the schemas in a database.
func tables(t *testing.T, file string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'schema_%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(name, "schema_"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestOpensOnlyNeededParts checks that only files, tables and keys are created that a module asks for.
func TestOpensOnlyNeededParts(t *testing.T) {
	const own = `{"databases":{"board":{"engine":"sqlite","path":"own/board.db"}}}`
	for name, c := range map[string]struct {
		config string
		ask    func(a *App) ([]*store.DB, error)
		files  []string
		tables map[string][]string // by file
	}{
		"nothing": {`{}`, func(*App) ([]*store.DB, error) { return nil, nil }, nil, nil},
		"a database": {
			`{}`, func(a *App) ([]*store.DB, error) {
				db, err := a.ServiceDatabase("events", schema("events"))
				return []*store.DB{db}, err
			},
			[]string{"data/tollgate.db"},
			map[string][]string{"data/tollgate.db": {"events"}},
		},
		"with secrets": {
			`{}`, func(a *App) ([]*store.DB, error) {
				db, err := a.SealedDatabase("board", schema("board"), noSecrets)
				return []*store.DB{db}, err
			},
			[]string{"data/tollgate.db", "data/tollgate.key"},
			map[string][]string{"data/tollgate.db": {"board", "keyring"}},
		},
		"of its own": {
			own, func(a *App) ([]*store.DB, error) {
				db, err := a.SealedDatabase("board", schema("board"), noSecrets)
				return []*store.DB{db}, err
			},
			[]string{"data/tollgate.key", "own/board.db"},
			map[string][]string{"own/board.db": {"board", "keyring"}},
		},
		"of two services": {
			own, func(a *App) ([]*store.DB, error) {
				boardDB, err := a.ServiceDatabase("board", schema("board"))
				eventsDB, err2 := a.ServiceDatabase("events", schema("events"))
				return []*store.DB{boardDB, eventsDB}, errors.Join(err, err2)
			},
			[]string{"data/tollgate.db", "own/board.db"},
			map[string][]string{"data/tollgate.db": {"events"}, "own/board.db": {"board"}},
		},
		"two in one": {
			`{}`, func(a *App) ([]*store.DB, error) {
				boardDB, err := a.ServiceDatabase("board", schema("board"))
				eventsDB, err2 := a.ServiceDatabase("events", schema("events"))
				return []*store.DB{boardDB, eventsDB}, errors.Join(err, err2)
			},
			[]string{"data/tollgate.db"},
			map[string][]string{"data/tollgate.db": {"board", "events"}},
		},
		"keys alone": {`{}`, func(a *App) ([]*store.DB, error) { a.Keys("tokens"); return nil, nil }, []string{"data/tollgate.key"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			a := provision(t, c.config)
			dbs, err := c.ask(a)
			if err != nil {
				t.Fatal(err)
			}
			if found := files(t); found != nil {
				t.Errorf("provisioning has created %v", found)
			}
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			ready(t, dbs...)
			if found := files(t); !slices.Equal(found, c.files) {
				t.Errorf("created %v, want %v", found, c.files)
			}
			for file, want := range c.tables {
				if got := tables(t, file); !slices.Equal(got, want) {
					t.Errorf("%s has %v, want %v", file, got, want)
				}
			}
		})
	}
}

// TestNewerDatabase checks that an app does not start with the database of a newer program, and does not change it. The
// same applies to a database that is too old.
func TestNewerDatabase(t *testing.T) {
	t.Chdir(t.TempDir())
	start := func(s store.Schema) error {
		a := provision(t, `{}`)
		db, err := a.ServiceDatabase("board", s)
		if err != nil {
			t.Fatal(err)
		}
		if err = a.Start(); err == nil {
			ready(t, db)
		}
		if err := a.release(); err != nil {
			t.Fatal(err)
		}
		return err
	}
	newer := fstest.MapFS{"00002_more.sql": {Data: []byte("-- +goose Up\nCREATE TABLE more (id BIGINT);\n")}}
	maps.Copy(newer, schema("board").Migrations.(fstest.MapFS))
	for _, s := range []store.Schema{schema("board"), {Name: "board", Migrations: newer}} {
		if err := start(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := start(schema("board")); !errors.Is(err, store.ErrNewer) {
		t.Errorf("started: %v", err)
	}
	if err := start(store.Schema{Name: "board", Migrations: newer}); err != nil {
		t.Errorf("the newer program again: %v", err)
	}
	later := fstest.MapFS{"00003_all.sql": {Data: []byte("-- +goose Up\nCREATE TABLE everything (id BIGINT);\n")}}
	if err := start(store.Schema{Name: "board", Migrations: later}); !errors.Is(err, store.ErrTooOld) {
		t.Errorf("a program without these migrations: %v", err)
	}
}

// TestKeyringFolder checks that the key file is created beside the database or, if the gateway has a separate database,
// beside that database.
func TestKeyringFolder(t *testing.T) {
	for config, want := range map[string]string{
		`{}`: "data",
		`{"database":{"engine":"sqlite","path":"a/x.db"}}`:                                                                                  "a",
		`{"database":{"engine":"sqlite","path":"a/x.db"},"databases":{"gateway":{"engine":"sqlite","path":"b/x.db"}}}`:                      "b",
		`{"database":{"engine":"sqlite","path":"a/x.db"},"keyring":{"ring":"aes","file":"c/own.key"}}`:                                      "c/own.key",
		`{"database":{"engine":"sqlite","path":"a/x.db"},"keyring":{"ring":"aes","keys":["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]}}`: "",
	} {
		t.Run(want, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.MkdirAll("c", 0o700); err != nil {
				t.Fatal(err)
			}
			a := provision(t, config)
			a.Keys("tokens")
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			var found []string
			if want != "" && filepath.Ext(want) == "" {
				want = filepath.Join(want, "tollgate.key")
			}
			if want != "" {
				found = []string{want}
			}
			if got := files(t); !slices.Equal(got, found) {
				t.Errorf("created %v, want %v", got, found)
			}
		})
	}
}

// TestAnotherKey checks that no key is created if there are secrets already, and that a key that did not encrypt them
// is refused.
func TestAnotherKey(t *testing.T) {
	t.Chdir(t.TempDir())
	start := func() (*App, error) {
		a := provision(t, `{}`)
		db, err := a.SealedDatabase("board", schema("board"), noSecrets)
		if err != nil {
			t.Fatal(err)
		}
		err = a.Start()
		if err == nil {
			ready(t, db)
			ring, _ := a.Ring("board")
			err = ring.Check(t.Context())
		}
		return a, err
	}
	end := func(a *App) {
		t.Helper()
		if err := a.release(); err != nil {
			t.Fatal(err)
		}
	}
	a, err := start()
	if err != nil {
		t.Fatal(err)
	}
	end(a)
	key, err := os.ReadFile("data/tollgate.key")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove("data/tollgate.key"); err != nil {
		t.Fatal(err)
	}
	a, err = start()
	if err == nil || !strings.Contains(err.Error(), "that decrypts them is missing: restore it") {
		t.Errorf("without the key: %v", err)
	}
	end(a)
	if _, err := os.Stat("data/tollgate.key"); err == nil {
		t.Fatal("another key was created")
	}
	if err := os.WriteFile("data/tollgate.key", []byte("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err = start()
	if !errors.Is(err, sealed.ErrUnfit) {
		t.Errorf("with another key: %v", err)
	}
	if _, err := a.Keyring("board")(); err == nil {
		t.Error("the other key is accepted")
	}
	end(a)
	if err := os.WriteFile("data/tollgate.key", key, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err = start(); err != nil {
		t.Errorf("with the old key: %v", err)
	}
	end(a)
}

// TestKeys checks that a service returns a 503 before the start, and afterwards has the keys and the keyring that it
// asked for.
func TestKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	a := provision(t, `{}`)
	keys, ring := a.Keys("tokens"), a.Keyring("board")
	db, err := a.SealedDatabase("board", schema("board"), noSecrets)
	if err != nil {
		t.Fatal(err)
	}
	_, keysErr := keys()
	_, ringErr := ring()
	for _, err := range []error{keysErr, ringErr, a.Parts(t.Context())["database"], a.Parts(t.Context())["keyring"]} {
		if e, ok := apierror.From(err); (!ok || e.Status != 503) && !errors.Is(err, errNotStarted) {
			t.Errorf("before the start: %v", err)
		}
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	ready(t, db)
	sealing, _ := a.Ring("board")
	if err := sealing.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := keys()
	if err != nil || len(first) != 1 || len(first[0]) != 32 {
		t.Fatalf("%x, %v", first, err)
	}
	if other, err := a.Keys("other")(); err != nil || slices.Equal(other[0], first[0]) {
		t.Errorf("another label: %x, %v", other, err)
	}
	if second, err := a.Keys("tokens")(); err != nil || !slices.Equal(second[0], first[0]) {
		t.Errorf("again: %x, %v", second, err)
	}
	if _, err := ring(); err != nil {
		t.Error(err)
	}
	for part, err := range a.Parts(t.Context(), "board") {
		if err != nil {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// TestReloads checks that configurations share databases and values with the same settings. These are closed after the
// last of the configurations has ended, in the reverse order, and not while requests run.
func TestReloads(t *testing.T) {
	t.Chdir(t.TempDir())
	pool := caddy.NewUsagePool()
	var ended []string
	start := func(config string) (a *App, db *store.DB, value *int) {
		t.Helper()
		a = provision(t, config)
		db, err := a.ServiceDatabase("board", schema("board"))
		if err != nil {
			t.Fatal(err)
		}
		a.OnStart(func() (err error) {
			value, err = Share(a, pool, db, func() (*int, error) { return new(int), nil }, func(*int) error {
				ended = append(ended, fmt.Sprint(db.Ready()))
				return nil
			})
			return err
		})
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
		ready(t, db)
		return a, db, value
	}
	first, db1, value1 := start(`{}`)
	second, db2, value2 := start(`{"memory":200000000}`)
	other, db3, value3 := start(`{"database":{"engine":"sqlite","path":"other.db"}}`)
	if db1 != db2 || value1 != value2 || db1 == db3 || value1 == value3 {
		t.Error("values are shared that differ, or are not shared although they are equal")
	}
	if first.MemoryBudget() != other.MemoryBudget() {
		t.Error("memory is counted twice")
	}
	if err := first.release(); err != nil || len(ended) > 0 || db2.Ready() != nil {
		t.Errorf("the first configuration has closed values that the second uses: %v, %v, %v", err, ended, db2.Ready())
	}
	done := second.Acquire()
	if err := second.Cleanup(); err != nil || len(ended) > 0 || db2.Ready() != nil {
		t.Errorf("a request has lost its database: %v, %v, %v", err, ended, db2.Ready())
	}
	done()
	if err := other.release(); err != nil || !slices.Equal(ended, []string{"<nil>"}) {
		t.Errorf("ended %q, %v; want one, with its database still there", ended, err)
	}
	if err := db3.Ready(); err == nil {
		t.Error("the last configuration has left its database open")
	}
}

// TestProvisionedOnlyReleases checks that a configuration that was provisioned but not started releases its pooled
// values.
func TestProvisionedOnlyReleases(t *testing.T) {
	t.Chdir(t.TempDir())
	a := provision(t, `{}`)
	db, err := a.ServiceDatabase("board", schema("board"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Cleanup(); err != nil {
		t.Fatal(err)
	}
	b := provision(t, `{}`)
	if other, err := b.ServiceDatabase("board", schema("board")); err != nil || other == db {
		t.Errorf("the database is still open (%v)", err)
	}
	if found := files(t); found != nil {
		t.Errorf("created %v", found)
	}
}

// TestStartRefused checks that an error of a function that was passed to OnStart refuses the configuration.
func TestStartRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	a := provision(t, `{}`)
	if _, err := a.ServiceDatabase("board", schema("board")); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	a.OnStart(func() error { return refused })
	if err := a.Start(); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if found := files(t); found != nil {
		t.Errorf("created %v", found)
	}
}

func TestBadConfigurations(t *testing.T) {
	t.Chdir(t.TempDir())
	for config, want := range map[string]string{
		`{"allow_networks":["10.0.0.1"]}`:                         `allow_networks: "10.0.0.1" is not a network such as 127.0.0.0/8`,
		`{"databases":{"nobody":{"engine":"sqlite","path":"x"}}}`: `there is no service "nobody"`,
		`{"database":{"engine":"paper"}}`:                         "unknown module: tollgate.storage.paper",
		`{"database":{"engine":"sqlite"}}`:                        "path is required",
		`{"counters":{"store":"abacus"}}`:                         "unknown module: tollgate.counters.abacus",
		`{"keyring":{"ring":"aes","keys":["x"]}}`:                 "keys[0]",
		`{"start_wait":-1}`:                                       "start_wait must not be negative",
		`{"memory":1}`:                                            "memory: must be at least 96 MiB",
		`{"catalog":{}}`:                                          "unknown module: tollgate.catalog", // its package is not linked into this test
		`{"nothing":1}`:                                           `unknown field "nothing"`,
		`{"keyring":{"ring":"aes","keys":["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="],"file":"y"}}`: "keys and file exclude each other",
	} {
		if _, err := tryProvision(t, config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}
