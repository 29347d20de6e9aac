package store

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

// Conn runs statements for a function passed to [DB.Read] or [DB.Write]: on the pool of readers, on one connection, or
// in a transaction. Statements have "?" placeholders, see [DB.Rebind], and run with the context of the call. A Conn is
// valid until that function returns.
type Conn struct {
	ctx context.Context // a Conn lives as long as one call of Read or Write
	db  *DB
	q   querier
	// pipeline sends several statements of a transaction in one message. If it is nil each statement runs at once.
	pipeline *pipeline
	// ending collects the statements that were passed to Last. They run just before the commit of a transaction that
	// several changes share. If ending is nil there is no such transaction, and Last queues a statement as Later does.
	ending *ending
	// byValues is set by ByValues.
	byValues bool
}

// querier has the methods that *sql.DB, *sql.Conn and *sql.Tx have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Row is a row that can be scanned: a *sql.Row, or the current row of *sql.Rows.
type Row interface{ Scan(dest ...any) error }

// Context returns the context with which statements run.
func (c Conn) Context() context.Context { return c.ctx }

// Dialect returns the engine of the database.
func (c Conn) Dialect() Dialect { return c.db.dialect }

// Exec runs a statement and returns the number of rows it changed.
func (c Conn) Exec(query string, args ...any) (changed int64, err error) {
	result, err := c.q.ExecContext(c.ctx, c.db.Rebind(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Later runs a statement whose outcome nothing else in this Write needs. On PostgreSQL it runs just before the commit,
// in one message with all other statements that were deferred, in their order. On SQLite, where there is no round trip
// to save, it runs at once. If it fails, the Write fails with its error and is rolled back.
func (c Conn) Later(query string, args ...any) error {
	if c.pipeline == nil {
		_, err := c.Exec(query, args...)
		return err
	}
	c.pipeline.later.Queue(c.db.Rebind(query), args...)
	return nil
}

// Last works like Later for a statement that changes only data which no Write reads, such as a full-text index. On
// SQLite, where several writes share a commit, the statement runs at the end of that commit, after the statements that
// earlier writes deferred. This saves work: FTS5 makes a separate segment of the rows added between two savepoints,
// which costs more than indexing the words.
func (c Conn) Last(query string, args ...any) error {
	if c.ending == nil {
		return c.Later(query, args...)
	}
	c.ending.statements = append(c.ending.statements, lastStatement{query, args})
	return nil
}

// ending holds the statements for the end of a commit.
type ending struct{ statements []lastStatement }

type lastStatement struct {
	query string
	args  []any
}

// Row runs a query for one row. If the query finds no row, the Scan method of the result returns sql.ErrNoRows.
func (c Conn) Row(query string, args ...any) *sql.Row {
	query, args = c.db.Rebind(query), c.planned(args)
	row := c.q.QueryRowContext(c.ctx, query, args...)
	for attempt := 1; c.repeats(row.Err(), attempt); attempt++ {
		row = c.q.QueryRowContext(c.ctx, query, args...)
	}
	return row
}

// Rows runs a query. The caller closes the result; most callers use All or [List] instead.
func (c Conn) Rows(query string, args ...any) (*sql.Rows, error) {
	query, args = c.db.Rebind(query), c.planned(args)
	rows, err := c.q.QueryContext(c.ctx, query, args...)
	for attempt := 1; c.repeats(err, attempt); attempt++ {
		rows, err = c.q.QueryContext(c.ctx, query, args...)
	}
	return rows, err
}

// repeats reports whether a query that has failed with err should run again after the given number of attempts. Only
// queries outside of a transaction run again, and only if PostgreSQL has ended them because of a deadlock. Such
// deadlocks happen to queries of several tables while another program of a rolling upgrade changes these tables.
func (c Conn) repeats(err error, attempt int) bool {
	return err != nil && c.Pool() != nil && isConflict(err) && attempt <= sharedAttempts && c.ctx.Err() == nil
}

// All calls scan for each row of a query. The query should have a LIMIT.
func (c Conn) All(query string, args []any, scan func(r Row) error) error {
	rows, err := c.Rows(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Each runs a query on q, a connection or a pool, and calls scan for each row. The query must be in the engine's own
// syntax.
func Each(ctx context.Context, q querier, query string, args []any, scan func(r Row) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// List returns the results of scan for each row of a query, or nil if there are no rows. The query should have a LIMIT.
func List[T any](c Conn, scan func(r Row) (T, error), query string, args ...any) (list []T, err error) {
	err = c.All(query, args, func(r Row) error {
		value, err := scan(r)
		list = append(list, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Column returns the values of a query with one column, or nil if there are no rows. The query should have a LIMIT.
func Column[T any](c Conn, query string, args ...any) ([]T, error) {
	return List(c, func(r Row) (value T, err error) { return value, r.Scan(&value) }, query, args...)
}

// Prepare prepares a statement that runs many times. The caller closes it.
func (c Conn) Prepare(query string) (*sql.Stmt, error) {
	return c.q.PrepareContext(c.ctx, c.db.Rebind(query))
}

// Pool returns the pool of readers, for callers that need a separate connection or transaction. It returns nil in a
// Write and in a ReadBriefly.
func (c Conn) Pool() *sql.DB {
	pool, _ := c.q.(*sql.DB)
	return pool
}

// On returns a Conn that runs statements on q, a connection or a transaction of the Pool. The caller must not use it
// after the function that received c has returned.
func (c Conn) On(q querier) Conn { return Conn{ctx: c.ctx, db: c.db, q: q, byValues: c.byValues} }

// ByValues returns a copy of c whose queries PostgreSQL plans anew each time, for the actual arguments. Otherwise a
// query that has run five times on a connection gets one generic plan, made for a value with few rows. If most rows of
// a table have the value, that plan may read and sort all of them to return a page of fifty. ByValues suits occasional
// lists of large tables filtered by a chosen value; planning costs about as much as reading a page. On SQLite it has no
// effect, as SQLite plans without values.
func (c Conn) ByValues() Conn {
	c.byValues = true
	return c
}

// planned returns the arguments of a query, preceded by an option for pgx if PostgreSQL shall plan the query for these
// arguments.
func (c Conn) planned(args []any) []any {
	if !c.byValues || c.db.dialect != Postgres || len(args) == 0 {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}
