package forum

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// SQLite writes a forum into a new file without protection against crashes, because an unfinished file is deleted. It
// uses a separate connection with the driver that the store registers.
type SQLite struct {
	db *sql.DB
}

// NewSQLite opens a file that has the tables of a board.
func NewSQLite(ctx context.Context, file string) (*SQLite, error) {
	db, err := sql.Open("sqlite", "file:"+
		file+"?_pragma=synchronous(off)&_pragma=cache_size(-1000000)&_pragma=temp_store(memory)&_pragma=locking_mode(exclusive)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"PRAGMA journal_mode = OFF",
		"DROP INDEX board_post_ids_author", // created at the end, which is several times as fast
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			_ = db.Close()
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return &SQLite{db}, nil
}

// Close closes the file.
func (s *SQLite) Close() error { return s.db.Close() }

// posts stores a batch of posts, with their words for searches.
func (s *SQLite) posts(ctx context.Context, f *Forum, batch []post) error {
	tables := f.postTables(batch)
	tables = append(tables, table{
		"board_search",
		[]string{"rowid", "title", "message"},
		int64(len(batch)),
		func(i int64) []any { return []any{batch[i].id, "", batch[i].message} },
	})
	return s.insert(ctx, tables)
}

// finish stores the tables that are known only at the end, and prepares the database for use.
func (s *SQLite) finish(ctx context.Context, tables []table) error {
	if err := s.insert(ctx, tables); err != nil {
		return err
	}
	for _, statement := range []string{
		"CREATE INDEX board_post_ids_author ON board_post_ids (author_id)",
		"INSERT INTO board_search (board_search) VALUES ('optimize')",
		"PRAGMA journal_mode = WAL",
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// insert inserts the rows of tables in one transaction.
func (s *SQLite) insert(ctx context.Context, tables []table) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := insertRows(ctx, tx, t); err != nil {
			return fmt.Errorf("filling %s: %w", t.name, err) // the file is thrown away anyway
		}
	}
	return tx.Commit()
}

// insertRows inserts the rows of one table.
func insertRows(ctx context.Context, tx *sql.Tx, t table) error {
	values := "(?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
	statement, err := tx.PrepareContext(ctx, "INSERT INTO "+t.name+" ("+strings.Join(t.columns, ", ")+") VALUES "+values) //nolint:gosec // G202: names of this program
	if err != nil {
		return err
	}
	defer statement.Close()
	for i := range t.rows {
		if _, err := statement.ExecContext(ctx, t.row(i)...); err != nil {
			return err
		}
	}
	return nil
}
