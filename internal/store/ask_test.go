package store

import (
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestAsk checks that Questions are answered alike in a Write and a Read of both engines: in their order, with
// sql.ErrNoRows where one finds no row, with numbers that scan into a bool, and only up to the first error.
func TestAsk(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		p.conns = 1 // an error must give the connection back as it was
		db := p.start(t)
		ask := func(c Conn) error {
			var (
				q      Questions
				ids    []int
				yes    bool
				name   sql.NullString
				none   error
				behind bool
			)
			q.All(func(r Row) error {
				var id int
				err := r.Scan(&id)
				ids = append(ids, id)
				return err
			}, "SELECT id FROM items WHERE id < ? ORDER BY id", 3)
			q.Row(func(r Row) error { return r.Scan(&yes, &name) }, "SELECT 1, name FROM items WHERE id = ?", 2)
			q.Row(func(r Row) error { none = r.Scan(&yes); return nil }, "SELECT 1 FROM items WHERE id = ?", 9)
			if err := c.Ask(&q); err != nil {
				return err
			}
			if !slices.Equal(ids, []int{1, 2}) || !yes || !name.Valid || !errors.Is(none, sql.ErrNoRows) {
				t.Errorf("found %v, %v, %v, %v", ids, yes, name, none)
			}
			q = Questions{}
			q.Row(func(Row) error { return errTest }, "SELECT 1")
			q.Row(func(Row) error { behind = true; return nil }, "SELECT 1")
			if err := c.Ask(&q); !errors.Is(err, errTest) || behind {
				t.Errorf("error is %v; the next was read: %v", err, behind)
			}
			q = Questions{}
			q.Row(func(r Row) error { return r.Scan(&yes) }, "SELECT CAST(NULL AS INTEGER)")
			if err := c.Ask(&q); err == nil {
				t.Error("NULL is a bool")
			}
			return c.Ask(&Questions{})
		}
		for id := 1; id <= 3; id++ {
			if err := writeItem(t.Context(), db, id); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Write(t.Context(), ask); err != nil {
			t.Error(err)
		}
		if err := db.Read(t.Context(), ask); err != nil {
			t.Error(err)
		}
	})
}

// TestPostgresFailureIgnored checks that a Write does not commit if its function ignored a failed statement.
func TestPostgresFailureIgnored(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	db := p.start(t)
	err := db.Write(t.Context(), func(c Conn) error {
		if err := insert(c, 1); err != nil {
			return err
		}
		_, _ = c.Exec("SELECT 1 / 0")
		return nil
	})
	if err == nil || has(t, db, 1) {
		t.Errorf("error is %v", err)
	}
}
