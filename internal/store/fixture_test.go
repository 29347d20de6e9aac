package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// place is a database that any number of DBs and processes can open.
type place struct {
	dialect  Dialect
	location string // file or DSN
	conns    int    // of the PostgreSQL pool; 0: the default
}

// open returns a DB on the place that is not started.
func (p place) open(logger *zap.Logger) (*DB, error) {
	if p.dialect == Postgres {
		return NewPostgres(PostgresOptions{DSN: p.location, MaxConns: p.conns}, logger)
	}
	return NewSQLite(SQLiteOptions{Path: p.location}, logger)
}

// start returns a running DB with the test schema.
func (p place) start(tb testing.TB) *DB {
	tb.Helper()
	db, err := p.open(zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	startOn(tb, db)
	return db
}

// startOn starts a DB with the test schema.
func startOn(tb testing.TB, db *DB) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := db.Register(testSchema()); err != nil {
		tb.Fatal(err)
	}
	testenv.Open(tb, db)
}

// onBoth runs the test on an empty database of each engine.
func onBoth(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, place{dialect: SQLite, location: filepath.Join(t.TempDir(), "data", "test.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, place{dialect: Postgres, location: testenv.Postgres(t).DSN()})
	})
}

// testSchema returns a schema with a migration for both engines, a pair of migrations that differ by engine, and a
// migration that inserts a row each time it is applied.
func testSchema() Schema {
	return Schema{Name: "test", Migrations: fstest.MapFS{
		"00001_items.sql": {Data: []byte(`
-- +goose Up
CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE parts (item BIGINT NOT NULL REFERENCES items (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE counters (n BIGINT NOT NULL);
INSERT INTO counters (n) VALUES (0);
`)},
		"00002_applied.sqlite.sql":   {Data: []byte("-- +goose Up\nCREATE TABLE applied (at TEXT DEFAULT (datetime('now')), n INTEGER NOT NULL);\n")},
		"00002_applied.postgres.sql": {Data: []byte("-- +goose Up\nCREATE TABLE applied (at TIMESTAMPTZ DEFAULT now(), n BIGINT NOT NULL);\n")},
		"00003_once.sql":             {Data: []byte("-- +goose Up\nINSERT INTO applied (n) VALUES (1);\n")},
		"README":                     {Data: []byte("ignored")},
	}}
}

func insert(c Conn, id int) error {
	_, err := c.Exec("INSERT INTO items (id, name) VALUES (?, ?)", id, fmt.Sprint("item ", id))
	return err
}

func writeItem(ctx context.Context, db *DB, id int) error {
	return db.Write(ctx, func(c Conn) error { return insert(c, id) })
}

func number(t *testing.T, db *DB, query string) int {
	t.Helper()
	var n int
	err := db.Read(t.Context(), func(c Conn) error {
		return c.Row(query).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func has(t *testing.T, db *DB, id int) bool {
	t.Helper()
	return number(t, db, fmt.Sprint("SELECT count(*) FROM items WHERE id = ", id)) == 1
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

// eventually waits until other goroutines have made a condition true.
func eventually(t *testing.T, name string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", name)
		}
		time.Sleep(time.Millisecond)
	}
}

// hold keeps the only writer of a DB busy until release is called, and release then waits for it to end. The writer is
// busy for longer than a group stays open, so that the waiting writes form a group without it.
func hold(t *testing.T, db *DB) (release func()) {
	t.Helper()
	var (
		entered = make(chan struct{})
		leave   = make(chan struct{})
		ended   = make(chan error, 1)
		once    sync.Once
	)
	go func() {
		ended <- db.Write(context.Background(), func(Conn) error {
			close(entered)
			<-leave
			time.Sleep(groupTime)
			return nil
		})
	}()
	<-entered
	release = func() {
		once.Do(func() {
			close(leave)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(release)
	return release
}

// queued waits until n writes wait behind the write that holds the writer.
func queued(t *testing.T, db *DB, n int) {
	t.Helper()
	w := db.engine.(*sqlite).pools.Load().writer
	eventually(t, fmt.Sprint(n, " writes wait"), func() bool { return len(w.queue) == n })
}

// logs returns a logger and the entries that it records.
func logs() (*zap.Logger, *observer.ObservedLogs) {
	core, seen := observer.New(zap.DebugLevel)
	return zap.New(core), seen
}

// logged returns how often a message was logged.
func logged(seen *observer.ObservedLogs, message string) int {
	return seen.FilterMessage(message).Len()
}

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
