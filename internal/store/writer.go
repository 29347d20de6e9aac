package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	sqlitelib "modernc.org/sqlite/lib"
)

// Limits of the writer.
const (
	queueLength = 1024                 // changes that wait in the queue; further callers wait to get in
	groupWrites = 64                   // maximum number of changes in one commit
	groupTime   = 5 * time.Millisecond // time after which no more changes join a commit
	beginPoll   = time.Millisecond     // pause between two attempts at a lock held by another process
)

var (
	errLost       = errors.New("store: a function of Write has lost the transaction and did not say so")
	errUnfinished = errors.New("store: a function of Write did not return")
	errLeft       = errors.New("store: nobody waits for the lock any more")
)

// writer is the single connection that changes a SQLite file. Durability costs a disk flush per commit, not per change,
// so changes that wait at the same time form a group and share a commit. Each change after the first has a savepoint,
// so that a failing change rolls back only itself.
//
// The functions run on the goroutines of their callers, which take turns with the transaction. A panic thus has the
// caller's stack. A caller that finds the writer idle, as most do, makes the group on its own goroutine: handing a
// change to another goroutine and back costs as much as a small change.
type writer struct {
	pool        *sql.DB
	conn        *sql.Conn // the only connection of the pool
	busyTimeout time.Duration
	logger      *zap.Logger

	queue   chan *change
	wake    chan struct{} // buffers one: something is in the queue
	closing chan struct{}
	stopped chan struct{} // closed when nobody reads the queue any more

	callers atomic.Int64 // number of callers in write
	group   sync.Mutex   // held while a group is made or the connection is closed
	commits atomic.Int64 // for tests
	locked  bool         // it was logged that another process holds the lock; guarded by group
}

// change is one call of writer.write.
type change struct {
	fn        writeFunc
	callerCtx context.Context // context of a caller that makes the group; nil if another goroutine makes it
	stage     atomic.Int32
	ending    ending     // statements for the end of the commit
	turn      chan turn  // to the caller; buffers one, so that the writer never blocks on it
	result    chan error // from the caller, when its turn is over; buffers one
}

// Stages of a change. A change is either claimed by the writer or withdrawn by its caller, never both.
const (
	stageWaiting = iota
	stageClaimed
	stageWithdrawn
)

// turn makes a caller run its function in the transaction. If ended is set, it instead reports that the change has
// ended with err.
type turn struct {
	ended bool
	err   error
}

// newWriter takes the only connection of the pool and starts the writer's goroutine. The writer's close also closes the
// pool.
func newWriter(ctx context.Context, pool *sql.DB, busyTimeout time.Duration, logger *zap.Logger) (*writer, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		pool:        pool,
		conn:        conn,
		busyTimeout: busyTimeout,
		logger:      logger,
		queue:       make(chan *change, queueLength),
		wake:        make(chan struct{}, 1),
		closing:     make(chan struct{}),
		stopped:     make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// close stops the writer after its current group and closes the connection.
func (w *writer) close() error {
	close(w.closing)
	<-w.stopped
	w.group.Lock()
	defer w.group.Unlock()
	// Conn.Close would wait for rows that were left open.
	err := w.conn.Raw(func(conn any) error { return conn.(io.Closer).Close() })
	return errors.Join(err, w.pool.Close())
}

// write runs fn and returns when the change is durable, has failed, or was withdrawn because ctx ended or the writer
// stopped.
func (w *writer) write(ctx context.Context, fn writeFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{fn: fn, turn: make(chan turn, 1), result: make(chan error, 1)}
	defer w.callers.Add(-1)
	if w.callers.Add(1) == 1 && w.group.TryLock() { // without other callers the change needs no queue
		c.callerCtx = ctx
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
	default: // the writer's goroutine will look at the queue anyway
	}
	cancelled, stopped := ctx.Done(), w.stopped
	for {
		select {
		case t := <-c.turn:
			if t.ended {
				return t.err
			}
			c.runTurn(ctx, w.conn)
		case <-cancelled:
			if c.stage.CompareAndSwap(stageWaiting, stageWithdrawn) {
				return ctx.Err()
			}
			cancelled = nil // too late to withdraw: wait for the outcome
		case <-stopped:
			if c.stage.CompareAndSwap(stageWaiting, stageWithdrawn) {
				return errClosed // queued after the last look at the queue
			}
			stopped = nil // it is in a caller's group
		}
	}
}

// direct makes a group of its caller's change and the changes that arrive meanwhile. The caller has locked w.group.
func (w *writer) direct(c *change) error {
	defer w.group.Unlock()
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	w.makeGroup(c)
	return (<-c.turn).err // makeGroup has ended the change
}

// runTurn runs the function and hands the transaction back, even after a panic. The function gets a context that
// ignores cancellation: when a statement is interrupted, SQLite rolls back the transaction with all other changes in
// it.
func (c *change) runTurn(ctx context.Context, conn *sql.Conn) {
	err := errUnfinished
	defer func() { c.result <- err }()
	c.ending = ending{}
	err = c.fn(context.WithoutCancel(ctx), conn, nil, &c.ending)
}

// runTurnHere calls runTurn on the goroutine that makes the group. If the function does not return, as in a panic, it
// rolls the transaction back.
func (w *writer) runTurnHere(c *change) {
	returned := false
	defer func() {
		if !returned {
			w.rollback()
		}
	}()
	c.runTurn(c.callerCtx, w.conn)
	returned = true
}

// claim reserves the change for the writer. It returns false if the caller has withdrawn the change.
func (c *change) claim() bool {
	return c.stage.CompareAndSwap(stageWaiting, stageClaimed)
}

// end sends the outcome of the change to its caller.
func (c *change) end(err error) { c.turn <- turn{true, err} }

// run makes groups of queued changes that are in no caller's group. It runs on the writer's goroutine.
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

// drain makes groups until the queue is empty or the writer is closing.
func (w *writer) drain() {
	w.group.Lock()
	defer w.group.Unlock()
	for {
		select {
		case <-w.closing:
			return
		default:
		}
		c := w.next()
		if c == nil {
			return
		}
		w.makeGroup(c)
	}
}

// refuseAll ends every change in the queue with err.
func (w *writer) refuseAll(err error) {
	for c := w.next(); c != nil; c = w.next() {
		if c.claim() {
			c.end(err)
		}
	}
}

// makeGroup commits c together with changes that wait in the queue. The caller has locked w.group.
func (w *writer) makeGroup(c *change) {
	var callerDone <-chan struct{}
	if c.callerCtx != nil {
		callerDone = c.callerCtx.Done()
	}
	if err := w.begin(callerDone); err != nil {
		if errors.Is(err, errLeft) {
			err = c.callerCtx.Err()
		} else {
			w.refuseAll(err) // all callers in the queue have waited for this lock too
		}
		if c.claim() {
			c.end(err)
		}
		return
	}
	var joined []*change
	deadline := time.Now().Add(groupTime)
	for count := 1; ; count++ {
		switch {
		case !c.claim(): // withdrawn
		case len(joined) == 0:
			if !w.lead(c) {
				return // the changes in the queue have roused the writer's goroutine
			}
			joined = append(joined, c)
		default:
			if len(joined) == 1 { // the release of a savepoint shows a lost transaction, but the first change had no savepoint
				if err := w.checkTransaction(); err != nil {
					w.rollback()
					joined[0].end(err)
					w.runAlone(c)
					return
				}
			}
			ok, lost := w.join(c)
			if lost != nil { // c has ended, so only the changes before it run again
				w.rescue(joined)
				return
			}
			if ok {
				joined = append(joined, c)
			}
		}
		if count == groupWrites || !time.Now().Before(deadline) {
			break
		}
		if c = w.next(); c == nil {
			break
		}
	}
	w.commit(joined)
}

// next returns a change that waits in the queue, or nil if there is none.
func (w *writer) next() *change {
	select {
	case c := <-w.queue:
		return c
	default:
		return nil
	}
}

// lead runs the first change of a transaction. The change needs no savepoint, because the whole transaction is rolled
// back when it fails. This saves the savepoint's journal, which has a copy of each changed page. lead returns true if
// the change waits for the commit; otherwise the change and the transaction have ended.
func (w *writer) lead(c *change) (ok bool) {
	if c.callerCtx != nil {
		w.runTurnHere(c)
	} else {
		c.turn <- turn{}
	}
	failed := <-c.result
	if failed != nil {
		w.rollback()
		c.end(failed)
	}
	return failed == nil
}

// checkTransaction returns an error if a change has silently ended the transaction, because the next change would then
// run outside of a transaction. The check executes BEGIN, which must fail inside a transaction.
func (w *writer) checkTransaction() error {
	err := w.do("BEGIN")
	switch {
	case err == nil:
		return errLost
	case sqliteCode(err) == sqlitelib.SQLITE_ERROR:
		return nil
	}
	return err
}

// join runs one change in a savepoint. It returns ok as true if the change waits for the commit; otherwise the change
// has ended. lost is not nil if the whole transaction is lost.
func (w *writer) join(c *change) (ok bool, lost error) {
	if err := w.do("SAVEPOINT change"); err != nil {
		c.end(err)
		return false, err
	}
	c.turn <- turn{}
	failed := <-c.result
	if failed == nil {
		err := w.do("RELEASE change")
		if err != nil {
			c.end(err)
		}
		return err == nil, err
	}
	lost = w.do("ROLLBACK TO change")
	if lost == nil {
		lost = w.do("RELEASE change")
	}
	c.end(failed)
	return false, lost
}

// rescue rolls a transaction back and runs its changes again, each in a separate transaction. joined holds the changes
// that waited for the commit. The transaction may be lost already: SQLite rolls back a whole transaction on its own
// when a statement is interrupted, the disk is full or I/O fails.
func (w *writer) rescue(joined []*change) {
	w.rollback()
	for _, c := range slices.Backward(joined) { // the first may run on this goroutine, and panic
		w.runAlone(c)
	}
}

// runAlone runs a claimed change in a separate transaction.
func (w *writer) runAlone(c *change) {
	if err := w.begin(nil); err != nil {
		c.end(err)
		return
	}
	if w.lead(c) {
		w.commit([]*change{c})
	}
}

// commit commits the transaction with the changes that joined it, and ends each of them with the outcome. If the commit
// of several changes fails because of one of them, the transaction is rolled back and each change runs again in a
// separate transaction, so that only that change fails. Without changes, commit rolls the transaction back.
func (w *writer) commit(joined []*change) {
	if len(joined) == 0 {
		w.rollback()
		return
	}
	if err := w.runDeferred(joined); err != nil {
		if len(joined) > 1 {
			w.rescue(joined)
			return
		}
		w.rollback()
		joined[0].end(err)
		return
	}
	err := w.do(commit)
	w.commits.Add(1)
	if err != nil {
		if len(joined) > 1 && sqliteCode(err)&0xff == sqlitelib.SQLITE_CONSTRAINT {
			// A deferred constraint is checked only at the commit. Running the changes separately finds the faulty one.
			w.rescue(joined)
			return
		}
		w.rollback()
		err = fmt.Errorf("committing: %w", err)
	}
	for _, c := range joined {
		c.end(err)
	}
}

// runDeferred runs the statements that the changes deferred to the end of their commit. It returns an error if the
// transaction is lost, because the statements would then take effect without the changes.
func (w *writer) runDeferred(joined []*change) error {
	checked := false
	for _, c := range joined {
		for _, s := range c.ending.statements {
			if !checked {
				if err := w.checkTransaction(); err != nil {
					return err
				}
				checked = true
			}
			if _, err := w.conn.ExecContext(context.Background(), s.query, s.args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin takes the write lock. It tries every millisecond instead of leaving the wait to SQLite, which tries ever less
// often, down to ten times a second. Beside a process that writes all the time and releases the lock only for moments,
// SQLite could wait in vain. begin returns errLeft when callerDone is closed.
func (w *writer) begin(callerDone <-chan struct{}) error {
	deadline := time.Now().Add(w.busyTimeout)
	for {
		err := w.do("BEGIN IMMEDIATE")
		if err == nil {
			if w.locked {
				w.locked = false
				w.logger.Info("database is back")
			}
			return nil
		}
		if sqliteCode(err)&0xff != sqlitelib.SQLITE_BUSY {
			return fmt.Errorf("beginning a transaction: %w", err)
		}
		if time.Now().After(deadline) {
			err = fmt.Errorf("another process holds the write lock: %w", err)
			if !w.locked {
				w.locked = true
				w.logger.Error("database unavailable", zap.Error(err))
			}
			return err
		}
		select {
		case <-time.After(beginPoll):
		case <-callerDone:
			return errLeft
		case <-w.closing:
			return errClosed
		}
	}
}

// Statements that end a transaction. cachingConn closes open rows before them.
const (
	commit   = "COMMIT"
	rollback = "ROLLBACK"
)

// do runs a statement that controls the transaction. A *sql.Tx is not used because it starts one goroutine to watch its
// context and another for each query, which costs more than a small change.
func (w *writer) do(statement string) error {
	_, err := w.conn.ExecContext(context.Background(), statement)
	return err
}

// rollback rolls the transaction back. The error is ignored, because SQLite may have rolled back already.
func (w *writer) rollback() { _ = w.do(rollback) }
