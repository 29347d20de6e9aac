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
	// hold has whoever changes the connection of a user wait until release.
	hold func(t *testing.T, db *store.DB, user string) (release func())
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
		}, holdSQLite})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := testenv.Postgres(t).DSN()
		test(t, tables{"storage: {driver: postgres, postgres: {dsn: '" + dsn + "'}}", func(t *testing.T, _ *e2e.Node) *store.DB {
			t.Helper()
			db, err := store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
			return start(t, db, err)
		}, holdPostgres})
	})
}

// holdSQLite is a trigger that counts without an end: a lock of SQLite is one of all rows.
// Release it when the process that waits is gone.
func holdSQLite(t *testing.T, db *store.DB, user string) (release func()) {
	t.Helper()
	exec := func(statement string) {
		t.Helper()
		if err := db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec(statement)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TRIGGER held BEFORE UPDATE ON authserver_connections WHEN OLD.user_id = '" + user + `'
		BEGIN SELECT count(*) FROM (WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END`)
	return func() {
		t.Helper()
		exec("DROP TRIGGER held")
	}
}

// holdPostgres is a lock of the row.
func holdPostgres(t *testing.T, db *store.DB, user string) (release func()) {
	t.Helper()
	held, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("UPDATE authserver_connections SET updated_at = updated_at WHERE user_id = ?", user)
			if err == nil {
				close(held)
				<-leave
			}
			return err
		})
	}()
	select {
	case <-held:
	case err := <-ended:
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		close(leave)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
