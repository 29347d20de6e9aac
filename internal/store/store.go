// Package store is the database as backends see it: one schema on two
// engines, SQLite and PostgreSQL. It hides what differs (placeholders, the
// single writer, reconnection) and nothing else; backends write SQL.
//
// A [DB] is made by [NewSQLite] or [NewPostgres], which touch nothing, gets its
// schemas by [DB.Register] and works once [DB.Start] has opened and migrated
// it. Writes behave alike on both engines: each is atomic, durable when it
// returns (but see [Hastily]), and all of them together leave what running them
// one after another would leave.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// ErrUnavailable is in the chain of every error that means the database cannot
// be reached now and may be later: not opened yet, down, connection lost,
// locked by another process for longer than the busy timeout, or too contended
// to get a transaction through, or its file is damaged, gone, or cannot be
// written. A broken statement and a violated constraint are none of these.
var ErrUnavailable = errors.New("database unavailable")

// ErrOpening is the ErrUnavailable of a database whose first attempt to open is
// not over: it may be migrating, which takes the time that it takes.
var ErrOpening = fmt.Errorf("%w: not opened yet", ErrUnavailable)

var (
	errClosed = fmt.Errorf("%w: closed", ErrUnavailable)
	errNested = errors.New("store: Read or Write was called inside the function of a Write, which would wait for itself; use its transaction")
)

// Dialect is the engine a DB speaks to, for the few statements that differ.
type Dialect int

// The two engines.
const (
	SQLite Dialect = iota
	Postgres
)

// String returns "sqlite" or "postgres", the words that also stand in the
// names of migration files.
func (d Dialect) String() string {
	if d == Postgres {
		return "postgres"
	}
	return "sqlite"
}

// engine is what differs between SQLite and PostgreSQL.
type engine interface {
	// marked is an error while a restore or a move into the database has not ended.
	marked(ctx context.Context) error
	// migrate applies what is missing of the schemas, under a lock that holds
	// across processes. It needs no open.
	migrate(ctx context.Context, schemas []*schema) error
	// open makes the pools; called once, after migrate.
	open(ctx context.Context) error
	// probe tells whether an opened database can be reached. After an error that
	// wraps errMoved the engine waits for open again.
	probe(ctx context.Context) error
	// probeWrite tells whether it can be written.
	probeWrite(ctx context.Context) error
	// probeEvery is how often to probe without a cause; 0: never.
	probeEvery() time.Duration
	readers() *sql.DB
	// brief are the connections for ReadBriefly; nil: Read is as good.
	brief() *sql.DB
	write(ctx context.Context, fn writeFunc) error
	judge(err error) verdict
	// close releases the pools, opened or not.
	close() error
}

// writeFunc is called by an engine with a transaction, what sends several
// statements of it at a time (nil: each is run at once), and what gathers those for
// the end of a commit (nil: it is that of the transaction).
type writeFunc = func(ctx context.Context, tx querier, ahead *pipeline, last *ending) error

// verdict is what an error says about the database it came from.
type verdict int

const (
	verdictNone       verdict = iota // nothing: the statement is at fault, or the caller
	verdictContended                 // it is there but did not let us in
	verdictLost                      // it may be gone
	verdictUnwritable                // it takes no writes
)

// DB is one database. It is safe for concurrent use.
type DB struct {
	dialect Dialect
	engine  engine
	logger  *zap.Logger
	health  *health
	rebinds rebinder

	listeners listeners // see notify.go

	// ctx ends with Close and bounds all work in the background.
	ctx    context.Context
	cancel context.CancelFunc
	// wake rouses the keeper; see keeper.go.
	wake chan struct{}

	mu       sync.Mutex
	closed   bool
	keeping  bool            // the keeper runs
	keeper   sync.WaitGroup  // the keeper, and who listens
	schemas  []*schema       // in the order of Register
	migrated int             // how many of them are in place
	waiting  []chan struct{} // closed when the attempt that follows has ended

	listening bool // somebody listens

	ownMark atomic.Bool // see OwnMark
}

func newDB(d Dialect, e engine, logger *zap.Logger) *DB {
	ctx, cancel := context.WithCancel(context.Background())
	return &DB{
		dialect: d,
		engine:  e,
		logger:  logger,
		health:  newHealth(logger),
		ctx:     ctx,
		cancel:  cancel,
		wake:    make(chan struct{}, 1),
	}
}

// Dialect returns the engine of the database.
func (db *DB) Dialect() Dialect { return db.dialect }

// Read calls fn with the pool of readers. Each statement sees all writes that
// were acknowledged before it. On SQLite the pool refuses statements that
// write; on PostgreSQL it does not, and they belong into Write all the same.
//
// The errors of fn come back as they are, except that those which mean the
// database cannot be reached also wrap [ErrUnavailable]. That is also the
// error, at once and without a call of fn, while the database is not open.
func (db *DB) Read(ctx context.Context, fn func(c Conn) error) error {
	if err := db.admit(ctx); err != nil {
		return err
	}
	return db.settleError(ctx, fn(Conn{ctx: ctx, db: db, q: db.engine.readers()}))
}

// ReadBriefly is Read for a few statements each of which finds its rows by an index,
// and not many. On SQLite they run on one connection, so that fn must not Read again,
// and once there is one ctx does not end them: to watch it takes two goroutines for
// each statement, which is more than most of them cost.
func (db *DB) ReadBriefly(ctx context.Context, fn func(c Conn) error) error {
	return db.Read(ctx, func(c Conn) error {
		pool := db.engine.brief()
		if pool == nil {
			return fn(c)
		}
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return fn(Conn{ctx: context.WithoutCancel(ctx), db: db, q: conn})
	})
}

// Write runs fn as one atomic change and returns nil once that change is
// durable. When fn returns an error or panics nothing of it remains; errors
// come back as Read returns them.
//
// What fn has to mind:
//
//   - It uses the Conn it is given and the context of that, and does no other
//     I/O: on SQLite every other writer waits for it, and others' changes share
//     the transaction.
//   - It returns the error of a statement instead of going on after it:
//     PostgreSQL refuses all statements of a transaction after the first error.
//   - It may be called more than once (a lost race, a transaction that another
//     change has spoilt), so it sets what it captured instead of adding to it.
//     Calls never overlap, and all of them are on the goroutine of the caller.
//
// A ctx that ends before fn was called keeps it from ever being called. After
// that, on SQLite the change is carried through and Write reports its true
// outcome; on PostgreSQL it is rolled back, but see [InTurn]. A connection that breaks during
// the final commit leaves the outcome unknown; the error then wraps
// ErrUnavailable.
func (db *DB) Write(ctx context.Context, fn func(c Conn) error) error {
	if err := db.admit(ctx); err != nil {
		return err
	}
	err := db.engine.write(ctx, func(ctx context.Context, tx querier, ahead *pipeline, last *ending) error {
		return fn(Conn{ctx: context.WithValue(ctx, writingKey{}, db), db: db, q: tx, ahead: ahead, last: last})
	})
	if err == nil {
		db.health.written()
		return nil
	}
	if v := db.engine.judge(err); v == verdictUnwritable || v == verdictLost && db.dialect == SQLite {
		db.health.unwritable(err)
		db.rouse()
		return unavailable(err)
	}
	return db.settleError(ctx, err)
}

// Ready returns nil while the database is open with every schema in place and
// the last write did not find that there is no writing, and otherwise an error
// that wraps [ErrUnavailable] and says why. It does no I/O. While only writes
// fail, reads go on, and a write is tried.
func (db *DB) Ready() error {
	if err := db.health.ready(); err != nil {
		return err
	}
	return db.health.writes()
}

// Close releases the database. The change being committed is finished, those
// that wait are refused with an error that wraps [ErrUnavailable], as are all
// later calls. Close is idempotent.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	db.mu.Unlock()

	db.cancel()
	db.keeper.Wait()
	db.health.close()
	return db.engine.close()
}

// writingKey marks the context of a function run by Write; its value is the
// *DB.
type writingKey struct{}

// admit refuses a call that could not succeed.
func (db *DB) admit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Value(writingKey{}) == db {
		return errNested
	}
	return db.health.ready()
}

// settleError adds ErrUnavailable to the errors that mean it, and has the
// keeper look at a database that may be gone.
func (db *DB) settleError(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	v := db.engine.judge(err)
	switch {
	case v == verdictLost && !errors.Is(ctx.Err(), context.Canceled):
		db.rouse()
		return unavailable(err)
	case v == verdictContended:
		return unavailable(err)
	case errors.Is(err, context.DeadlineExceeded):
		// A server that answers nothing shows in nothing but late calls.
		db.rouse()
	}
	return err
}

func unavailable(err error) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
