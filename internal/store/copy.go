package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	sqlitedriver "modernc.org/sqlite"
)

// The functions of this file serve backups. None of them needs Start.

// File returns the absolute path of a SQLite database's file, or "" on PostgreSQL.
func (db *DB) File() string {
	if s, ok := db.engine.(*sqlite); ok {
		return s.options.Path
	}
	return ""
}

// Connect opens a separate connection to a PostgreSQL server and returns an error on SQLite. The caller closes it.
func (db *DB) Connect(ctx context.Context) (*pgx.Conn, error) {
	p, ok := db.engine.(*postgres)
	if !ok {
		return nil, errors.New("store: a SQLite database has no server to connect to")
	}
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, fmt.Errorf("connecting to postgres: %w", err)
	}
	return conn, nil
}

// MigrateTo migrates each schema to its version in the map versions, which is keyed by schema name. Schemas without a
// version, or with version 0, are left out.
func (db *DB) MigrateTo(ctx context.Context, schemas []Schema, versions map[string]int64) error {
	var targets []*schema
	for _, s := range schemas {
		version, ok := versions[s.Name]
		if !ok || version == 0 {
			continue
		}
		checked, err := newSchema(s, db.dialect)
		if err != nil {
			return fmt.Errorf("schema %q: %w", s.Name, err)
		}
		checked.until = version
		targets = append(targets, checked)
	}
	return db.engine.migrate(ctx, targets)
}

// Latest returns the number of the last migration for an engine.
func (s Schema) Latest(d Dialect) (latest int64, err error) {
	err = s.each(d, func(number int64, _ []byte) { latest = max(latest, number) })
	return latest, err
}

// createsTable matches a statement that makes a table or gives it another name. Group 1 is the table's name.
var createsTable = regexp.MustCompile(`(?mi)^\s*(?:CREATE TABLE(?: IF NOT EXISTS)?|ALTER TABLE \w+ RENAME TO) (\w+)`)

// Tables returns the sorted names of all tables that the migrations for an engine create, including tables that later
// migrations remove.
func (s Schema) Tables(d Dialect) (names []string, err error) {
	err = s.each(d, func(_ int64, text []byte) {
		for _, match := range createsTable.FindAllSubmatch(text, -1) {
			names = append(names, string(match[1]))
		}
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// each calls fn for each migration for an engine, with the migration's number and text.
func (s Schema) each(d Dialect, fn func(number int64, text []byte)) error {
	checked, err := newSchema(s, d)
	if err != nil {
		return fmt.Errorf("schema %q: %w", s.Name, err)
	}
	for _, file := range checked.files {
		text, err := readMigration(checked.Migrations, file)
		if err != nil {
			return err
		}
		number, err := versionOf(file)
		if err != nil {
			return err
		}
		fn(number, text)
	}
	return nil
}

// ForeignKey is a foreign key on PostgreSQL. It is dropped while rows are inserted in arbitrary order.
type ForeignKey struct{ Table, Name, Definition string }

// Drop returns the statement that removes the foreign key.
func (k ForeignKey) Drop() string {
	return "ALTER TABLE " + pgx.Identifier{k.Table}.Sanitize() + " DROP CONSTRAINT " + pgx.Identifier{k.Name}.Sanitize()
}

// Add returns the statement that adds the foreign key again, which checks all rows.
func (k ForeignKey) Add() string {
	return "ALTER TABLE " + pgx.Identifier{k.Table}.Sanitize() + " ADD CONSTRAINT " +
		pgx.Identifier{k.Name}.Sanitize() + " " + k.Definition
}

// schemaPrefix begins the names of the tables that hold the versions of schemas.
const schemaPrefix = "schema_"

// Versions returns the version of each schema in a database, keyed by the schema's name. It runs its queries with
// query, which calls scan for each row.
func Versions(d Dialect, query func(sql string, scan func(r Row) error) error) (map[string]int64, error) {
	tables := `SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) = 'schema_'`
	if d == Postgres { // another application may have a table with such a name
		tables = `SELECT relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'version_id'
			WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND starts_with(relname, 'schema_')`
	}
	versions := make(map[string]int64)
	err := query(tables, func(r Row) error {
		var name string
		err := r.Scan(&name)
		name = strings.TrimPrefix(name, schemaPrefix)
		if schemaName.MatchString(name) {
			versions[name] = 0
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing schemas: %w", err)
	}
	for name := range versions {
		err := query("SELECT coalesce(max(version_id), 0) FROM "+schemaPrefix+name, func(r Row) error {
			var version int64
			err := r.Scan(&version)
			versions[name] = version
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("reading the version of schema %q: %w", name, err)
		}
	}
	return versions, nil
}

// copyPages is how many pages are copied between two checks of the context.
const copyPages = 256

// CopySQLite copies a database to a new file, while others may write to the database. The copy has the state of the
// database at one moment after the call has begun, and is a single file that only its owner can read. progress is
// called with the number of bytes copied since its last call.
func CopySQLite(ctx context.Context, srcFile, dstFile string, progress func(bytes int64)) (err error) {
	source, err := openSingle(fileURI(srcFile) + "?" + url.Values{
		"mode": {"ro"}, "_busy_timeout": {"5000"}, "_error_rc": {"true"},
	}.Encode())
	if err != nil {
		return fmt.Errorf("opening %s: %w", srcFile, err)
	}
	defer func() { _ = source.Close() }()
	if err := touch(dstFile); err != nil {
		return err
	}
	conn, err := source.Conn(ctx)
	if err != nil {
		return fmt.Errorf("opening %s: %w", srcFile, err)
	}
	defer func() { _ = conn.Close() }()
	// This transaction fixes the snapshot to copy. Without it, each change by another process would restart the copy.
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("reading %s: %w", srcFile, err)
	}
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	var tables, bytesPerPage int64 // the count of tables is not used, but reading it begins the snapshot
	if err := conn.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema), page_size FROM pragma_page_size").
		Scan(&tables, &bytesPerPage); err != nil {
		return fmt.Errorf("reading %s: %w", srcFile, err)
	}
	err = conn.Raw(func(driver any) error {
		return copyPagewise(ctx, driver.(backuper), fileURI(dstFile), func(pages int64) { progress(pages * bytesPerPage) })
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", srcFile, err)
	}
	return useRollbackJournal(ctx, dstFile)
}

// backuper is implemented by the connections of the SQLite driver.
type backuper interface {
	NewBackup(uri string) (*sqlitedriver.Backup, error)
}

// copyPagewise copies the database of a connection to the file with the given URI. progress is called with the number
// of pages copied since its last call.
func copyPagewise(ctx context.Context, src backuper, uri string, progress func(pages int64)) error {
	backup, err := src.NewBackup(uri)
	if err != nil {
		return err
	}
	reported := 0
	for more := true; more; {
		if err = ctx.Err(); err != nil {
			break
		}
		if more, err = backup.Step(copyPages); err != nil {
			break
		}
		copied := backup.PageCount() - backup.Remaining()
		progress(int64(copied - reported))
		reported = copied
	}
	return errors.Join(err, backup.Finish())
}

// useRollbackJournal sets the journal mode of a copy to a rollback journal, so that the copy consists of one file
// even while it is read.
func useRollbackJournal(ctx context.Context, file string) error {
	pool, err := openSingle(fileURI(file) + "?mode=rw&_error_rc=true")
	if err != nil {
		return err
	}
	var mode string
	err = pool.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
	if err == nil && mode != "delete" {
		err = fmt.Errorf("the journal mode of %s stays %q", file, mode)
	}
	return errors.Join(err, pool.Close())
}

// CheckSQLite runs SQLite's integrity check on a file that no process writes, such as a copy by CopySQLite. It returns
// the versions of the database's schemas by their names.
func CheckSQLite(ctx context.Context, file string) (versions map[string]int64, err error) {
	pool, err := openSingle(fileURI(file) + "?mode=ro&immutable=1&_error_rc=true")
	if err != nil {
		return nil, err
	}
	defer func() { _ = pool.Close() }()
	var result string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return nil, fmt.Errorf("checking %s: %w", file, err)
	}
	if result != "ok" {
		return nil, fmt.Errorf("the database %s is damaged: %s", file, result)
	}
	return Versions(SQLite, func(query string, scan func(r Row) error) error {
		return Each(ctx, pool, query, nil, scan)
	})
}

// openSingle returns a pool of one connection to a SQLite file.
func openSingle(uri string) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", uri)
	if err == nil {
		pool.SetMaxOpenConns(1)
	}
	return pool, err
}
