package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Limits of a group of writes that share a transaction on PostgreSQL.
const (
	turnWrites = 16                   // maximum number of writes in one commit
	turnTime   = 5 * time.Millisecond // time after which no more writes join
	// followerWait is how long a write that joined may wait for a lock, and the rest of the group with it. After that
	// it is run again in a transaction of its own.
	followerWait = "100ms"
	// followerTime limits how long the function of a write that joined may take.
	followerTime = 3 * time.Second
)

// errAlone tells a write that nothing of it was done, because it or another write of its group failed, and that it is
// to be tried again by itself.
var errAlone = errors.New("store: a write is to be tried by itself")

// follower is a write in turn that joins the transaction of another write with the same name and the same requirements
// (see kindOf). Such writes would run one after another anyway, each with its own BEGIN and COMMIT and two round trips;
// joined, the statements that one write defers to its end travel with the first statements of the next. Each follower
// runs behind a savepoint, so that one that fails rolls back only itself.
//
// The functions run on the goroutines of their callers, so a panic is the caller's and has its stack.
type follower struct {
	tx     *pipeline
	result chan error // from the follower: the result of its function; buffers one
	ended  chan error // to the follower: the final outcome; buffers one
}

// followers are writes that await the common commit.
type followers []*follower

func (list followers) end(err error) {
	for _, f := range list {
		f.ended <- err
	}
}

// kindOf returns what a write requires of its transaction; writes of equal kind may share one. It returns nil for a
// write that must have a transaction for itself.
func kindOf(ctx context.Context, alone bool) any {
	if alone || ctx.Value(turnKey{}) == nil {
		return nil
	}
	return strings.Join(begin(ctx), ";")
}

// run runs a follower's function and waits for the outcome. As on SQLite, it is carried through when its caller leaves,
// because the transaction belongs to others too.
func (f *follower) run(ctx context.Context, fn writeFunc) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), followerTime)
	defer cancel()
	func() {
		err := errUnfinished
		defer func() { f.result <- err }()
		err = fn(ctx, f.tx, f.tx, nil)
	}()
	return <-f.ended
}

// takeAlong runs the writes that wait for the same turn in its transaction. It returns those that await the commit; an
// error means that the transaction is lost.
func (p *postgres) takeAlong(ctx context.Context, mine *taken, kind any, tx *pipeline) (list followers, lost error) {
	until := time.Now().Add(p.turnTime)
	for seen := 1; seen < turnWrites && time.Now().Before(until); seen++ {
		f := mine.along(kind, func() *follower {
			if seen == 1 {
				tx.keep()
				tx.before.Queue("set local lock_timeout = '" + followerWait + "'")
			}
			tx.mark()
			return &follower{tx, make(chan error, 1), make(chan error, 1)}
		})
		if f == nil {
			break
		}
		err := <-f.result
		if err == nil {
			tx.release()
			list = append(list, f)
			continue
		}
		if lost := tx.back(ctx); lost != nil {
			f.ended <- errAlone
			return list, lost
		}
		if p.judge(err) != verdictNone || errors.As(err, new(*pgconn.PgError)) {
			err = errAlone
		}
		f.ended <- err
	}
	return list, nil
}

// commitGroup commits the transaction of a write and its followers. It ignores the cancellation of ctx, because the
// followers need the commit even if the leading caller has left.
func (p *postgres) commitGroup(ctx context.Context, conn *sql.Conn, mine *taken, tx *pipeline) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.patience)
	defer cancel()
	err := tx.commit(ctx)
	switch {
	case err == nil:
		mine.end()
		return p.flushed(ctx, conn)
	case errors.Is(err, pgx.ErrTxCommitRollback), errors.As(err, new(*pgconn.PgError)) && p.judge(err) != verdictLost:
		return errAlone
	}
	return err // it may have been committed
}
