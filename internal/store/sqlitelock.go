package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	sqlitelib "modernc.org/sqlite/lib"
)

// lockPoll is the pause between two looks at a lock that another process holds.
const lockPoll = 20 * time.Millisecond

// lockFile takes a lock that holds across processes and ends with the process,
// however it ends. The lock is an exclusive transaction on an empty SQLite
// file: on every system where the database works, so does its lock, without
// code for each of them. The file stays behind; removing it would let a third
// process lock another one.
func lockFile(ctx context.Context, file string, wait time.Duration) (unlock func(), err error) {
	if err := touch(file); err != nil {
		return nil, err
	}
	q := url.Values{"_busy_timeout": {"0"}, "_txlock": {"exclusive"}, "mode": {"rw"}, "_error_rc": {"true"}}
	pool, err := sql.Open("sqlite", fileURI(file)+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = pool.Close()
		}
	}()

	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		// Not with ctx: the transaction would end with it.
		tx, err := pool.BeginTx(context.WithoutCancel(ctx), nil)
		switch {
		case err == nil:
			return func() { _ = tx.Rollback(); _ = pool.Close() }, nil
		case sqliteCode(err)&0xff != sqlitelib.SQLITE_BUSY:
			return nil, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("held by another process: %w", ctx.Err())
		}
	}
}
