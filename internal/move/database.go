package move

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// side is the source or the target, with a separate connection.
type side struct {
	db   *store.DB
	conn *sql.Conn
	end  func() // closes conn
}

// dialect returns the engine of the database.
func (s *side) dialect() store.Dialect { return s.db.Dialect() }

// exec runs a statement with "?" placeholders, as row and all do.
func (s *side) exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, s.db.Rebind(statement), args...)
	return err
}

// row runs a query for one row.
func (s *side) row(ctx context.Context, query string, args ...any) *sql.Row {
	return s.conn.QueryRowContext(ctx, s.db.Rebind(query), args...)
}

// all calls scan for each row of a query.
func (s *side) all(ctx context.Context, query string, args []any, scan func(r store.Row) error) error {
	return store.Each(ctx, s.conn, s.db.Rebind(query), args, scan)
}

// versionsOf returns the versions of the schemas in a database.
func versionsOf(ctx context.Context, d store.Dialect, conn *sql.Conn) (map[string]int64, error) {
	return store.Versions(d, func(query string, scan func(r store.Row) error) error {
		return store.Each(ctx, conn, query, nil, scan)
	})
}

// inTransaction calls fn in a transaction, which is rolled back if fn returns an error.
func (s *side) inTransaction(ctx context.Context, fn func() error) error {
	statement := "BEGIN"
	if s.dialect() == store.SQLite {
		statement = "BEGIN IMMEDIATE"
	}
	if err := s.exec(ctx, statement); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = s.exec(ctx, "COMMIT")
	}
	if err != nil {
		_ = s.exec(context.WithoutCancel(ctx), "ROLLBACK") // if the connection is gone, err reports it
	}
	return err
}

// tables returns descriptions of tables by name. On PostgreSQL these are the tables of the given schemas, and on
// SQLite they are all tables; see sqliteTables.
func (s *side) tables(ctx context.Context, schemas []store.Schema) (map[string]*table, error) {
	names := make(map[string]bool)
	for _, schema := range schemas {
		created, err := schema.Tables(s.dialect())
		if err != nil {
			return nil, err
		}
		for _, name := range created {
			names[name] = true
		}
	}
	if s.dialect() == store.Postgres {
		return s.postgresTables(ctx, names)
	}
	return s.sqliteTables(ctx)
}

// read calls fn for the rows of a table. If ordered is set, it reads in the order of the key, and begins after the
// key in afterKey, or with the first row if afterKey is nil. The row is valid until fn returns.
func (s *side) read(ctx context.Context, p *plan, afterKey cursor, ordered bool, fn func(row []any) error) error {
	query := "SELECT " + p.list() + " FROM " + p.name
	var args []any
	if ordered && len(p.key) > 0 {
		names := make([]string, len(p.key))
		for i, column := range p.key {
			names[i] = p.columns[column]
		}
		key := strings.Join(names, ", ")
		if afterKey != nil {
			query += " WHERE (" + key + ") > (" + strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ") + ")"
			for _, v := range afterKey {
				if s.dialect() == store.SQLite {
					v = forSQLite(v)
				}
				args = append(args, v)
			}
		}
		query += " ORDER BY " + key
	}
	// The values of each row are read into the slice scanned, through the pointers in the slice pointers, and converted to
	// the slice row. All three slices are used again for the next row.
	scanned, pointers := make([]any, len(p.columns)), make([]any, len(p.columns))
	for i := range scanned {
		pointers[i] = &scanned[i]
	}
	row := make([]any, len(p.columns))
	return s.all(ctx, query, args, func(r store.Row) (err error) {
		if err := r.Scan(pointers...); err != nil {
			return err
		}
		for i, v := range scanned {
			if row[i], err = p.kinds[i].value(v); err != nil {
				return fmt.Errorf("the column %s %w; the row is %s", p.columns[i], err, p.describeRow(scanned))
			}
		}
		return fn(row)
	})
}

// describeRow describes a row by its key, for an error.
func (p *plan) describeRow(row []any) string {
	parts := make([]string, 0, len(p.key))
	for _, i := range p.key {
		parts = append(parts, fmt.Sprintf("%s = %.100q", p.columns[i], fmt.Sprint(row[i])))
	}
	if len(parts) == 0 {
		return "one of a table without a key"
	}
	return strings.Join(parts, ", ")
}
