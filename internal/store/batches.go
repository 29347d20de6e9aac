package store

import (
	"context"
	"slices"
	"time"
)

// Purge runs a DELETE or an UPDATE repeatedly until it changes fewer than limit rows. Each run is a separate
// transaction, so that other writers get in between. Purge appends limit as the last argument of the statement:
//
//	DELETE FROM t WHERE id IN (SELECT id FROM t WHERE at <= ? LIMIT ?)
//
// It returns how many rows were changed, also with an error.
func (db *DB) Purge(ctx context.Context, limit int, statement string, args ...any) (n int64, err error) {
	args = append(slices.Clip(args), limit)
	return db.InBatches(ctx, 0, func(c Conn) (int64, bool, error) {
		n, err := c.Exec(statement, args...)
		return n, n >= int64(limit), err
	})
}

// InBatches calls fn in one Write after another until fn returns false as more. It pauses between the writes to leave
// the database to other callers. It returns the sum of n over the committed writes, also with an error.
func (db *DB) InBatches(
	ctx context.Context, pause time.Duration, fn func(c Conn) (n int64, more bool, err error),
) (total int64, err error) {
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
		total += n
		if !more {
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

// Walk goes through a table in the order of a numeric key, one Write after another. Each Write calls fn for at most
// limit rows whose keys are greater than afterKey; fn returns the number of rows found and the last key. Walk ends when
// fn finds fewer than limit rows. After each commit it calls step with the number of rows.
func (db *DB) Walk(
	ctx context.Context, limit int, step func(rows int64),
	fn func(c Conn, afterKey int64, limit int) (n int, last int64, err error),
) error {
	for afterKey := int64(0); ; {
		var n int
		var last int64
		err := db.Write(ctx, func(c Conn) (err error) {
			n, last, err = fn(c, afterKey, limit)
			return err
		})
		if err != nil {
			return err
		}
		step(int64(n))
		if n < limit {
			return nil
		}
		afterKey = last
	}
}
