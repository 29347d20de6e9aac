package store

import (
	"database/sql"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Questions collects queries that do not depend on each other's results, for [Conn.Ask]. The zero value is empty.
type Questions struct{ list []question }

type question struct {
	query  string
	args   []any
	single bool
	scan   func(r Row) error
}

// Row adds a query for one row. If the query finds no row, the Scan method of the Row passed to scan returns
// sql.ErrNoRows.
func (q *Questions) Row(scan func(r Row) error, query string, args ...any) {
	q.list = append(q.list, question{query, args, true, scan})
}

// All adds a query and calls scan for each of its rows. The query should have a LIMIT.
func (q *Questions) All(scan func(r Row) error, query string, args ...any) {
	q.list = append(q.list, question{query, args, false, scan})
}

// Ask runs the queries in order. Within a Write on PostgreSQL it sends them in one message; otherwise it runs them
// one after another. It returns the first error of a query or a scan function and does not scan the results of later
// queries, which may have run nevertheless.
func (c Conn) Ask(q *Questions) error {
	if c.pipeline == nil {
		return c.askEach(q.list)
	}
	var batch pgx.Batch
	for _, question := range q.list {
		batch.Queue(c.db.Rebind(question.query), question.args...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := question.scan(pgxRow{rows}); err != nil || question.single {
					return err
				}
			}
			if err := rows.Err(); err != nil || !question.single {
				return err
			}
			return question.scan(noRow{}) // the single row was not found
		})
	}
	return c.pipeline.send(c.ctx, &batch)
}

// askEach runs the queries one after another, until the first error.
func (c Conn) askEach(list []question) error {
	for _, q := range list {
		if err := c.ask(q); err != nil {
			return err
		}
	}
	return nil
}

// ask runs one query.
func (c Conn) ask(q question) error {
	if !q.single {
		return c.All(q.query, q.args, q.scan)
	}
	rows, err := c.Rows(q.query, q.args...) // not Row, because a *sql.Row that scan ignores keeps its connection
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		return q.scan(rows)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return q.scan(noRow{})
}

// noRow stands for a row that was not found.
type noRow struct{}

// Scan implements Row.
func (noRow) Scan(...any) error { return sql.ErrNoRows }

var errNullBool = errors.New("store: NULL cannot be scanned into a bool")

// pgxRow scans a row as database/sql does: a number can be read into a bool too.
type pgxRow struct{ rows pgx.Rows }

// Scan implements Row.
func (r pgxRow) Scan(dest ...any) error {
	dest = slices.Clone(dest)
	for i, target := range dest {
		if target, ok := target.(*bool); ok {
			dest[i] = boolScanner{target}
		}
	}
	return r.rows.Scan(dest...)
}

// boolScanner scans a number or a boolean into target.
type boolScanner struct{ target *bool }

// Scan implements sql.Scanner.
func (s boolScanner) Scan(value any) error {
	var b sql.NullBool
	err := b.Scan(value)
	if err == nil && !b.Valid {
		err = errNullBool
	}
	*s.target = b.Bool
	return err
}
