package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
)

// PostgresOptions are the settings of a PostgreSQL database.
type PostgresOptions struct {
	// DSN is the URL (postgres://user:password@host:5432/name) or the list of
	// key=value words that libpq understands. It is never logged.
	DSN string
	// MaxConns bounds the connections of the pool. Default: 16. At most 1000.
	MaxConns int
	// MinConns are opened with the database, at most MaxConns. Default: none.
	MinConns int
	// MaxIdleTime is how long a connection is kept that nobody uses. Default: 5m.
	MaxIdleTime time.Duration
	// MaxLifetime is how long a connection is used. Default: 1h.
	MaxLifetime time.Duration
}

const (
	connectTimeout = 3 * time.Second // per address, unless the DSN says otherwise
	connMaxIdle    = 5 * time.Minute
	connMaxLife    = time.Hour

	// migrateLockID is the advisory lock of all migrations in a database, the
	// bytes "tollgate".
	migrateLockID int64 = 0x746f6c6c67617465

	sharedAttempts = 2 // after these a write runs without others of this process
	retryPause     = 5 * time.Millisecond
	retryPauseMax  = 200 * time.Millisecond
	// writePatience is how long a write that loses its races is tried again where
	// its context has no deadline.
	writePatience = 30 * time.Second
)

// NewPostgres returns a DB on a PostgreSQL server. It parses the DSN only; the
// server is reached by Start. No error of it repeats the DSN.
func NewPostgres(o PostgresOptions, logger *zap.Logger) (*DB, error) {
	if strings.TrimSpace(o.DSN) == "" {
		return nil, errors.New("postgres: dsn is missing")
	}
	if o.MaxConns < 0 || o.MaxConns > 1000 {
		return nil, fmt.Errorf("postgres: max conns is %d, must be from 1 to 1000", o.MaxConns)
	}
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	if o.MinConns < 0 || o.MinConns > o.MaxConns {
		return nil, fmt.Errorf("postgres: min conns is %d, must be from 0 to max conns, %d", o.MinConns, o.MaxConns)
	}
	if o.MaxIdleTime < 0 || o.MaxLifetime < 0 {
		return nil, errors.New("postgres: the times of connections must not be negative")
	}
	config, err := pgx.ParseConfig(o.DSN)
	if err != nil {
		// The parser's own words quote the DSN and hide passwords only where
		// they recognise them.
		return nil, errors.New("postgres: dsn is neither a URL like postgres://user:password@host:5432/name nor a list like host=… user=… dbname=…, or names an unknown setting or a missing file")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	// A server that vanished without a word is noticed within half a minute.
	config.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}).DialContext
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "tollgate"
	}
	return newDB(Postgres, &postgres{
		config:   config,
		maxConns: o.MaxConns,
		minConns: o.MinConns,
		maxIdle:  cmp.Or(o.MaxIdleTime, connMaxIdle),
		maxLife:  cmp.Or(o.MaxLifetime, connMaxLife),
		slots:    semaphore.NewWeighted(int64(o.MaxConns)),
		turns:    newTurns(max(turnsLeast, o.MaxConns/5)),
		flushes:  newRounds(),
		patience: writePatience,
		turnTime: turnTime,
		logger:   logger,
	}, logger), nil
}

// postgres is the engine over a server.
type postgres struct {
	config   *pgx.ConnConfig
	maxConns int
	minConns int
	maxIdle  time.Duration
	maxLife  time.Duration
	logger   *zap.Logger
	pool     *sql.DB
	// slots lets a write that lost its races run alone: it takes them all.
	slots    *semaphore.Weighted
	turns    *turns
	flushes  *rounds // of what is committed
	patience time.Duration
	turnTime time.Duration
}

func (p *postgres) migrate(ctx context.Context, schemas []*schema) error {
	if len(schemas) == 0 {
		return nil
	}
	// A pool of its own: one connection holds the lock, goose uses another,
	// and neither waits for the readers.
	pool := stdlib.OpenDB(*p.config)
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(2)

	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to postgres: %w", err)
	}
	defer func() { _ = conn.Close() }() // ends the session and with it the lock
	waiting, cancel := context.WithTimeout(ctx, migrateLockWait)
	defer cancel()
	if _, err := conn.ExecContext(waiting, "SELECT pg_advisory_lock($1)", migrateLockID); err != nil {
		return fmt.Errorf("locking the database for migration: %w", err)
	}
	for _, schema := range schemas {
		if err := schema.apply(ctx, pool, goose.DialectPostgres, p.logger); err != nil {
			return err
		}
	}
	return nil
}

func (p *postgres) open(ctx context.Context) error {
	if err := p.probe(ctx); err != nil {
		return err
	}
	p.pool = stdlib.OpenDB(*p.config)
	p.pool.SetMaxOpenConns(p.maxConns)
	p.pool.SetMaxIdleConns(p.maxConns)
	p.pool.SetConnMaxIdleTime(p.maxIdle)
	p.pool.SetConnMaxLifetime(p.maxLife)
	if err := p.warm(ctx); err != nil {
		_ = p.pool.Close()
		return err
	}
	return nil
}

// warm opens the connections that there shall be from the beginning.
func (p *postgres) warm(ctx context.Context) error {
	for range p.minConns {
		conn, err := p.pool.Conn(ctx)
		if err != nil {
			return fmt.Errorf("connecting to postgres: %w", err)
		}
		defer func() { _ = conn.Close() }() // back to the pool, when all are there
	}
	return nil
}

// probe makes a connection of its own, so that a pool that is merely busy does
// not count as a server that is gone.
func (p *postgres) probe(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err == nil {
		err = conn.Ping(ctx)
		_ = conn.Close(ctx)
	}
	if err != nil {
		p.dropIdle()
		return fmt.Errorf("connecting to postgres: %w", err)
	}
	return nil
}

// listen passes the notices of the channel on until the connection breaks, which is
// one of its own. begun is called when none is missed from then on.
func (p *postgres) listen(ctx context.Context, begun func(), heard func(notice string)) error {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return fmt.Errorf("connecting to postgres: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	begun()
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("waiting for notices: %w", err)
		}
		heard(notice.Payload)
	}
}

// probeWrite finds nothing: writes that reach the server are its concern.
func (p *postgres) probeWrite(context.Context) error { return nil }

func (p *postgres) probeEvery() time.Duration { return 0 }

// dropIdle closes the connections nobody uses, which a restart of the server
// has cut, instead of having callers find out one by one.
func (p *postgres) dropIdle() {
	if p.pool != nil {
		p.pool.SetMaxIdleConns(-1)
		p.pool.SetMaxIdleConns(p.maxConns)
	}
}

func (p *postgres) readers() *sql.DB { return p.pool }

func (p *postgres) brief() *sql.DB { return nil }

// write runs fn in a transaction of the level serializable, for which the
// server makes the same promise that SQLite's single writer keeps: check, then
// change is safe. The price is that a transaction may lose a race and has to
// be repeated: until the deadline of ctx, with growing pauses of random length.
// One that lost twice runs without others of this process beside it, so that
// what many requests change at once still makes progress. A context may ask for
// a lower level: see ReadCommitted.
func (p *postgres) write(ctx context.Context, fn writeFunc) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(p.patience)
	}
	pause := retryPause
	alone := false
	for attempt := 1; ; attempt++ {
		weight := int64(1)
		if attempt > sharedAttempts {
			weight, alone = int64(p.maxConns), true
		}
		err := p.transact(ctx, weight, alone, fn)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errAlone): // once
			alone = true
			attempt--
			continue
		case attempt <= sharedAttempts && errors.As(err, new(*beginError)) && p.judge(err) == verdictLost:
			// Nothing was asked of the server yet: a connection cut while idle.
			p.dropIdle()
			continue
		case !lostRace(err):
			return err
		}
		wait := rand.N(pause) //nolint:gosec // spreads retries, keeps no secret
		if time.Until(deadline) <= wait {
			return err // says more than that the time is over
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		pause = min(2*pause, retryPauseMax)
	}
}

// beginError tells apart a transaction that never began.
type beginError struct{ err error }

func (e *beginError) Error() string { return "beginning a transaction: " + e.err.Error() }
func (e *beginError) Unwrap() error { return e.err }

// transact makes one attempt. Alone it takes nobody along in its turn, nor is taken.
func (p *postgres) transact(ctx context.Context, weight int64, alone bool, fn writeFunc) error {
	var mine *taken
	kind := kindOf(ctx, alone)
	if name := ctx.Value(turnKey{}); name != nil {
		turn, err := p.turns.take(ctx, name, kind)
		if err != nil {
			return err
		}
		if turn.with != nil {
			return turn.with.run(ctx, fn)
		}
		mine = turn.own
		defer mine.end()
	}
	if err := p.slots.Acquire(ctx, weight); err != nil {
		return err
	}
	defer p.slots.Release(weight)
	conn, err := p.pool.Conn(ctx)
	if err != nil {
		return &beginError{err}
	}
	defer func() { _ = conn.Close() }() // back to the pool
	tx := newPipeline(conn, begin(ctx))
	defer tx.rollback(ctx) // after an error and in a panic; nothing after a commit
	err = fn(ctx, tx, tx, nil)
	if tx.failed != nil {
		return &beginError{tx.failed}
	}
	if err != nil {
		return err
	}
	if kind != nil {
		followers, err := p.takeAlong(ctx, mine, kind, tx)
		if len(followers) > 0 || err != nil {
			outcome := errAlone // in a panic too
			defer func() { followers.end(outcome) }()
			if err == nil {
				outcome = p.commitGroup(ctx, conn, mine, tx)
			}
			return outcome
		}
	}
	if err := tx.commit(ctx); err != nil {
		if tx.failed != nil {
			return &beginError{tx.failed}
		}
		return err
	}
	if mine != nil {
		mine.end()
	}
	return p.flushed(ctx, conn)
}

// flushed returns when what was committed is as durable as the context of its write asks
// for.
func (p *postgres) flushed(ctx context.Context, conn *sql.Conn) error {
	if !releasesEarly(ctx) {
		return nil
	}
	return p.flushes.join(func() error { return p.flush(ctx, conn) }, func() { _ = conn.Close() }) // who waits needs none
}

// flush returns when all that was committed before is durable: the log is written
// in order, and this writes to it and waits as the server is told to. A caller that
// is gone changes nothing of what is committed, so it has a time of its own.
func (p *postgres) flush(ctx context.Context, q querier) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.patience)
	defer cancel()
	if _, err := q.ExecContext(ctx, "SELECT pg_logical_emit_message(true, 'tollgate', '')"); err != nil {
		return fmt.Errorf("flushing what is committed: %w", err)
	}
	return nil
}

// lostRace reports whether the transaction failed only because of others.
func lostRace(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || // serialization_failure
		pg.Code == "40P01") // deadlock_detected
}

func (p *postgres) judge(err error) verdict {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case lostRace(err),
			pg.Code == "25006", // read-only: it is a standby now
			pg.Code == "53100", // disk full
			pg.Code == "53200": // out of memory, or of room for locks
			return verdictContended
		case strings.HasPrefix(pg.Code, "08"), // connection exceptions
			strings.HasPrefix(pg.Code, "57P0"), // shut down, crashed, starting up, dropped
			pg.Code == "53300",                 // too many connections
			errors.As(err, new(*pgconn.ConnectError)):
			return verdictLost
		}
		return verdictNone
	}
	if errors.As(err, new(*pgconn.ConnectError)) ||
		errors.As(err, new(*net.OpError)) ||
		errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) {
		return verdictLost
	}
	return verdictNone
}

func (p *postgres) close() error {
	if p.pool == nil {
		return nil
	}
	return p.pool.Close()
}
