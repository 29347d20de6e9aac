package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipeline is a transaction on PostgreSQL that sends several statements in one message.
type pipeline struct {
	conn *sql.Conn
	// before holds the statements that begin the transaction. They are sent ahead of the first other statement.
	before  pgx.Batch
	later   pgx.Batch // statements deferred to the end of a Write
	opening int       // number of statements that begin the transaction
	begun   int       // number of these statements that the server has run
	failed  error     // why the transaction has not begun
	ended   bool
}

// newPipeline returns a transaction on conn that begins with the statements in opening. It sends nothing yet.
func newPipeline(conn *sql.Conn, opening []string) *pipeline {
	p := &pipeline{conn: conn, opening: len(opening)}
	for _, statement := range opening {
		p.before.Queue(statement).Exec(func(pgconn.CommandTag) error { p.begun++; return nil })
	}
	return p
}

// send runs the statements of a batch, after those in p.before, and returns the first error.
func (p *pipeline) send(ctx context.Context, batch *pgx.Batch) error {
	if p.failed != nil {
		return p.failed
	}
	if len(p.before.QueuedQueries) > 0 { // the first batch also begins the transaction
		all := p.before
		all.QueuedQueries = append(all.QueuedQueries, batch.QueuedQueries...)
		batch, p.before = &all, pgx.Batch{}
	}
	err := p.sendAll(ctx, batch)
	if err != nil && p.begun < p.opening {
		p.failed = err
	}
	return err
}

// sendAll sends a batch in one message.
func (p *pipeline) sendAll(ctx context.Context, batch *pgx.Batch) error {
	return p.conn.Raw(func(driver any) error {
		return driver.(*stdlib.Conn).Conn().SendBatch(ctx, batch).Close()
	})
}

// begin sends the statements in p.before, ahead of a statement that is not sent in a batch.
func (p *pipeline) begin(ctx context.Context) error {
	if len(p.before.QueuedQueries) == 0 {
		return p.failed
	}
	return p.send(ctx, new(pgx.Batch))
}

// ExecContext implements querier.
func (p *pipeline) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.conn.ExecContext(ctx, query, args...)
}

// QueryContext implements querier.
func (p *pipeline) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.conn.QueryContext(ctx, query, args...)
}

// QueryRowContext implements querier. If the transaction cannot begin, the row's error does not give the reason, but
// the error of the Write does.
func (p *pipeline) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if p.begin(ctx) != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel() // the query must not run outside the transaction
	}
	return p.conn.QueryRowContext(ctx, query, args...)
}

// PrepareContext implements querier.
func (p *pipeline) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.conn.PrepareContext(ctx, query)
}

// commit runs the deferred statements and commits in one message, so that no row lock is held for an extra round trip.
// If the server rolled back instead, the error wraps pgx.ErrTxCommitRollback.
func (p *pipeline) commit(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	last := p.later
	p.later = pgx.Batch{}
	last.Queue("commit").Exec(func(done pgconn.CommandTag) error {
		p.ended = true
		if done.String() == "ROLLBACK" { // a statement failed and its error was ignored
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	if err := p.send(ctx, &last); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// rollback rolls the transaction back unless it has ended, even if ctx was cancelled. If that fails, the connection is
// not used again.
func (p *pipeline) rollback(ctx context.Context) {
	if p.ended || p.begun == 0 && p.failed == nil { // nothing was sent
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	_, _ = p.conn.ExecContext(ctx, "rollback")
}
