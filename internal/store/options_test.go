package store

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestSQLiteNoWAL checks that concurrent reads and writes succeed without a write-ahead log, and that a file can be
// changed between the journal modes without loss.
func TestSQLiteNoWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	for i, noWAL := range []bool{false, true, false, true} {
		db, err := NewSQLite(SQLiteOptions{Path: path, NoWAL: noWAL, Synchronous: "normal"}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Register(testSchema()); err != nil {
			t.Fatal(err)
		}
		testenv.Open(t, db)
		var mode string
		var before int
		err = db.Read(t.Context(), func(c Conn) error {
			if err := c.Row("PRAGMA journal_mode").Scan(&mode); err != nil {
				return err
			}
			return c.Row("SELECT count(*) FROM parts").Scan(&before)
		})
		if want := map[bool]string{false: "wal", true: "delete"}[noWAL]; err != nil || mode != want || before != 20*i {
			t.Errorf("round %d: journal %q, %d rows, %v", i, mode, before, err)
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := db.Write(t.Context(), func(c Conn) error {
					_, err := c.Exec("INSERT INTO parts (item) SELECT n FROM counters WHERE 1 = 0 UNION ALL SELECT 1")
					if err == nil {
						_, err = c.Exec("INSERT INTO items (id, name) VALUES (1, 'one') ON CONFLICT DO NOTHING")
					}
					return err
				}); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				if err := db.Read(t.Context(), func(c Conn) error {
					var n int
					return c.Row("SELECT count(*) FROM parts").Scan(&n)
				}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPostgresPool checks that the minimum number of connections is open from the beginning, and that idle connections
// are closed after their time.
func TestPostgresPool(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t).DSN()
	if _, err := NewPostgres(PostgresOptions{DSN: dsn, MaxConns: 2, MinConns: 3}, zap.NewNop()); err == nil {
		t.Error("more connections from the beginning than there may be")
	}
	if _, err := NewPostgres(PostgresOptions{DSN: dsn, MaxIdleTime: -1}, zap.NewNop()); err == nil {
		t.Error("a negative time")
	}
	db, err := NewPostgres(PostgresOptions{DSN: dsn, MaxConns: 4, MinConns: 3, MaxIdleTime: 50 * time.Millisecond, MaxLifetime: time.Minute}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)
	pool := db.engine.(*postgres).pool
	opened := int64(pool.Stats().OpenConnections) + pool.Stats().MaxIdleTimeClosed
	if opened < 3 || pool.Stats().MaxOpenConnections != 4 {
		t.Errorf("the pool has %+v, want at least 3 opened connections and a maximum of 4", pool.Stats())
	}
	eventually(t, "connections go", func() bool { return pool.Stats().MaxIdleTimeClosed >= 2 })
}
