package forum

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Postgres copies a forum into a PostgreSQL database.
type Postgres struct {
	conn *pgx.Conn
}

// NewPostgres connects to a database that has the tables of a board.
func NewPostgres(ctx context.Context, dsn string) (*Postgres, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	// Some rows refer to rows that are inserted later.
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return &Postgres{conn}, nil
}

// Close closes the connection.
func (p *Postgres) Close(ctx context.Context) error { return p.conn.Close(ctx) }

// posts stores a batch of posts.
func (p *Postgres) posts(ctx context.Context, f *Forum, batch []post) error {
	return p.insert(ctx, f.postTables(batch))
}

// finish stores the tables that are known only at the end, and prepares the database for use.
func (p *Postgres) finish(ctx context.Context, tables []table) error {
	if err := p.insert(ctx, tables); err != nil {
		return err
	}
	for _, statement := range []string{
		"INSERT INTO board_search (post_id, words) SELECT id, to_tsvector('simple', message) FROM board_posts",
		"SELECT setval(pg_get_serial_sequence('board_post_ids', 'id'), (SELECT max(id) FROM board_post_ids))",
		"SELECT setval(pg_get_serial_sequence('board_threads', 'id'), (SELECT max(id) FROM board_threads))",
		"SELECT setval(pg_get_serial_sequence('board_users', 'id'), (SELECT max(id) FROM board_users))",
		"VACUUM ANALYZE",
		"CHECKPOINT", // otherwise the next writer would have to wait until all data of the fill is written
	} {
		if _, err := p.conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// insert copies the rows of tables into the database.
func (p *Postgres) insert(ctx context.Context, tables []table) error {
	for _, t := range tables {
		next := int64(0)
		rows := pgx.CopyFromFunc(func() ([]any, error) {
			if next == t.rows {
				return nil, nil
			}
			next++
			return t.row(next - 1), nil
		})
		if _, err := p.conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, rows); err != nil {
			return err
		}
	}
	return nil
}
