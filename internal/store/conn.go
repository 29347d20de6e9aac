package store

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

// Conn is what a function of [DB.Read] or [DB.Write] runs its statements on: the
// pool of readers, one of them, or the transaction. Statements are written with "?", see
// [DB.Rebind], and run with the context of the call. A Conn is good until that
// function returns.
type Conn struct {
	ctx context.Context //nolint:containedctx // a Conn lives as long as one call of Read or Write
	db  *DB
	q   querier
	// ahead sends several statements at a time; nil: each is run at once.
	ahead *pipeline
	// last gathers statements for the end of a commit; nil: Last is Later.
	last *ending
	// byValues: see ByValues.
	byValues bool
}

// querier is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Row is one row to be read: a *sql.Row, or the one at which *sql.Rows are.
type Row interface{ Scan(into ...any) error }

// Context is the context that statements run with.
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

// Later runs a statement on whose outcome nothing more in this Write depends: on
// PostgreSQL before the commit, in one message with all others that were left for
// then, in their order; on SQLite, to which there is no way to go, at once. Its error
// is the Write's, whose change is taken back then.
func (c Conn) Later(query string, args ...any) error {
	if c.ahead == nil {
		_, err := c.Exec(query, args...)
		return err
	}
	c.ahead.later.Queue(c.db.Rebind(query), args...)
	return nil
}

// Last is Later for a statement that changes what no Write reads, such as an index of words:
// on SQLite it runs at the end of the commit, which others share, behind those that were left
// by the ones before. What FTS5 is given between two savepoints is a segment of its
// own, which costs more than the words in it.
func (c Conn) Last(query string, args ...any) error {
	if c.last == nil {
		return c.Later(query, args...)
	}
	c.last.statements = append(c.last.statements, lastStatement{query, args})
	return nil
}

// ending are statements for the end of a commit.
type ending struct{ statements []lastStatement }

type lastStatement struct {
	query string
	args  []any
}

// Row runs a query for one row. Its Scan is sql.ErrNoRows where there is none.
func (c Conn) Row(query string, args ...any) *sql.Row {
	return c.q.QueryRowContext(c.ctx, c.db.Rebind(query), c.planned(args)...)
}

// Rows runs a query. The caller closes what it returns; most use All or [List].
func (c Conn) Rows(query string, args ...any) (*sql.Rows, error) {
	return c.q.QueryContext(c.ctx, c.db.Rebind(query), c.planned(args)...)
}

// All calls scan for each row of a query. Limit them in the query.
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

// List is what scan makes of each row of a query; nil where there is none. Limit
// them in the query.
func List[T any](c Conn, scan func(r Row) (T, error), query string, args ...any) (list []T, err error) {
	err = c.All(query, args, func(r Row) error {
		one, err := scan(r)
		list = append(list, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Prepare parses a statement that runs many times. The caller closes it.
func (c Conn) Prepare(query string) (*sql.Stmt, error) {
	return c.q.PrepareContext(c.ctx, c.db.Rebind(query))
}

// Pool is the pool of readers, for what needs a connection or a transaction of its
// own; nil in a Write and a ReadBriefly.
func (c Conn) Pool() *sql.DB {
	pool, _ := c.q.(*sql.DB)
	return pool
}

// On is a Conn on a connection or a transaction of the Pool, which ends before the
// function that c is of.
func (c Conn) On(q querier) Conn { return Conn{ctx: c.ctx, db: c.db, q: q, byValues: c.byValues} }

// ByValues is c with queries that PostgreSQL plans each time, for the values they have. A query
// that has run five times on a connection has one plan for all values else, made for one that
// has few rows: of a value that has most of a table it may read all rows and sort them, for a
// page of fifty. It is for lists of large tables by what somebody chooses, which are read now
// and then; to plan them costs about as much as to read a page. SQLite knows no values when it
// plans.
func (c Conn) ByValues() Conn {
	c.byValues = true
	return c
}

// planned are the arguments of a query, behind how it is to be planned where that matters.
func (c Conn) planned(args []any) []any {
	if !c.byValues || c.db.dialect != Postgres || len(args) == 0 {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}
