package authserver

import (
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// tables are the database of a server that a test looks into, beside the server.
type tables struct {
	storage string // the key of the configuration
	open    func(t *testing.T, n *e2e.Node) *store.DB
}

// onBoth runs a test with a database of each engine.
func onBoth(t *testing.T, test func(t *testing.T, d tables)) {
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
		test(t, tables{"storage: {driver: sqlite, sqlite: {path: authserver.db}}", func(t *testing.T, n *e2e.Node) *store.DB {
			t.Helper()
			db, err := store.NewSQLite(store.SQLiteOptions{Path: n.Path("authserver.db")}, zap.NewNop())
			return start(t, db, err)
		}})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := testenv.Postgres(t).DSN()
		test(t, tables{"storage: {driver: postgres, postgres: {dsn: '" + dsn + "'}}", func(t *testing.T, _ *e2e.Node) *store.DB {
			t.Helper()
			db, err := store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
			return start(t, db, err)
		}})
	})
}
