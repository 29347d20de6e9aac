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

// PostgresOptions holds the settings of a PostgreSQL database.
type PostgresOptions struct {
	// DSN is a URL (postgres://user:password@host:5432/name) or a list of key=value words as libpq accepts it. It is
	// never logged.
	DSN string
	// MaxConns bounds the connections of the pool. Default: 16. At most 1000.
	MaxConns int
	// MinConns is how many connections are opened with the database, at most MaxConns. Default: 0.
	MinConns int
	// MaxIdleTime is how long an unused connection is kept. Default: 5m.
	MaxIdleTime time.Duration
	// MaxLifetime is how long a connection is used before it is replaced. Default: 1h.
	MaxLifetime time.Duration
}

const (
	connectTimeout = 3 * time.Second // per address, unless the DSN says otherwise
	connMaxIdle    = 5 * time.Minute
	connMaxLife    = time.Hour

	// migrateLockID identifies the advisory lock of all migrations in a database. Its bytes spell "tollgate".
	migrateLockID int64 = 0x746f6c6c67617465

	sharedAttempts = 2 // number of attempts after which a write runs alone in this process
	retryPause     = 5 * time.Millisecond
	retryPauseMax  = 200 * time.Millisecond
	// writePatience is how long a write is repeated after serialization failures if its context has no deadline.
	writePatience = 30 * time.Second
)

// NewPostgres returns a DB on a PostgreSQL server. It only checks the options and parses the DSN; Start connects to the
// server. Its errors never contain the DSN.
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
		return nil, errors.New("postgres: max idle time and max lifetime must not be negative")
	}
	config, err := pgx.ParseConfig(o.DSN)
	if err != nil {
		// The parser's own message is not returned, because it quotes the DSN and hides passwords only where it recognises
		// them.
		return nil, errors.New(
			"postgres: dsn is neither a URL like postgres://user:password@host:5432/name nor a list like host=… user=… dbname=…, or it contains an unknown setting or the name of a missing file")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	// With these settings the loss of a server that no longer answers is noticed within half a minute.
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
		turns:    newTurns(max(minTurns, o.MaxConns/5)),
		patience: writePatience,
		logger:   logger,
	}, logger), nil
}

// postgres is the engine for a PostgreSQL server.
type postgres struct {
	config   *pgx.ConnConfig
	maxConns int
	minConns int
	maxIdle  time.Duration
	maxLife  time.Duration
	logger   *zap.Logger
	pool     *sql.DB
	// slots has one slot per connection, and every write takes a slot. A write that repeatedly failed to serialize
	// takes all of them, and so runs alone.
	slots    *semaphore.Weighted
	turns    *turns
	patience time.Duration
}

// migrate implements engine. Its lock is an advisory lock of PostgreSQL.
func (p *postgres) migrate(ctx context.Context, schemas []*schema) error {
	if len(schemas) == 0 {
		return nil
	}
	// Migrations use a separate pool: one connection holds the lock, goose uses the other, and neither waits for
	// readers.
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
	return applyAll(ctx, schemas, pool, goose.DialectPostgres, p.logger)
}

// open implements engine.
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

// warm opens the minimum number of connections.
func (p *postgres) warm(ctx context.Context) error {
	for range p.minConns {
		conn, err := p.pool.Conn(ctx)
		if err != nil {
			return fmt.Errorf("connecting to postgres: %w", err)
		}
		defer func() { _ = conn.Close() }() // back to the pool, once all are open
	}
	return nil
}

// probe makes a new connection, because a busy pool would not show whether the server can be reached.
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

// listen calls handle with the notices of the channel until its connection breaks, and returns the error. It calls
// started when it has begun to listen; no later notice is missed while the connection lasts.
func (p *postgres) listen(ctx context.Context, started func(), handle func(notice string)) error {
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
	started()
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("waiting for notices: %w", err)
		}
		handle(notice.Payload)
	}
}

// probeWrite does nothing: whether a reachable server accepts writes is the server's concern.
func (p *postgres) probeWrite(context.Context) error { return nil }

// probeEvery implements engine: never, because a failing call shows that the server is down.
func (p *postgres) probeEvery() time.Duration { return 0 }

// dropIdle closes idle connections, which a restart of the server has broken, so that callers do not run into them.
func (p *postgres) dropIdle() {
	if p.pool != nil {
		p.pool.SetMaxIdleConns(-1)
		p.pool.SetMaxIdleConns(p.maxConns)
	}
}

// readers implements engine. Reads and writes share one pool.
func (p *postgres) readers() *sql.DB { return p.pool }

// brief implements engine.
func (p *postgres) brief() *sql.DB { return nil }

// write runs fn in a serializable transaction. This makes the same promise as SQLite's single writer: checking first
// and changing afterwards is safe. The price is that a transaction may fail to serialize and is repeated, after growing
// pauses of random length, until the deadline of ctx or for p.patience. From the third attempt on, no other transaction
// of this process runs at the same time, so that rows which many requests change still make progress. ctx may request a
// lower isolation level: see ReadCommitted.
func (p *postgres) write(ctx context.Context, fn writeFunc) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(p.patience)
	}
	pause := retryPause
	for attempt := 1; ; attempt++ {
		weight := int64(1)
		if attempt > sharedAttempts {
			weight = int64(p.maxConns) // excludes all other transactions of this process
		}
		err := p.transact(ctx, weight, fn)
		switch {
		case err == nil:
			return nil
		case attempt <= sharedAttempts && errors.As(err, new(*beginError)) && p.judge(err) == verdictLost:
			// The transaction had not begun, because a pooled connection was broken: try again at once.
			p.dropIdle()
			continue
		case !isConflict(err):
			return err
		}
		wait := rand.N(pause) //nolint:gosec // spreads retries, keeps no secret
		if time.Until(deadline) <= wait {
			return err // more informative than a deadline error
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

// beginError wraps the error of a transaction that could not begin.
type beginError struct{ err error }

func (e *beginError) Error() string { return "beginning a transaction: " + e.err.Error() }
func (e *beginError) Unwrap() error { return e.err }

// transact makes one attempt to run fn in a transaction. weight is the number of slots to take.
func (p *postgres) transact(ctx context.Context, weight int64, fn writeFunc) error {
	var turn *activeTurn
	if name := ctx.Value(turnKey{}); name != nil {
		var err error
		if turn, err = p.turns.take(ctx, name); err != nil {
			return err
		}
		defer turn.end()
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
	defer tx.rollback(ctx) // after an error or a panic; does nothing after a commit
	err = fn(ctx, tx, tx, nil)
	if tx.failed != nil { // the transaction has not begun, so fn's error does not count
		return &beginError{tx.failed}
	}
	if err != nil {
		return err
	}
	if err := tx.commit(ctx); err != nil {
		if tx.failed != nil {
			return &beginError{tx.failed}
		}
		return err
	}
	return nil
}

// isConflict reports whether err means that a transaction failed only because of concurrent transactions.
func isConflict(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || // serialization_failure
		pg.Code == "40P01") // deadlock_detected
}

// judge implements engine.
func (p *postgres) judge(err error) verdict {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case isConflict(err),
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

// close implements engine.
func (p *postgres) close() error {
	if p.pool == nil {
		return nil
	}
	return p.pool.Close()
}
