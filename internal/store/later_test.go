package store

import (
	"database/sql"
	"testing"
)

// Statements for later run in their order, with the change or not at all.
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
			t.Fatal("what was left for the end of an acknowledged change is not seen")
		}
	})
}
