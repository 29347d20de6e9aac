package store

import (
	"database/sql"
	"errors"
	"testing"
)

// TestLater checks that statements passed to Later run in their order, with the change or not at all.
func TestLater(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		p.conns = 1 // an error must give the connection back as it was
		db := p.start(t)
		names := func() int { return number(t, db, "SELECT count(*) FROM items WHERE name = 'renamed'") }
		rename := func(c Conn) error {
			if err := c.Later("INSERT INTO items (id, name) VALUES (?, ?)", 2, sql.NullString{String: "later", Valid: true}); err != nil {
				return err
			}
			if err := c.Later("UPDATE items SET name = ? WHERE name = ?", "renamed", "later"); err != nil {
				return err
			}
			return insert(c, 1)
		}
		wantError(t, db.Write(t.Context(), func(c Conn) error {
			if err := rename(c); err != nil {
				return err
			}
			return errTest
		}), errTest)
		err := db.Write(t.Context(), func(c Conn) error {
			if err := rename(c); err != nil {
				return err
			}
			return c.Later("INSERT INTO items (id, name) VALUES (3, 'renamed')")
		})
		if !IsUniqueViolation(err) {
			t.Fatalf("error is %v, want a unique violation", err)
		}
		if n := number(t, db, "SELECT count(*) FROM items"); n != 0 {
			t.Fatalf("%d rows of failed changes remain", n)
		}
		if err := db.Write(t.Context(), rename); err != nil {
			t.Fatal(err)
		}
		if !has(t, db, 1) || names() != 1 {
			t.Fatal("the last statement of an acknowledged change has no effect")
		}
	})
}

// TestLast checks that statements passed to Last take effect with their change or not at all. On SQLite, they run after
// all changes that share the commit, in their order.
func TestLast(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		leave := func(id int, failed error) func(c Conn) error {
			return func(c Conn) error {
				if err := c.Last("DELETE FROM items WHERE id = ?", id); err != nil {
					return err
				}
				if err := c.Last("INSERT INTO items (id, name) SELECT ?, 'left with ' || count(*) FROM items", id); err != nil {
					return err
				}
				return failed
			}
		}
		for _, failed := range []error{nil, errTest} {
			wantError(t, db.Write(t.Context(), leave(1, failed)), failed)
		}
		if n := number(t, db, "SELECT count(*) FROM items WHERE id = 1 AND name = 'left with 0'"); n != 1 {
			t.Fatalf("%d rows were renamed by the last statement", n)
		}
		if db.Dialect() != SQLite {
			return
		}
		seen := 0
		for _, err := range group(t, db, leave(2, nil), leave(3, errTest), func(c Conn) error {
			return c.Row("SELECT count(*) FROM items WHERE id = 2").Scan(&seen)
		}, leave(4, nil)) {
			if err != nil && !errors.Is(err, errTest) {
				t.Error(err)
			}
		}
		if n := number(t, db, "SELECT count(*) FROM items WHERE name = 'left with ' || (id / 2)"); n != 3 || seen != 0 {
			t.Errorf("%d of three last statements ran after the changes, in their order; another change of the commit saw %d", n, seen)
		}
	})
}
