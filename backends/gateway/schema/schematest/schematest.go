// Package schematest provides databases of each engine, with the gateway's tables, for tests.
package schematest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// Start is the time at which clocks begin, a whole minute.
var Start = time.Date(2026, 3, 1, 10, 20, 0, 0, time.UTC)

// Clock is a clock that advances by a millisecond each time it is read, so that rows created one after another have
// different times.
type Clock struct{ Offset atomic.Int64 }

// Now advances the clock and returns its time.
func (c *Clock) Now() time.Time {
	return Start.Add(time.Duration(c.Offset.Add(int64(time.Millisecond))))
}

// Place is the location of a database that any number of services can share.
type Place struct {
	Dialect  store.Dialect
	Location string // file or DSN
}

// OnBoth runs a test on a database of each engine, with the service's tables and no rows. The tables are created once
// per engine and then copied, since running the migrations takes a large part of a short test's time.
func OnBoth(t *testing.T, test func(t *testing.T, p Place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file, err := tablesFile()
		if err != nil {
			t.Fatal(err)
		}
		p := Place{store.SQLite, filepath.Join(t.TempDir(), "test.db")}
		if err := os.WriteFile(p.Location, file, 0o600); err != nil {
			t.Fatal(err)
		}
		test(t, p)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Place{store.Postgres, tablesTemplate.Copy(t, func(dsn string) error {
			return Place{store.Postgres, dsn}.migrate()
		}).DSN()})
	})
}

var (
	tablesTemplate testenv.PostgresTemplate
	tablesFile     = sync.OnceValues(func() ([]byte, error) {
		folder, err := os.MkdirTemp("", "gateway")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // a folder of tests
		p := Place{store.SQLite, filepath.Join(folder, "tables.db")}
		if err := p.migrate(); err != nil {
			return nil, err
		}
		return os.ReadFile(p.Location)
	})
)

// migrate creates the tables.
func (p Place) migrate() error {
	db, err := p.Database()
	if err != nil {
		return err
	}
	if err = db.Register(schema.Gateway()); err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		db.Start(ctx)
		err = db.WaitReady(ctx)
	}
	return errors.Join(err, db.Close())
}

// Database opens the database without registering the gateway's tables.
func (p Place) Database() (*store.DB, error) {
	if p.Dialect == store.Postgres {
		return store.NewPostgres(store.PostgresOptions{DSN: p.Location}, zap.NewNop())
	}
	return store.NewSQLite(store.SQLiteOptions{Path: p.Location, Synchronous: "NORMAL"}, zap.NewNop())
}

// Open opens the database with the gateway's tables registered and closes it at the end of the test.
func (p Place) Open(tb testing.TB) *store.DB {
	tb.Helper()
	db, err := p.Database()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	if err := db.Register(schema.Gateway()); err != nil {
		tb.Fatal(err)
	}
	return db
}

// Eventually waits until condition is true, and fails the test after two minutes, with the description of the
// condition. It is meant for effects of other goroutines.
func Eventually(t testing.TB, description string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", description)
		}
		time.Sleep(time.Millisecond)
	}
}
