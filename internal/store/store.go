// Package store lets the backends use one database schema on two engines, SQLite and PostgreSQL. It hides only the
// engines' differences, such as placeholders, the single writer and reconnection; the backends write SQL.
//
// A [DB] is made by [NewSQLite] or [NewPostgres], which do no I/O. It gets its schemas from [DB.Register] and works
// once [DB.Start] has opened and migrated the database. Writes behave alike on both engines: each write is atomic and,
// when the call returns, durable (but see [Hastily]). Writes are serializable: concurrent writes have the same result
// as if they had run one after another.
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

// ErrUnavailable is wrapped by every error which means that the database cannot be used now but may be later. Examples:
// it is not opened yet, it is down, the connection was lost, another process holds the lock for longer than the busy
// timeout, transactions fail to serialize for too long, or the file is damaged, missing or not writable. Errors in a
// statement and violated constraints do not wrap it.
var ErrUnavailable = errors.New("database unavailable")

// ErrOpening wraps ErrUnavailable for a database whose first attempt to open is still running. The attempt may be
// migrating, for which there is no time limit.
var ErrOpening = fmt.Errorf("%w: not opened yet", ErrUnavailable)

var (
	errClosed = fmt.Errorf("%w: closed", ErrUnavailable)
	errNested = errors.New(
		"store: Read or Write was called inside the function of a Write, which would wait for itself; use its transaction")
)

// Dialect identifies the engine of a DB, for the few statements that differ.
type Dialect int

// The two engines.
const (
	SQLite Dialect = iota
	Postgres
)

// String returns "sqlite" or "postgres", which are also used in the names of migration files.
func (d Dialect) String() string {
	if d == Postgres {
		return "postgres"
	}
	return "sqlite"
}

// engine has the operations that differ between SQLite and PostgreSQL.
type engine interface {
	// checkMark returns an error while a restore or a move into the database is unfinished; see ownmark.go.
	checkMark(ctx context.Context) error
	// migrate applies the missing migrations of the schemas, under a lock that also excludes other processes. It may be
	// called before open.
	migrate(ctx context.Context, schemas []*schema) error
	// open opens the connection pools. It is called after migrate, and a second time only after probe returned
	// errMoved.
	open(ctx context.Context) error
	// probe returns an error if an opened database cannot be reached. If the error wraps errMoved, open is called
	// again.
	probe(ctx context.Context) error
	// probeWrite returns an error if the database cannot be written.
	probeWrite(ctx context.Context) error
	// probeEvery returns the interval at which to call probe while everything works. Zero means never.
	probeEvery() time.Duration
	// readers returns the pool for Read.
	readers() *sql.DB
	// brief returns the pool for ReadBriefly. Nil means that ReadBriefly uses the pool of readers.
	brief() *sql.DB
	// write runs fn in a transaction, which it commits unless fn returns an error.
	write(ctx context.Context, fn writeFunc) error
	// judge classifies an error of a statement or a transaction.
	judge(err error) verdict
	// close releases the pools. It may be called even if open was not called.
	close() error
}

// writeFunc is called by an engine with a transaction. p and e become the fields pipeline and ending of the Conn. On
// SQLite p is nil, and on PostgreSQL e is nil.
type writeFunc = func(ctx context.Context, tx querier, p *pipeline, e *ending) error

// verdict classifies an error by what it means for the use of the database.
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

	// ctx ends with Close and limits all background work.
	ctx    context.Context
	cancel context.CancelFunc
	// wake rouses the keeper; see startup.go.
	wake chan struct{}

	ownMark atomic.Bool    // see OwnMark
	keeper  sync.WaitGroup // counts the keeper and the listening goroutine, for which Close waits

	mu        sync.Mutex // guards the fields below; never held during I/O
	closed    bool
	keeping   bool            // the keeper goroutine has been started
	listening bool            // the listening goroutine has been started
	release   string          // see SetRelease
	schemas   []*schema       // in the order of Register
	migrated  int             // how many of schemas have been applied
	waiting   []chan struct{} // of calls of Start; closed when the next attempt has ended
}

// newDB returns a DB on an engine, which is not open yet.
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

// Read calls fn with a Conn on the pool of readers. Each statement sees all writes that returned before it. On SQLite
// the pool refuses statements that write. On PostgreSQL it does not, but such statements belong in Write all the same.
//
// Read returns the errors of fn, unchanged unless they mean that the database cannot be reached: then they also wrap
// [ErrUnavailable]. While the database is not open Read returns such an error at once and does not call fn.
func (db *DB) Read(ctx context.Context, fn func(c Conn) error) error {
	if err := db.admit(ctx); err != nil {
		return err
	}
	return db.settleError(ctx, fn(Conn{ctx: ctx, db: db, q: db.engine.readers()}))
}

// ReadBriefly works like Read, for a few statements that each find a small number of rows by an index. On SQLite
// these statements use one connection, so fn must not call Read, and the end of ctx does not interrupt a statement.
// Watching ctx would need two goroutines per statement, which cost more than most of these statements.
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
// nothing of the change remains. Write wraps errors in the same way as Read.
//
// Rules for fn:
//
//   - It uses only the Conn it is given, with that Conn's context, and does no other
//     I/O: on SQLite all other writers wait meanwhile, and changes of other callers
//     share the transaction.
//   - It returns the error of a statement instead of going on: PostgreSQL refuses all
//     statements of a transaction after the first error.
//   - It may be called more than once (after a conflict with another transaction, or
//     when another change has spoilt the shared transaction), so it sets the variables
//     it captured instead of adding to them. Calls never overlap and all run on the
//     caller's goroutine.
//
// If ctx ends before fn was called, fn is never called. If ctx ends later, SQLite completes the change and Write
// reports its outcome; PostgreSQL rolls the change back, but see [InTurn]. If the connection breaks during the final
// commit, the outcome is unknown; the error then wraps ErrUnavailable.
func (db *DB) Write(ctx context.Context, fn func(c Conn) error) error {
	if err := db.admit(ctx); err != nil {
		return err
	}
	err := db.engine.write(ctx, func(ctx context.Context, tx querier, p *pipeline, e *ending) error {
		return fn(Conn{ctx: context.WithValue(ctx, writingKey{}, db), db: db, q: tx, pipeline: p, ending: e})
	})
	if err == nil {
		db.health.written()
		return nil
	}
	// On SQLite, reads may work after an I/O error of a write.
	if v := db.engine.judge(err); v == verdictUnwritable || v == verdictLost && db.dialect == SQLite {
		db.health.unwritable(err)
		db.rouse()
		return unavailable(err)
	}
	return db.settleError(ctx, err)
}

// Ready returns nil while the database is open with every schema in place and the last write did not find the database
// unwritable. Otherwise it returns the reason, an error that wraps [ErrUnavailable]. It does no I/O. While only writes
// fail, reads and writes are still attempted.
func (db *DB) Ready() error {
	if err := db.health.ready(); err != nil {
		return err
	}
	return db.health.writeError()
}

// Close releases the database. It waits for a change that is being committed. Waiting changes and all later calls get
// an error that wraps [ErrUnavailable]. Close is idempotent.
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

// admit returns an error for a call that cannot succeed: its context has ended, it is nested in a Write, or the
// database is not open.
func (db *DB) admit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Value(writingKey{}) == db {
		return errNested
	}
	return db.health.ready()
}

// settleError wraps err with ErrUnavailable if err means that the database cannot be used now, and returns it unchanged
// otherwise. If the database may be gone, it wakes the keeper to check that.
func (db *DB) settleError(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	v := db.engine.judge(err)
	switch {
	case v == verdictLost && !errors.Is(ctx.Err(), context.Canceled): // cancelling a call breaks its connection
		db.rouse()
		return unavailable(err)
	case v == verdictContended:
		return unavailable(err)
	case errors.Is(err, context.DeadlineExceeded):
		// A server that has stopped answering is noticed only by calls that run out of time.
		db.rouse()
	}
	return err
}

// unavailable wraps err with ErrUnavailable.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
