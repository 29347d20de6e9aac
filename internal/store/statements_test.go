package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// cachingPool opens a pool of one connection to a new file. The function that it returns gives access to the driver's
// connection.
func cachingPool(t *testing.T) (*sql.DB, func() *cachingConn) {
	t.Helper()
	db, err := openPool(fileURI(filepath.Join(t.TempDir(), "x.db")))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	execute(t, db, "CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
	execute(t, db, "INSERT INTO numbers (n) VALUES (1), (2), (3)")
	return db, func() (inner *cachingConn) {
		t.Helper()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Raw(func(c any) error { inner = c.(*cachingConn); return nil }); err != nil {
			t.Fatal(err)
		}
		return inner
	}
}

func execute(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	db, conn := cachingPool(t)
	const query = "SELECT n FROM numbers WHERE n = ?"
	for want := range 3 {
		var n int
		if err := db.QueryRowContext(t.Context(), query, want+1).Scan(&n); err != nil || n != want+1 {
			t.Fatalf("got %d with the error %v, want %d", n, err, want+1)
		}
	}
	entry := conn().cache[query]
	if entry == nil {
		t.Fatal("the statement is not kept")
	}
	if err := db.QueryRowContext(t.Context(), query, 9).Scan(new(int)); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("the previous argument is still bound: %v", err)
	}
	before := entry.Value.(*cachedStatement).statement
	if after := conn().cache[query].Value.(*cachedStatement).statement; before != after {
		t.Error("the statement was prepared again")
	}
}

// TestNestedStatementWithSameText checks that a running statement is not disturbed by another statement with the same
// text.
func TestNestedStatementWithSameText(t *testing.T) {
	t.Parallel()
	db, conn := cachingPool(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	const query = "SELECT n FROM numbers WHERE n > ? ORDER BY n"
	rows, err := tx.QueryContext(t.Context(), query, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sum := 0
	for rows.Next() {
		var outer, inner int
		if err := rows.Scan(&outer); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRowContext(t.Context(), query, 2).Scan(&inner); err != nil {
			t.Fatal(err)
		}
		sum += 10*outer + inner
	}
	if err := rows.Err(); err != nil || sum != 69 {
		t.Errorf("%d, want 69: %v", sum, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	c := conn()
	if n := len(c.cache); n != c.order.Len() || n > cacheSize {
		t.Errorf("%d statements by text, %d in order", n, c.order.Len())
	}
}

func TestStatementsAreBounded(t *testing.T) {
	t.Parallel()
	db, conn := cachingPool(t)
	for i := range 3 * cacheSize {
		var n int
		if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", i)).Scan(&n); err != nil || n != i {
			t.Fatalf("got %d with the error %v, want %d", n, err, i)
		}
	}
	long := fmt.Sprintf("SELECT %0*d", statementSize, 1)
	if err := db.QueryRowContext(t.Context(), long).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	c := conn()
	if len(c.cache) != cacheSize || c.order.Len() != cacheSize {
		t.Errorf("%d statements by text, %d in order, want %d", len(c.cache), c.order.Len(), cacheSize)
	}
	if c.cache["SELECT 0"] != nil || c.cache[long] != nil {
		t.Error("an old or a long statement is kept")
	}
}

// TestStatementsThatFail checks that a text can be used again after a change of the schema, a violation or an
// interruption.
func TestStatementsThatFail(t *testing.T) {
	t.Parallel()
	db, _ := cachingPool(t)
	const insert = "INSERT INTO numbers (n) VALUES (?)"
	execute(t, db, insert, 4)
	if _, err := db.ExecContext(t.Context(), insert, 4); err == nil {
		t.Error("a number was inserted twice")
	}
	execute(t, db, insert, 5)
	execute(t, db, "ALTER TABLE numbers ADD COLUMN name TEXT")
	execute(t, db, insert, 6)
	const endless = "WITH RECURSIVE more (n) AS (SELECT ? UNION ALL SELECT n + 1 FROM more WHERE n < ?) SELECT count(*) FROM more"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := db.QueryRowContext(ctx, endless, 1, int64(1)<<60).Scan(new(int)); err == nil {
		t.Error("the endless query was not interrupted")
	}
	var n int
	if err := db.QueryRowContext(t.Context(), endless, 1, 10).Scan(&n); err != nil || n != 10 {
		t.Errorf("%d after an interruption: %v", n, err)
	}
}
