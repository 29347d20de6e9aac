// Package storetest provides the tests of a service with a database on each engine. The initial content, above all the
// tables, is made once per process, and each test gets a separate copy.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// Fixture describes the initial content of databases.
type Fixture struct {
	// Schemas are registered with each database.
	Schemas []store.Schema
	// Fill adds rows. It is called once per engine. If it is nil no rows are added.
	Fill func(ctx context.Context, db *store.DB) error

	sqlite struct {
		once sync.Once
		file []byte
	}
	postgres testenv.PostgresTemplate
}

// OnBoth runs a test in parallel subtests on a database of each engine.
func (f *Fixture) OnBoth(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	for engine, database := range map[string]func(testing.TB) *store.DB{"sqlite": f.SQLite, "postgres": f.Postgres} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, database(t))
		})
	}
}

// SQLite returns a database that is closed and removed at the end of the test.
func (f *Fixture) SQLite(tb testing.TB) *store.DB {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "test.db")
	open := func(path string) (*store.DB, error) {
		return store.NewSQLite(store.SQLiteOptions{Path: path, Synchronous: "normal"}, zap.NewNop())
	}
	f.sqlite.once.Do(func() {
		template := filepath.Join(tb.TempDir(), "template.db")
		db, err := open(template)
		if err == nil {
			err = f.fill(tb, db)
		}
		if err == nil {
			f.sqlite.file, err = os.ReadFile(template)
		}
		if err != nil {
			tb.Errorf("the template of databases: %v", err)
		}
	})
	if f.sqlite.file == nil {
		tb.Fatal("there is no template of databases")
	}
	if err := os.WriteFile(path, f.sqlite.file, 0o600); err != nil {
		tb.Fatal(err)
	}
	db, err := open(path)
	if err != nil {
		tb.Fatal(err)
	}
	return f.Start(tb, db)
}

// Postgres returns a database that is closed and removed at the end of the test.
func (f *Fixture) Postgres(tb testing.TB) *store.DB {
	tb.Helper()
	open := func(dsn string) (*store.DB, error) {
		return store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	}
	server := f.postgres.Copy(tb, func(dsn string) error {
		db, err := open(dsn)
		if err != nil {
			return err
		}
		return f.fill(tb, db)
	})
	db, err := open(server.DSN())
	if err != nil {
		tb.Fatal(err)
	}
	return f.Start(tb, db)
}

// fill registers the schemas with a template database, opens it, adds the rows of f.Fill and closes it.
func (f *Fixture) fill(tb testing.TB, db *store.DB) error {
	err := f.register(db)
	if err == nil {
		testenv.Open(tb, db)
		if f.Fill != nil {
			err = f.Fill(tb.Context(), db)
		}
	}
	if closing := db.Close(); err == nil {
		err = closing
	}
	return err
}

// register registers the schemas of the fixture with a database.
func (f *Fixture) register(db *store.DB) error {
	for _, schema := range f.Schemas {
		if err := db.Register(schema); err != nil {
			return err
		}
	}
	return nil
}

// Start registers the schemas and opens the database, which may already have content. It closes the database at the end
// of the test.
func (f *Fixture) Start(tb testing.TB, db *store.DB) *store.DB {
	tb.Helper()
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := f.register(db); err != nil {
		tb.Fatal(err)
	}
	testenv.Open(tb, db)
	return db
}
