package store

import (
	"context"
	"slices"
	"time"
)

// Purge runs a DELETE or an UPDATE, each time in a transaction of its own, until it
// changes less than most rows, so that others get in between. Its last parameter is
// the bound:
//
//	DELETE FROM t WHERE id IN (SELECT id FROM t WHERE at <= ? LIMIT ?)
//
// n is how many rows were changed, also where an error has ended it.
func (db *DB) Purge(ctx context.Context, most int, statement string, args ...any) (n int64, err error) {
	args = append(slices.Clip(args), most)
	return db.InBatches(ctx, 0, func(c Conn) (int64, bool, error) {
		n, err := c.Exec(statement, args...)
		return n, n >= int64(most), err
	})
}

// InBatches calls fn in one Write after another while it says that there is more,
// with a pause between them that leaves the database to others. total adds up n of
// those that were committed, also where an error has ended it.
func (db *DB) InBatches(ctx context.Context, pause time.Duration, fn func(c Conn) (n int64, more bool, err error)) (total int64, err error) {
	for {
		var n int64
		var more bool
		err := db.Write(ctx, func(c Conn) (err error) {
			n, more, err = fn(c)
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; !more {
			return total, nil
		}
		if pause <= 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return total, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Walk goes through a table by a key, in the order of its numbers: it calls fn in one Write
// after another, each for at most so many rows whose keys come after one, until there are
// fewer. fn returns how many there were and the last key, and step is told how many after
// each commit.
func (db *DB) Walk(ctx context.Context, most int, step func(rows int64), fn func(c Conn, after int64, most int) (n int, last int64, err error)) error {
	for after := int64(0); ; {
		var n int
		var last int64
		err := db.Write(ctx, func(c Conn) (err error) {
			n, last, err = fn(c, after, most)
			return err
		})
		if err != nil {
			return err
		}
		if step(int64(n)); n < most {
			return nil
		}
		after = last
	}
}
