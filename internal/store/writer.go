package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	sqlitelib "modernc.org/sqlite/lib"
)

// Bounds of the writer.
const (
	queueLength = 1024                 // writes that wait; further callers wait to get in
	groupWrites = 64                   // writes of one commit …
	groupTime   = 5 * time.Millisecond // … and the time after which no more join it
	beginPoll   = time.Millisecond     // pause between two looks at a lock held by another process
)

var (
	errTxEnded    = errors.New("store: a function of Write has ended the transaction it shares; whether the changes in it were kept is unknown")
	errLost       = errors.New("store: a function of Write has lost the transaction and did not say so")
	errUnfinished = errors.New("store: a function of Write did not return")
	errLeft       = errors.New("store: nobody waits for the lock any more")
)

// writer is the one connection that changes a SQLite file. Durability costs a
// flush of the disk per commit, not per change, so changes that wait at the
// same time share a commit, each behind the first in a savepoint of its own: one
// that fails takes back itself and nothing else.
//
// The functions run on the goroutines of their callers, which take turns with
// the transaction: a panic is the caller's and has its stack. Who finds nobody else
// there makes the group on the own goroutine, as most do: to hand a change over and back
// costs as much as a small one.
type writer struct {
	db          *sql.DB // one connection
	busyTimeout time.Duration
	logger      *zap.Logger

	queue   chan *change
	wake    chan struct{} // holds one: there is something in the queue
	closing chan struct{}
	stopped chan struct{} // closed when nobody looks at the queue any more

	callers atomic.Int64 // who are in write
	group   sync.Mutex   // held by who makes one, or closes the connection
	commits atomic.Int64 // for tests
	locked  bool         // another process kept us out; guarded by group
}

// change is one call of write.
type change struct {
	fn     writeFunc
	own    context.Context // of a caller who makes the group; nil: somebody else does
	stage  atomic.Int32
	turn   chan turn  // to the caller; holds one, so that the writer never waits on it
	result chan error // from the caller, when its turn is over; holds one
}

// Stages of a change: it is claimed by the writer or withdrawn by its caller,
// never both.
const (
	stageWaiting = iota
	stageClaimed
	stageWithdrawn
)

// turn tells a caller to run its function on tx or, when tx is nil, that its
// change has come to the end err.
type turn struct {
	tx  *sql.Tx
	err error
}

func newWriter(db *sql.DB, busyTimeout time.Duration, logger *zap.Logger) *writer {
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	w := &writer{
		db:          db,
		busyTimeout: busyTimeout,
		logger:      logger,
		queue:       make(chan *change, queueLength),
		wake:        make(chan struct{}, 1),
		closing:     make(chan struct{}),
		stopped:     make(chan struct{}),
	}
	go w.run()
	return w
}

// close ends the writer after the group it is at.
func (w *writer) close() error {
	close(w.closing)
	<-w.stopped
	w.group.Lock()
	defer w.group.Unlock()
	return w.db.Close()
}

// write runs fn and returns when its change is durable or was given up.
func (w *writer) write(ctx context.Context, fn writeFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{fn: fn, turn: make(chan turn, 1), result: make(chan error, 1)}
	defer w.callers.Add(-1)
	if w.callers.Add(1) == 1 && w.group.TryLock() {
		c.own = ctx
		return w.direct(c)
	}
	select {
	case w.queue <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	cancelled, stopped := ctx.Done(), w.stopped
	for {
		select {
		case t := <-c.turn:
			if t.tx == nil {
				return t.err
			}
			c.take(ctx, t.tx)
		case <-cancelled:
			if c.stage.CompareAndSwap(stageWaiting, stageWithdrawn) {
				return ctx.Err()
			}
			cancelled = nil // too late: carry it through
		case <-stopped:
			if c.stage.CompareAndSwap(stageWaiting, stageWithdrawn) {
				return errClosed // queued after the last look at the queue
			}
			stopped = nil // it is in the group of a caller
		}
	}
}

// direct makes a group of its caller's change and those that come meanwhile. The caller has
// locked group.
func (w *writer) direct(c *change) error {
	defer w.group.Unlock()
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	w.makeGroup(c)
	return (<-c.turn).err
}

// take runs the function and gives the transaction back, whatever happens. A
// statement that is interrupted makes SQLite roll back the transaction with
// the changes of all others in it, so cancelling ctx does not reach it.
func (c *change) take(ctx context.Context, tx *sql.Tx) {
	err := errUnfinished
	defer func() { c.result <- err }()
	err = c.fn(context.WithoutCancel(ctx), tx, nil)
}

// runs is take on the goroutine that makes the group. What does not return, as a panic,
// leaves no transaction behind.
func (c *change) runs(tx *sql.Tx) {
	returned := false
	defer func() {
		if !returned {
			_ = tx.Rollback()
		}
	}()
	c.take(c.own, tx)
	returned = true
}

// claim makes the change the writer's, unless its caller has left.
func (c *change) claim() bool {
	return c.stage.CompareAndSwap(stageWaiting, stageClaimed)
}

// end tells the caller how its change came out.
func (c *change) end(err error) { c.turn <- turn{err: err} }

// run is the writer's goroutine, which makes groups of what no caller has taken along.
func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case <-w.closing:
			w.refuseAll(errClosed)
			return
		case <-w.wake:
			w.drain()
		}
	}
}

// drain makes groups until nothing waits.
func (w *writer) drain() {
	w.group.Lock()
	defer w.group.Unlock()
	for {
		select {
		case <-w.closing:
			return
		case c := <-w.queue:
			w.makeGroup(c)
			continue
		default:
		}
		return
	}
}

// refuseAll ends every change in the queue.
func (w *writer) refuseAll(err error) {
	for {
		select {
		case c := <-w.queue:
			if c.claim() {
				c.end(err)
			}
		default:
			return
		}
	}
}

// makeGroup makes one commit of c and those that wait behind it.
func (w *writer) makeGroup(c *change) {
	var left <-chan struct{}
	if c.own != nil {
		left = c.own.Done()
	}
	tx, err := w.begin(left)
	if err != nil {
		if !errors.Is(err, errLeft) {
			w.refuseAll(err) // whoever waits has waited for this lock too
		} else {
			err = c.own.Err()
		}
		if c.claim() {
			c.end(err)
		}
		return
	}
	var (
		joined []*change
		until  = time.Now().Add(groupTime)
		seen   = 0
	)
	for {
		switch {
		case !c.claim():
		case len(joined) == 0:
			if !w.lead(tx, c) {
				return
			}
			joined = append(joined, c)
		default:
			if len(joined) == 1 {
				if err := standing(tx); err != nil {
					_ = tx.Rollback()
					joined[0].end(err)
					w.alone(c)
					return
				}
			}
			ok, lost := w.join(tx, c)
			if lost != nil {
				w.rescue(tx, joined, lost)
				return
			}
			if ok {
				joined = append(joined, c)
			}
		}
		seen++
		if seen == groupWrites || !time.Now().Before(until) {
			break
		}
		select {
		case c = <-w.queue:
			continue
		default:
		}
		break
	}
	w.commit(tx, joined)
}

// lead runs the first change of a transaction. There is nobody it has to be kept
// apart from: when it fails the transaction ends with it, which spares it the
// journal of a savepoint, a copy of each page that it changes.
func (w *writer) lead(tx *sql.Tx, c *change) (ok bool) {
	if c.own != nil {
		c.runs(tx)
	} else {
		c.turn <- turn{tx: tx}
	}
	failed := <-c.result
	if failed != nil {
		_ = tx.Rollback()
		c.end(failed)
	}
	return failed == nil
}

// standing is an error when the first change has lost the transaction and said
// nothing: there would be no second one within it.
func standing(tx *sql.Tx) error {
	_, err := tx.ExecContext(context.Background(), "BEGIN")
	switch {
	case err == nil:
		return errLost
	case errors.Is(err, sql.ErrTxDone):
		return errTxEnded
	case sqliteCode(err) == sqlitelib.SQLITE_ERROR:
		return nil
	}
	return err
}

// join runs one change in a savepoint. ok means that it awaits the commit;
// otherwise it was ended. lost is not nil when the transaction is no more.
func (w *writer) join(tx *sql.Tx, c *change) (ok bool, lost error) {
	if err := savepoint(tx, "SAVEPOINT change"); err != nil {
		c.end(err)
		return false, err
	}
	c.turn <- turn{tx: tx}
	failed := <-c.result
	if failed == nil {
		err := savepoint(tx, "RELEASE change")
		if err != nil {
			c.end(err)
		}
		return err == nil, err
	}
	lost = savepoint(tx, "ROLLBACK TO change")
	if lost == nil {
		lost = savepoint(tx, "RELEASE change")
	}
	c.end(failed)
	return false, lost
}

func savepoint(tx *sql.Tx, statement string) error {
	_, err := tx.ExecContext(context.Background(), statement)
	if errors.Is(err, sql.ErrTxDone) {
		return errTxEnded
	}
	return err
}

// rescue deals with the changes in a transaction that one of them took away.
// SQLite rolls back a whole transaction on its own when a statement is
// interrupted, the disk is full or I/O fails: then the others, which did
// nothing wrong, are run again, each in a transaction of its own.
func (w *writer) rescue(tx *sql.Tx, joined []*change, lost error) {
	_ = tx.Rollback()
	for _, c := range slices.Backward(joined) { // the first may be on this goroutine, and panic
		if errors.Is(lost, errTxEnded) {
			c.end(errTxEnded)
			continue
		}
		w.alone(c)
	}
}

// alone runs a change that was claimed before in a transaction of its own.
func (w *writer) alone(c *change) {
	tx, err := w.begin(nil)
	if err != nil {
		c.end(err)
		return
	}
	if w.lead(tx, c) {
		w.commit(tx, []*change{c})
	}
}

// commit makes the changes durable and ends them.
func (w *writer) commit(tx *sql.Tx, joined []*change) {
	if len(joined) == 0 {
		_ = tx.Rollback()
		return
	}
	err := tx.Commit()
	w.commits.Add(1)
	switch {
	case err == nil:
	case errors.Is(err, sql.ErrTxDone):
		err = errTxEnded
	case len(joined) > 1 && sqliteCode(err)&0xff == sqlitelib.SQLITE_CONSTRAINT:
		// A deferred constraint is checked only now. The commit did not
		// happen, and the one at fault is found by running them one by one.
		for _, c := range slices.Backward(joined) { // as in rescue
			w.alone(c)
		}
		return
	default:
		err = fmt.Errorf("committing: %w", err)
	}
	for _, c := range joined {
		c.end(err)
	}
}

// begin takes the write lock. It looks for it every millisecond instead of
// leaving the wait to SQLite, which looks ever more seldom, down to ten times a
// second: beside a process that writes all the time, and lets go of the lock for
// moments only, it could wait in vain. errLeft is its error when left is closed.
func (w *writer) begin(left <-chan struct{}) (*sql.Tx, error) {
	deadline := time.Now().Add(w.busyTimeout)
	for {
		tx, err := w.db.BeginTx(context.Background(), nil)
		if err == nil {
			if w.locked {
				w.locked = false
				w.logger.Info("database is back")
			}
			return tx, nil
		}
		if sqliteCode(err)&0xff != sqlitelib.SQLITE_BUSY {
			return nil, fmt.Errorf("beginning a transaction: %w", err)
		}
		if time.Now().After(deadline) {
			err = fmt.Errorf("another process holds the write lock: %w", err)
			if !w.locked {
				w.locked = true
				w.logger.Error("database unavailable", zap.Error(err))
			}
			return nil, err
		}
		select {
		case <-time.After(beginPoll):
		case <-left:
			return nil, errLeft
		case <-w.closing:
			return nil, errClosed
		}
	}
}
