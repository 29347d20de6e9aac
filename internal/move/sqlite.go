package move

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// sqliteTables returns descriptions of the tables in the file. It leaves out SQLite's own tables, virtual tables, and
// the tables of versions and marks.
func (s *side) sqliteTables(ctx context.Context) (map[string]*table, error) {
	all := make(map[string]*table)
	err := s.all(ctx, "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND substr(name, 1, 7) NOT IN ('sqlite_', 'schema_') AND name <> ?",
		[]any{store.MovingTable}, func(r store.Row) error {
			var name, kind string
			if err := r.Scan(&name, &kind); err != nil {
				return err
			}
			if kind == "table" { // the content of a virtual table is in other tables
				all[name] = &table{name: name}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		keys := make(map[int]string) // the columns of the primary key by their place in it, from 1 on
		err := s.all(ctx, "SELECT name, lower(type), hidden, pk FROM pragma_table_xinfo(?)", []any{t.name}, func(
			r store.Row,
		) error {
			var c column
			var hidden, key int
			if err := r.Scan(&c.name, &c.typ, &hidden, &key); err != nil {
				return err
			}
			c.derived = hidden > 1 // 2 and 3 are generated columns
			if key > 0 {
				keys[key] = c.name
			}
			t.columns = append(t.columns, c)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		for i := 1; i <= len(keys); i++ {
			t.key = append(t.key, keys[i])
		}
	}
	return all, nil
}

// lastSQLite returns the greatest number that the database has assigned in the column p.identity.
func (s *side) lastSQLite(ctx context.Context, p *plan) (last int64, err error) {
	if err := s.row(ctx, "SELECT COALESCE(max("+p.identity+"), 0) FROM "+p.name).Scan(&last); err != nil {
		return 0, err
	}
	autoincrement, err := s.autoincrements(ctx, p.name)
	if err != nil || !autoincrement {
		return last, err
	}
	var assigned int64
	if err := s.row(ctx, "SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = ?",
		p.name).Scan(&assigned); err != nil {
		return 0, err
	}
	return max(last, assigned), nil
}

// autoincrements reports whether a table has AUTOINCREMENT, with which SQLite never assigns a number twice.
func (s *side) autoincrements(ctx context.Context, name string) (bool, error) {
	var definition string
	err := s.row(ctx, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", name).Scan(&definition)
	return strings.Contains(strings.ToUpper(definition), "AUTOINCREMENT"), err
}

// setLastSQLite makes the numbers of new rows continue after the number last, if the table has AUTOINCREMENT.
func (s *side) setLastSQLite(ctx context.Context, p *plan, last int64) error {
	autoincrement, err := s.autoincrements(ctx, p.name)
	if err != nil || !autoincrement {
		return err
	}
	if err := s.exec(ctx,
		"INSERT INTO sqlite_sequence (name, seq) SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)",
		p.name, p.name); err != nil {
		return err
	}
	return s.exec(ctx, "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", last, p.name)
}

// insertion returns the SQLite statement that inserts a row. All names in it come from the schema.
func (p *plan) insertion() string {
	return "INSERT INTO " + p.name + " (" + p.list() + ") VALUES (" +
		strings.TrimSuffix(strings.Repeat("?, ", len(p.columns)), ", ") + ")"
}

// insertSQLite inserts rows in the open transaction.
func (s *side) insertSQLite(ctx context.Context, p *plan, rows [][]any) error {
	insert, err := s.conn.PrepareContext(ctx, p.insertion())
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	args := make([]any, len(p.columns))
	for _, row := range rows {
		for i, v := range row {
			args[i] = forSQLite(v)
		}
		if _, err := insert.ExecContext(ctx, args...); err != nil {
			return fmt.Errorf("%w; the row is %s", err, p.describeRow(row))
		}
	}
	return nil
}

// checkKeys returns an error if a foreign key refers to a row that does not exist.
func (s *side) checkKeys(ctx context.Context) error {
	var child, parent string
	err := s.row(ctx, `SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1`).Scan(&child, &parent)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("a row of table %s refers to a row of table %s that does not exist", child, parent)
}

// openSQLiteTarget makes the file that becomes the database.
func (m *mover) openSQLiteTarget(ctx context.Context) error {
	if _, err := os.Lstat(m.To.File()); err == nil {
		return fmt.Errorf("%s already exists: move does not overwrite a file", m.To.File())
	}
	db, err := m.targetDB()
	if err != nil {
		return err
	}
	versions, err := m.latestVersions(store.SQLite)
	if err == nil {
		err = db.MigrateTo(ctx, m.schemas, versions)
	}
	if err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	return m.connect(ctx, db)
}

// finishSQLite checks the file, gives it its final name and removes the mark.
func (m *mover) finishSQLite(ctx context.Context) error {
	if err := m.to.checkKeys(ctx); err != nil {
		return err
	}
	if err := m.to.inTransaction(ctx, func() error { return m.continueNumbers(ctx) }); err != nil {
		return err
	}
	// Only the file itself becomes the database, without its log, so the log must be empty.
	if err := m.to.exec(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	unfinished := m.to.db.File()
	m.to.end()
	for _, ending := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(unfinished + ending); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s%s still has content: another process has the new database open", unfinished, ending)
		}
	}
	if err := os.Rename(unfinished, m.To.File()); err != nil {
		return err
	}
	if err := osfile.SyncFolder(filepath.Dir(m.To.File())); err != nil {
		return err
	}
	for _, ending := range []string{"-wal", "-shm", ".migrate.lock"} {
		_ = os.Remove(unfinished + ending)
	}
	conn, end, err := m.To.OpenConn(ctx)
	if err != nil {
		return err
	}
	defer end()
	_, err = conn.ExecContext(ctx, "DROP TABLE "+store.MovingTable)
	return err
}
