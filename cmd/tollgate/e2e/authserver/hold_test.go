package authserver

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// hold makes every write to the connection of a user wait until release is called.
func hold(t *testing.T, db *store.DB, user string) (release func()) {
	t.Helper()
	if db.Dialect() == store.Postgres {
		return holdPostgres(t, db, user)
	}
	return holdSQLite(t, db, user)
}

// holdSQLite creates a trigger that counts without end, since SQLite cannot lock a single row. Call release after the
// process that waits has ended.
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

// holdPostgres locks the row of the connection.
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
