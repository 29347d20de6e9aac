package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestPurge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		for id := range 25 {
			if err := writeItem(t.Context(), db, id); err != nil {
				t.Fatal(err)
			}
		}
		const statement = "DELETE FROM items WHERE id IN (SELECT id FROM items WHERE id < ? LIMIT ?)"
		for _, c := range []struct{ below, most, deleted, left int }{{5, 2, 5, 20}, {5, 2, 0, 20}, {15, 5, 10, 10}, {100, 50, 10, 0}} {
			n, err := db.Purge(t.Context(), c.most, statement, c.below)
			if left := number(t, db, "SELECT count(*) FROM items"); err != nil || n != int64(c.deleted) || left != c.left {
				t.Errorf("%+v: %d deleted, %d left, %v", c, n, left, err)
			}
		}
		if _, err := db.Purge(t.Context(), 5, "DELETE FROM nothing_there WHERE id = ?"); err == nil {
			t.Error("a broken statement is not an error")
		}
	})
}

// TestInBatches checks that the batches that were committed are counted, even if a later batch fails or the context
// ends.
func TestInBatches(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		batch := func(fail int) func(c Conn) (int64, bool, error) {
			return func(c Conn) (int64, bool, error) {
				var id int
				if err := c.Row("SELECT count(*) FROM items").Scan(&id); err != nil {
					return 0, false, err
				}
				if err := insert(c, id); err != nil || id == fail {
					return 1, true, errors.Join(err, errTest)
				}
				return 1, true, nil
			}
		}
		n, err := db.InBatches(t.Context(), 1, batch(3))
		if left := number(t, db, "SELECT count(*) FROM items"); !errors.Is(err, errTest) || n != 3 || left != 3 {
			t.Errorf("%d of %d, %v", n, left, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		n, err = db.InBatches(ctx, 1<<40, func(c Conn) (int64, bool, error) {
			cancel()
			return 1, true, nil
		})
		if !errors.Is(err, context.Canceled) || p.dialect == SQLite && n != 1 {
			t.Errorf("left: %d, %v", n, err)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	key := func(n int) int { return n }
	for _, c := range []struct {
		list, page []int
		next       int
	}{{nil, nil, 0}, {[]int{7}, []int{7}, 0}, {[]int{7, 8}, []int{7, 8}, 0}, {[]int{7, 8, 9}, []int{7, 8}, 8}} {
		page, more := Cut(c.list, 2)
		if !slices.Equal(page, c.page) || more != (c.next != 0) {
			t.Errorf("Cut(%v, 2) is %v, %t, want %v, %t", c.list, page, more, c.page, c.next != 0)
		}
		if page, next := CutAt(c.list, 2, key); !slices.Equal(page, c.page) || next != c.next {
			t.Errorf("CutAt(%v, 2) is %v, %d, want %v, %d", c.list, page, next, c.page, c.next)
		}
	}
}

// TestLocks checks whether the second of two writes waits for the first, which holds a row or has entered a gate.
// SQLite has no such locks.
func TestLocks(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	db, other := p.start(t), p.start(t)
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	row := func(words func(Conn) string) func(c Conn) error {
		return func(c Conn) error {
			var id int
			return c.Row("SELECT id FROM items WHERE id = 1" + words(c)).Scan(&id)
		}
	}
	change, remove, keep := row(Conn.Lock), row(Conn.LockKeys), row(Conn.Keep)
	gate := func(n int64) func(c Conn) error { return func(c Conn) error { return c.Enter(n) } }
	for name, test := range map[string]struct {
		first, second func(c Conn) error
		waits         bool
	}{
		"both change":      {change, change, true},
		"changed, kept":    {change, keep, false},
		"removed, kept":    {remove, keep, true},
		"kept, removed":    {keep, remove, true},
		"kept by both":     {keep, keep, false},
		"changed, removed": {change, remove, true},
		"one gate":         {gate(7), gate(7), true},
		"two gates":        {gate(7), gate(8), false},
		"changed, taken if free": {change, func(c Conn) error {
			if err := row(Conn.LockFree)(c); !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("a row that is held was taken: %w", errors.Join(err, errTest))
			}
			return nil
		}, false},
		"a gate, and a row": {gate(7), change, false},
	} {
		err := db.Write(t.Context(), func(c Conn) error {
			if err := test.first(c); err != nil {
				return err
			}
			return other.Write(t.Context(), func(c Conn) error {
				if _, err := c.Exec("SET LOCAL lock_timeout = '50ms'"); err != nil {
					return err
				}
				if err := test.second(c); (err != nil) != test.waits {
					t.Errorf("%s: got the error %v, want a wait that ends with an error: %t", name, err, test.waits)
				}
				return errTest
			})
		})
		wantError(t, err, errTest)
	}
	lite := sqliteAt(t).start(t)
	err := lite.Write(t.Context(), func(c Conn) error {
		if words := c.Lock() + c.LockKeys() + c.Keep() + c.LockFree(); words != "" {
			t.Errorf("SQLite is given %q", words)
		}
		return c.Enter(7)
	})
	if err != nil {
		t.Error(err)
	}
}
