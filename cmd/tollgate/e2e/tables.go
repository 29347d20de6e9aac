package e2e

import (
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// Tables is the database of an authorization server, which a test accesses while the server runs.
type Tables struct {
	Storage string // the setting for the server's configuration
	// Open opens the database of the server n, with its tables.
	Open func(t *testing.T, n *Node) *store.DB
}

// OnBoth runs a test with a database of each engine.
func OnBoth(t *testing.T, test func(t *testing.T, d Tables)) {
	t.Helper()
	start := func(t *testing.T, db *store.DB, err error) *store.DB {
		t.Helper()
		if err == nil {
			err = db.Register(authserver.Schema())
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		db.Start(t.Context())
		if err := db.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, Tables{"storage: {driver: sqlite, sqlite: {path: authserver.db}}", func(t *testing.T, n *Node) *store.DB {
			t.Helper()
			db, err := store.NewSQLite(store.SQLiteOptions{Path: n.Path("authserver.db")}, zap.NewNop())
			return start(t, db, err)
		}})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := testenv.Postgres(t).DSN()
		test(t, Tables{"storage: {driver: postgres, postgres: {dsn: '" + dsn + "'}}", func(t *testing.T, _ *Node) *store.DB {
			t.Helper()
			db, err := store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
			return start(t, db, err)
		}})
	})
}
