package authserver

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// hold has whoever changes the connection of a user wait until release.
func hold(t *testing.T, db *store.DB, user string) (release func()) {
	t.Helper()
	if db.Dialect() == store.Postgres {
		return holdPostgres(t, db, user)
	}
	return holdSQLite(t, db, user)
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
