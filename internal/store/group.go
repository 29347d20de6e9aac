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

// Bounds of a group on PostgreSQL.
const (
	turnWrites = 16                   // writes of one commit …
	turnTime   = 5 * time.Millisecond // … and the time after which no more are taken along
	// followerWait is how long one who is taken along may wait for a lock, and all others
	// of the group with it. Then it has a transaction of its own.
	followerWait = "100ms"
	// followerTime bounds what one who is taken along does.
	followerTime = 3 * time.Second
)

// errAlone tells a write that nothing of it was done, since it or another one of its
// group has failed, and that it is to be tried again by itself.
var errAlone = errors.New("store: a write is to be tried by itself")

// follower is a write in turn that another one of its name takes along, which wants the same
// of a transaction. They would come one after another anyway: each would have its begin and
// its commit, and two ways to the server, where so what one leaves for its end goes with what
// the next one asks first. Each is behind a savepoint, so that one that is refused takes
// back itself and nothing else.
//
// The functions run on the goroutines of their callers, so a panic is the caller's and has
// its stack.
type follower struct {
	tx     *pipeline
	result chan error // from it: how its function came out; holds one
	ended  chan error // to it: how it came out in the end; holds one
}

// followers await their commit.
type followers []*follower

func (list followers) end(err error) {
	for _, f := range list {
		f.ended <- err
	}
}

// kindOf is what a write wants of its transaction; nil: one for itself.
func kindOf(ctx context.Context, alone bool) any {
	if alone || ctx.Value(turnKey{}) == nil {
		return nil
	}
	return strings.Join(begin(ctx), ";")
}

// run runs a write that is taken along. As with SQLite's it is carried through where its
// caller leaves: the transaction is not its own.
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

// takeAlong runs the writes that wait for the turn's name in its transaction. It returns
// those that await the commit; an error means that the transaction is lost.
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

// commitGroup commits the transaction of a write and those that it has taken along. Its
// caller may have left, for them it is carried through.
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
