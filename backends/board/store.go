package board

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the tables of the board.
func Schema() store.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return store.Schema{Name: "board", Migrations: files}
}

// conn runs statements, in a transaction or on the readers.
type conn struct {
	ctx context.Context //nolint:containedctx // a conn lives as long as one call of Read or Write
	db  *store.DB
	q   interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
}

// row is one row to be read.
type row interface{ Scan(into ...any) error }

func (s *Service) read(ctx context.Context, fn func(c conn) error) error {
	return unavailable(s.db.Read(ctx, func(ctx context.Context, r *sql.DB) error { return fn(conn{ctx, s.db, r}) }))
}

func (s *Service) write(ctx context.Context, fn func(c conn) error) error {
	return unavailable(s.db.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return fn(conn{ctx, s.db, tx}) }))
}

func (c conn) exec(query string, args ...any) (changed int64, err error) {
	result, err := c.q.ExecContext(c.ctx, c.db.Rebind(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (c conn) row(query string, args ...any) *sql.Row {
	return c.q.QueryRowContext(c.ctx, c.db.Rebind(query), args...)
}

// all calls scan for each row.
func (c conn) all(query string, args []any, scan func(r row) error) error {
	rows, err := c.q.QueryContext(c.ctx, c.db.Rebind(query), args...)
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

// lock makes a SELECT of rows that are about to change hold them. SQLite has
// one writer and needs nothing.
func (c conn) lock() string {
	if c.db.Dialect() == store.Postgres {
		return " FOR NO KEY UPDATE" // rows that refer to it may still be added
	}
	return ""
}
