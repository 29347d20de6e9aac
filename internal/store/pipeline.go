package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipeline is a transaction on PostgreSQL, to which statements go several in a
// message.
type pipeline struct {
	conn    *sql.Conn
	opening []string  // what begins it, which goes with its first statement
	failed  error     // why it has not begun
	later   pgx.Batch // what waits for the end of a Write
	ended   bool
}

// send runs the statements of a batch.
func (p *pipeline) send(ctx context.Context, batch *pgx.Batch) error {
	if p.failed != nil {
		return p.failed
	}
	if p.opening == nil {
		return p.sendAll(ctx, batch)
	}
	var whole pgx.Batch
	begun := 0
	for _, statement := range p.opening {
		whole.Queue(statement).Exec(func(pgconn.CommandTag) error { begun++; return nil })
	}
	opening := len(p.opening)
	p.opening = nil
	whole.QueuedQueries = append(whole.QueuedQueries, batch.QueuedQueries...)
	err := p.sendAll(ctx, &whole)
	if err != nil && begun < opening {
		p.failed = err
	}
	return err
}

func (p *pipeline) sendAll(ctx context.Context, batch *pgx.Batch) error {
	return p.conn.Raw(func(driver any) error {
		return driver.(*stdlib.Conn).Conn().SendBatch(ctx, batch).Close()
	})
}

// begin is for a statement that goes alone.
func (p *pipeline) begin(ctx context.Context) error {
	if p.opening == nil {
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

// QueryRowContext implements querier. Where the transaction has not begun the error of
// the row is another one; that of the Write says why.
func (p *pipeline) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if p.begin(ctx) != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel() // it must not run outside
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

// commit runs what waits and commits, in one message: rows that many change are held
// for no way to the server and back.
func (p *pipeline) commit(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.later.Queue("commit").Exec(func(done pgconn.CommandTag) error {
		p.ended = true
		if done.String() == "ROLLBACK" { // a statement failed, and nobody cared
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	if err := p.send(ctx, &p.later); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// rollback takes the transaction back, unless it has ended, also where its caller is
// gone. A connection on which that fails is not used again.
func (p *pipeline) rollback(ctx context.Context) {
	if p.ended || p.opening != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	_, _ = p.conn.ExecContext(ctx, "rollback")
}
