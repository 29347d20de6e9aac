// Package store gives the backends one database schema on two engines, SQLite and PostgreSQL. It hides what differs
// (placeholders, the single writer, reconnection) and nothing else: the backends write SQL.
//
// A [DB] is made by [NewSQLite] or [NewPostgres], which do no I/O. It gets its schemas from [DB.Register] and works
// once [DB.Start] has opened and migrated it. Writes behave alike on both engines: each is atomic, is durable when it
// returns (but see [Hastily]), and all of them together leave the state that running them one after another would
// leave.
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

// ErrUnavailable is in the chain of every error which means that the database cannot be used now but may be later: it
// is not opened yet, it is down, the connection was lost, another process holds the lock for longer than the busy
// timeout, contention lets no transaction through, or its file is damaged, gone or not writable. A broken statement and
// a violated constraint are none of these.
var ErrUnavailable = errors.New("database unavailable")

// ErrOpening is the ErrUnavailable of a database whose first attempt to open is still under way. The attempt may be
// migrating, for which there is no time limit.
var ErrOpening = fmt.Errorf("%w: not opened yet", ErrUnavailable)

var (
	errClosed = fmt.Errorf("%w: closed", ErrUnavailable)
	errNested = errors.New(
		"store: Read or Write was called inside the function of a Write, which would wait for itself; use its transaction")
)

// Dialect names the engine of a DB, for the few statements that differ.
type Dialect int

// The two engines.
const (
	SQLite Dialect = iota
	Postgres
)

// String returns "sqlite" or "postgres", the words that the names of migration files use too.
func (d Dialect) String() string {
	if d == Postgres {
		return "postgres"
	}
	return "sqlite"
}

// engine holds what differs between SQLite and PostgreSQL.
type engine interface {
	// marked returns an error while a restore or a move into the database is unfinished.
	marked(ctx context.Context) error
	// migrate applies the migrations that the schemas lack, under a lock that holds across processes. It does not need
	// open.
	migrate(ctx context.Context, schemas []*schema) error
	// open makes the pools. It is called after migrate, and again only after probe returned errMoved.
	open(ctx context.Context) error
	// probe reports, as an error, that an opened database cannot be reached. After an error that wraps errMoved the
	// engine waits for another call of open.
	probe(ctx context.Context) error
	// probeWrite reports, as an error, that the database cannot be written.
	probeWrite(ctx context.Context) error
	// probeEvery returns how often to probe without a cause. Zero means never.
	probeEvery() time.Duration
	readers() *sql.DB
	// brief returns the pool for ReadBriefly. Nil means that the pool of readers serves it as well.
	brief() *sql.DB
	write(ctx context.Context, fn writeFunc) error
	judge(err error) verdict
	// close releases the pools. It may be called whether or not open was.
	close() error
}

// writeFunc is called by an engine with a transaction. The pipeline sends several of its statements in one message; if
// it is nil each statement runs at once. The ending collects statements for the end of a shared commit; if it is nil
// the end of the transaction is that of the commit.
type writeFunc = func(ctx context.Context, tx querier, ahead *pipeline, last *ending) error

// verdict classifies what an error says about the database it came from.
type verdict int

const (
	verdictNone       verdict = iota // the statement or the caller is at fault
	verdictContended                 // the database is there but refused the transaction
	verdictLost                      // the database may be gone
	verdictUnwritable                // the database takes no writes
)

// DB is a database. It is safe for concurrent use.
type DB struct {
	dialect Dialect
	engine  engine
	logger  *zap.Logger
	health  *health
	rebinds rebinder

	listeners listeners // see notify.go

	// ctx ends with Close and bounds all background work.
	ctx    context.Context
	cancel context.CancelFunc
	// wake rouses the keeper; see keeper.go.
	wake chan struct{}

	mu       sync.Mutex
	closed   bool
	keeping  bool            // the keeper goroutine has been started
	keeper   sync.WaitGroup  // counts the keeper and the listening goroutine
	release  string          // see SetRelease
	schemas  []*schema       // in the order of Register
	migrated int             // how many of schemas have been applied
	waiting  []chan struct{} // closed when the next attempt has ended

	listening bool // the listening goroutine has been started

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

// Read calls fn with the pool of readers. Each statement sees all writes that were acknowledged before it. On SQLite
// the pool refuses statements that write; on PostgreSQL it does not, but they belong in Write all the same.
//
// The errors of fn are returned as they are, except that those which mean that the database cannot be reached also wrap
// [ErrUnavailable]. While the database is not open Read returns such an error at once and does not call fn.
func (db *DB) Read(ctx context.Context, fn func(c Conn) error) error {
	if err := db.admit(ctx); err != nil {
		return err
	}
	return db.settleError(ctx, fn(Conn{ctx: ctx, db: db, q: db.engine.readers()}))
}

// ReadBriefly works like Read, for a few statements that each find a small number of rows by an index. On SQLite all
// of them share one connection, so fn must not call Read, and the end of ctx does not interrupt a statement. Watching
// ctx would need two goroutines per statement, which cost more than most of these statements.
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

// Write runs fn as one atomic change and returns nil once that change is durable. When fn returns an error or panics,
// nothing of the change remains. Errors are returned as by Read.
//
// Rules for fn:
//
//   - It uses only the Conn it is given, with that Conn's context, and does no other
//     I/O: on SQLite every other writer waits for it, and the changes of others share
//     the transaction.
//   - It returns the error of a statement instead of going on after it: PostgreSQL
//     refuses all statements of a transaction after the first error.
//   - It may be called more than once (after a lost race, or when another change has
//     spoilt the shared transaction), so it sets the variables it captured instead of
//     adding to them. Calls never overlap and all run on the caller's goroutine.
//
// If ctx ends before fn was called, fn is never called. After that, on SQLite the change is carried through and Write
// reports its true outcome; on PostgreSQL it is rolled back, but see [InTurn]. A connection that breaks during the
// final commit leaves the outcome unknown; the error then wraps ErrUnavailable.
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

// Ready returns nil while the database is open with every schema in place and the last write did not find the database
// unwritable. Otherwise it returns an error that wraps [ErrUnavailable] and gives the reason. It does no I/O. While
// only writes fail, reads and writes are still attempted.
func (db *DB) Ready() error {
	if err := db.health.ready(); err != nil {
		return err
	}
	return db.health.writes()
}

// Close releases the database. It lets the change that is being committed finish. Changes that wait, and all later
// calls, are refused with an error that wraps [ErrUnavailable]. Close is idempotent.
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

// writingKey marks the context of a function that Write runs. Its value is the *DB.
type writingKey struct{}

// admit refuses a call that cannot succeed: one whose context has ended, one nested in a Write, or one on a database
// that is not open.
func (db *DB) admit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Value(writingKey{}) == db {
		return errNested
	}
	return db.health.ready()
}

// settleError adds ErrUnavailable to the errors that mean it, and wakes the keeper to check a database that may be
// gone.
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
		// A server that has stopped answering shows only as calls that run out of time.
		db.rouse()
	}
	return err
}

func unavailable(err error) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
