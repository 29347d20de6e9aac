package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestDataFault checks that errors about values that can never be stored are distinguished from all others.
func TestDataFault(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		for statement, want := range map[string]bool{
			"INSERT INTO items (id, name) VALUES (1, 'a'), (1, 'b')":    true,
			"INSERT INTO items (id) VALUES (NULL)":                      true,
			"INSERT INTO nothing_there (id) VALUES (1)":                 false,
			"SELECT broken FROM items":                                  false,
			"INSERT INTO items (id) SELECT id FROM items WHERE id = ''": p.dialect == Postgres,
		} {
			err := db.Write(t.Context(), func(c Conn) error {
				_, err := c.Exec(statement)
				return err
			})
			if got := IsDataFault(err); got != want {
				t.Errorf("%s: %v, want %v (%v)", statement, got, want, err)
			}
		}
	})
	for code, want := range map[string]bool{"22003": true, "23505": true, "54000": true, "42501": false, "53200": false, "53100": false, "40001": false, "25006": false, "23514": false} {
		if got := IsDataFault(fmt.Errorf("storing: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}
	if !IsDataFault(&pgconn.PgError{Code: "23514", ConstraintName: "positive"}) {
		t.Error("a violated check constraint is not a data fault")
	}
}

// TestLackOfResourcesIsTemporary checks that a server's lack of a resource counts as a temporary failure.
func TestLackOfResourcesIsTemporary(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"53100", "53200", "53300"} {
		if v := new(postgres).judge(&pgconn.PgError{Code: code}); v != verdictContended && v != verdictLost {
			t.Errorf("the verdict on code %s is %v, want contended or lost", code, v)
		}
	}
}

// TestReadCommitted checks that a write under ReadCommitted sees changes that were committed after it began, and that
// other writes do not.
func TestReadCommitted(t *testing.T) {
	t.Parallel()
	errOnce := errors.New("once is enough")
	db := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}.start(t)
	for _, level := range []struct {
		ctx  context.Context // the context of the write
		want int
	}{{t.Context(), 0}, {ReadCommitted(t.Context()), 1}} {
		err := db.Write(level.ctx, func(c Conn) error {
			var before, after int
			if err := c.Row("SELECT count(*) FROM items").Scan(&before); err != nil {
				return err
			}
			if err := writeItem(t.Context(), db, 100+before); err != nil {
				return err
			}
			if err := c.Row("SELECT count(*) FROM items").Scan(&after); err != nil {
				return err
			}
			if after-before != level.want {
				t.Errorf("%d new rows, want %d", after-before, level.want)
			}
			return errOnce
		})
		wantError(t, err, errOnce)
	}
}

// TestReadAfterDeadlockIsRepeated checks that a query succeeds which the server ended because it was in a deadlock with
// a migration.
func TestReadAfterDeadlockIsRepeated(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	db := p.start(t)
	migration, err := pgx.Connect(t.Context(), p.location)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = migration.Close(context.Background()) }()
	run := func(statement string) error {
		_, err := migration.Exec(t.Context(), statement)
		return err
	}
	if err := run("CREATE TABLE second (id BIGINT)"); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; { // the server ends one of the two, usually the query
		if err := errors.Join(run("BEGIN"), run("LOCK TABLE second")); err != nil {
			t.Fatal(err)
		}
		read := make(chan error)
		go func() {
			read <- db.Read(t.Context(), func(c Conn) error {
				_, err := Column[int64](c, "SELECT items.id FROM items JOIN second ON second.id = items.id")
				return err
			})
		}()
		eventually(t, "the query waits", func() bool {
			n := 0
			err := migration.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'second'::regclass").Scan(&n)
			return err != nil || n > 0
		})
		err := run("LOCK TABLE items")
		ended = !isConflict(err)
		if ended && err != nil {
			t.Fatal(err)
		}
		if err := run("ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil {
			t.Fatal(err)
		}
	}
}
