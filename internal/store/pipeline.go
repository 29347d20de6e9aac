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
	conn  *sql.Conn
	later pgx.Batch // what waits for the end of a Write
	ended bool
}

// send runs the statements of a batch.
func (p *pipeline) send(ctx context.Context, batch *pgx.Batch) error {
	return p.conn.Raw(func(driver any) error {
		return driver.(*stdlib.Conn).Conn().SendBatch(ctx, batch).Close()
	})
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
	if p.ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	_, _ = p.conn.ExecContext(ctx, "rollback")
}
