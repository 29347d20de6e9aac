package store

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/zap"
)

// TestReadBriefly checks that ReadBriefly reads what Read reads, and gives its connection back however fn ends.
func TestReadBriefly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		p.conns = 1
		db := p.start(t)
		if err := writeItem(t.Context(), db, 1); err != nil {
			t.Fatal(err)
		}
		count := func(c Conn) (n int, err error) { return n, c.Row("SELECT count(*) FROM items").Scan(&n) }
		for range 20 { // more times than there are connections
			err := db.ReadBriefly(t.Context(), func(c Conn) error {
				for range 2 {
					if n, err := count(c); err != nil || n != 1 {
						t.Errorf("%d items, %v", n, err)
					}
				}
				return errTest
			})
			wantError(t, err, errTest)
			func() {
				defer func() { _ = recover() }()
				_ = db.ReadBriefly(t.Context(), func(c Conn) error {
					_, _ = count(c)
					panic("test")
				})
			}()
		}
		if p.dialect == SQLite {
			if err := db.ReadBriefly(t.Context(), func(c Conn) error { return insert(c, 2) }); err == nil {
				t.Error("a reader has written")
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantError(t, db.ReadBriefly(ctx, func(Conn) error { return errTest }), context.Canceled)
		err := db.Write(t.Context(), func(c Conn) error {
			return db.ReadBriefly(c.Context(), func(Conn) error { return nil })
		})
		wantError(t, err, errNested)
	})
}

// TestReadBrieflyWaits checks that waiting for a connection ends with the context, and that a statement on a connection
// is not interrupted.
func TestReadBrieflyWaits(t *testing.T) {
	t.Parallel()
	db, err := NewSQLite(SQLiteOptions{Path: t.TempDir() + "/test.db", Readers: 1}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	err = db.ReadBriefly(ctx, func(c Conn) error {
		go func() {
			waiting <- db.ReadBriefly(ctx, func(Conn) error { return errors.New("there was a connection") })
		}()
		eventually(t, "one waits", func() bool { return db.engine.brief().Stats().WaitCount == 1 })
		cancel()
		wantError(t, <-waiting, context.Canceled)
		return c.Row("SELECT count(*) FROM items").Scan(new(int))
	})
	if err != nil {
		t.Error(err)
	}
}
