package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipeline is a transaction on PostgreSQL, to which statements go several in a
// message.
type pipeline struct {
	conn    *sql.Conn
	before  pgx.Batch // what goes with the next statement, ahead of it: what begins the transaction, and what others of a group have left
	later   pgx.Batch // what waits for the end of a Write
	opening int       // how many statements begin it, of which the server …
	begun   int       // … has run so many
	failed  error     // why it has not begun
	ended   bool
	marks   int // so many have been set
}

func newPipeline(conn *sql.Conn, opening []string) *pipeline {
	p := &pipeline{conn: conn, opening: len(opening)}
	for _, statement := range opening {
		p.before.Queue(statement).Exec(func(pgconn.CommandTag) error { p.begun++; return nil })
	}
	return p
}

// send runs the statements of a batch.
func (p *pipeline) send(ctx context.Context, batch *pgx.Batch) error {
	if p.failed != nil {
		return p.failed
	}
	if len(p.before.QueuedQueries) > 0 {
		whole := p.before
		whole.QueuedQueries = append(whole.QueuedQueries, batch.QueuedQueries...)
		batch, p.before = &whole, pgx.Batch{}
	}
	err := p.sendAll(ctx, batch)
	if err != nil && p.begun < p.opening {
		p.failed = err
	}
	return err
}

func (p *pipeline) sendAll(ctx context.Context, batch *pgx.Batch) error {
	return p.conn.Raw(func(driver any) error {
		return driver.(*stdlib.Conn).Conn().SendBatch(ctx, batch).Close()
	})
}

// begin is for a statement that goes without others.
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
	p.keep()
	var last pgx.Batch
	last.Queue("commit").Exec(func(done pgconn.CommandTag) error {
		p.ended = true
		if done.String() == "ROLLBACK" { // a statement failed, and nobody cared
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	if err := p.send(ctx, &last); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// keep has what waits for the end of a Write go ahead of whatever comes next.
func (p *pipeline) keep() {
	p.before.QueuedQueries = append(p.before.QueuedQueries, p.later.QueuedQueries...)
	p.later = pgx.Batch{}
}

// mark begins what back takes back and release keeps. The server hears of it with the
// next statement. Each has a name of its own: one that was not set, since what came before
// it has failed, must not be taken for another one.
func (p *pipeline) mark() {
	p.keep()
	p.marks++
	p.before.Queue("savepoint " + p.savepoint())
}

func (p *pipeline) savepoint() string { return "change_" + strconv.Itoa(p.marks) }

func (p *pipeline) release() {
	p.keep()
	p.before.Queue("release savepoint " + p.savepoint())
}

// back is an error where more is lost than what came after the mark.
func (p *pipeline) back(ctx context.Context) error {
	p.later = pgx.Batch{}
	if n := len(p.before.QueuedQueries); n > 0 { // nothing was sent since
		p.before.QueuedQueries = p.before.QueuedQueries[:n-1]
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	_, err := p.conn.ExecContext(ctx, "rollback to savepoint "+p.savepoint())
	p.before.Queue("release savepoint " + p.savepoint())
	return err
}

// rollback takes the transaction back, unless it has ended, also where its caller is
// gone. A connection on which that fails is not used again.
func (p *pipeline) rollback(ctx context.Context) {
	if p.ended || p.begun == 0 && p.failed == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	_, _ = p.conn.ExecContext(ctx, "rollback")
}
