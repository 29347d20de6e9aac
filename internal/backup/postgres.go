package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// tablesOf returns the sorted names of the tables of schemas that exist in a database.
func tablesOf(ctx context.Context, conn *pgx.Conn, schemas []store.Schema) ([]string, error) {
	var names []string
	for _, s := range schemas {
		tables, err := s.Tables(store.Postgres)
		if err != nil {
			return nil, err
		}
		names = append(names, tables...)
	}
	return list[string](ctx, conn, `SELECT relname::text FROM pg_class
		WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace AND relname = ANY($1) ORDER BY relname COLLATE "C"`, names)
}

// list returns the values of a query's first column.
func list[T any](ctx context.Context, conn *pgx.Conn, query string, args ...any) ([]T, error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// versionsOf returns the versions of the schemas in a database, by the schemas' names.
func versionsOf(ctx context.Context, conn *pgx.Conn) (map[string]int64, error) {
	return store.Versions(store.Postgres, func(query string, scan func(r store.Row) error) error {
		rows, err := conn.Query(ctx, query)
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
	})
}

// checkKnown returns an error if a version is newer than the program's, or belongs to a schema that the program does
// not know.
func checkKnown(versions map[string]int64, schemas []store.Schema, d store.Dialect) error {
	for name, version := range versions {
		i := slices.IndexFunc(schemas, func(s store.Schema) bool { return s.Name == name })
		if i < 0 {
			return fmt.Errorf(
				"it has the tables %q, which this program does not know: use the version that created them, or a newer one", name)
		}
		latest, err := schemas[i].Latest(d)
		if err != nil {
			return err
		}
		if version > latest {
			return fmt.Errorf(
				"its tables %q have version %d, which is newer than this program's %d: use the version that created them, or a newer one",
				name, version, latest)
		}
	}
	return nil
}

// sizeOfPostgres returns the size in bytes of all tables in a database.
func sizeOfPostgres(ctx context.Context, db *store.DB) (size int64, err error) {
	conn, err := db.Connect(ctx)
	if err != nil {
		return 0, err
	}
	defer closeConn(ctx, conn)
	err = conn.QueryRow(ctx,
		"SELECT coalesce(sum(pg_table_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace").Scan(&size)
	return size, err
}

// closeConn closes a connection, even if ctx has ended.
func closeConn(ctx context.Context, conn *pgx.Conn) { _ = conn.Close(context.WithoutCancel(ctx)) }

// postgres copies the rows of all tables as one snapshot sees them. It sets the schemas and tables of c.
func (w *writer) postgres(ctx context.Context, db *store.DB, schemas []store.Schema, c *DatabaseCopy) error {
	conn, err := db.Connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	tables, err := tablesOf(ctx, conn, schemas)
	if err != nil || len(tables) == 0 {
		return err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// Lock the tables before the first query takes the snapshot: until the end of the transaction the tables, their
	// columns and their partitions do not change.
	if _, err := tx.Exec(ctx, "LOCK TABLE "+strings.Join(tables, ", ")+" IN ACCESS SHARE MODE"); err != nil {
		return fmt.Errorf("locking the tables against changes of their columns: %w", err)
	}
	if c.Schemas, err = versionsOf(ctx, conn); err != nil {
		return err
	}
	if err := checkKnown(c.Schemas, schemas, store.Postgres); err != nil {
		return err
	}
	for _, name := range tables {
		t := Table{Name: name}
		if err := t.describe(ctx, conn); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		err := w.create(ctx, c.rows(&t), func(dst io.Writer) error {
			// COPY refuses partitioned tables, so a query is copied.
			tag, err := conn.PgConn().CopyTo(ctx, dst, "COPY (SELECT "+quoted(t.Columns)+" FROM "+name+") TO STDOUT")
			t.Rows = tag.RowsAffected()
			return err
		})
		if err != nil {
			return err
		}
		c.Tables = append(c.Tables, t)
	}
	return nil
}

// bounds matches the bounds of a partition for a range of numbers.
var bounds = regexp.MustCompile(`^FOR VALUES FROM \('?(-?[0-9]+)'?\) TO \('?(-?[0-9]+)'?\)$`)

// describe reads the columns, partitions and sequences of a table.
func (t *Table) describe(ctx context.Context, conn *pgx.Conn) (err error) {
	t.Columns, err = list[string](ctx, conn, `SELECT attname::text FROM pg_attribute
		WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, t.Name)
	if err != nil {
		return err
	}
	rows, err := conn.Query(ctx, `SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
		WHERE i.inhparent = $1::text::regclass ORDER BY c.relname COLLATE "C"`, t.Name)
	if err != nil {
		return err
	}
	t.Partitions, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Partition, err error) {
		var text string
		if err := row.Scan(&p.Name, &text); err != nil {
			return p, err
		}
		match := bounds.FindStringSubmatch(text)
		if match == nil {
			return p, fmt.Errorf("the bounds of the partition %s are not a range of numbers: %s", p.Name, text)
		}
		p.From, err = strconv.ParseInt(match[1], 10, 64)
		if err == nil {
			p.Until, err = strconv.ParseInt(match[2], 10, 64)
		}
		return p, err
	})
	if err != nil {
		return err
	}
	for _, column := range t.Columns {
		s := Sequence{Column: column}
		var sequence *string
		if err := conn.QueryRow(ctx, "SELECT pg_get_serial_sequence($1, $2)", t.Name, column).Scan(&sequence); err != nil {
			return err
		}
		if sequence == nil {
			continue // no sequence belongs to the column
		}
		if err := conn.QueryRow(ctx, "SELECT last_value, is_called FROM "+*sequence).Scan(&s.Last, &s.Called); err != nil {
			return err
		}
		t.Sequences = append(t.Sequences, s)
	}
	return nil
}

// quoted returns the names of columns as a list for an SQL statement.
func quoted(columns []string) string {
	list := make([]string, len(columns))
	for i, column := range columns {
		list[i] = pgx.Identifier{column}.Sanitize()
	}
	return strings.Join(list, ", ")
}

// postgresTarget is a PostgreSQL database into which a copy is restored. Until finish is called, the database has a
// mark that keeps servers from opening it.
type postgresTarget struct {
	db     *store.DB
	copied *DatabaseCopy
	backup string // digest of the backup's manifest
	marked bool   // an earlier, unfinished restore of this backup has set the mark; the method look sets this field
	loaded bool   // that restore has loaded the rows; set by look
}

// look returns an error if the database is not empty, unless an unfinished restore of the same backup has filled it.
func (t *postgresTarget) look(ctx context.Context) error {
	conn, err := t.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", store.RestoringTable).Scan(&t.marked); err != nil {
		return err
	}
	if t.marked {
		var backup string
		err := conn.QueryRow(ctx, "SELECT backup, loaded FROM "+store.RestoringTable).Scan(&backup, &t.loaded)
		if err == nil && backup != t.backup {
			err = errors.New("a restore of another backup into it was not finished: start again with an empty database")
		}
		return err
	}
	// Tables made by extensions are ignored.
	tables, err := list[string](ctx, conn, `SELECT relname::text FROM pg_class c
		WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY relname LIMIT 1`)
	if err == nil && len(tables) > 0 {
		err = fmt.Errorf("it is not empty, it has the table %s: restore the backup to an empty database", tables[0])
	}
	return err
}

// prepare creates the tables and restores their rows.
func (t *postgresTarget) prepare(ctx context.Context, r *restorer) error {
	if t.loaded {
		return nil
	}
	conn, err := t.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if !t.marked {
		// Several statements at once can have no parameters. t.backup is a digest in hexadecimal digits.
		_, err := conn.Exec(ctx, "BEGIN; CREATE TABLE "+store.RestoringTable+
			" (backup TEXT NOT NULL, loaded BOOLEAN NOT NULL); INSERT INTO "+
			store.RestoringTable+" VALUES ('"+t.backup+"', false); COMMIT")
		if err != nil {
			return fmt.Errorf("marking the database: %w", err)
		}
	}
	if err := t.db.MigrateTo(ctx, r.state.Schemas, t.copied.Schemas); err != nil {
		return err
	}
	if err := t.load(ctx, conn, r); err != nil {
		return err
	}
	// ANALYZE gives the first queries good plans, because the server would run it only later.
	for i := range t.copied.Tables {
		if _, err := conn.Exec(ctx, "ANALYZE "+t.copied.Tables[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// foreignKeys returns the foreign keys of tables, except those that partitions inherit.
func foreignKeys(ctx context.Context, conn *pgx.Conn, tables []string) ([]store.ForeignKey, error) {
	rows, err := conn.Query(ctx, `SELECT c.relname::text, k.conname::text, pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
		WHERE k.contype = 'f' AND k.conparentid = 0 AND c.relnamespace = current_schema()::regnamespace AND c.relname = ANY($1) ORDER BY c.relname, k.conname`, tables)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[store.ForeignKey])
}

// load deletes the rows that migrations have inserted and inserts the rows of the backup. It does so in one
// transaction, to which all statements on conn belong.
func (t *postgresTarget) load(ctx context.Context, conn *pgx.Conn, r *restorer) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	tables, err := tablesOf(ctx, conn, r.state.Schemas)
	if err != nil {
		return err
	}
	var copied []string
	for i := range t.copied.Tables {
		copied = append(copied, t.copied.Tables[i].Name)
	}
	if !slices.Equal(tables, slices.Sorted(slices.Values(copied))) {
		return fmt.Errorf("the backup has the tables %q, but the migrations to its versions have created %q", copied, tables)
	}
	if len(tables) == 0 {
		return nil
	}
	// Rows are inserted in arbitrary order, so foreign keys are checked at the end.
	keys, err := foreignKeys(ctx, conn, tables)
	if err != nil {
		return err
	}
	var statements []string
	for _, k := range keys {
		statements = append(statements, k.Drop())
	}
	statements = append(statements, "TRUNCATE "+strings.Join(tables, ", "))
	for i := range t.copied.Tables {
		table := &t.copied.Tables[i]
		for _, p := range table.Partitions {
			statements = append(statements,
				fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s PARTITION OF %s FOR VALUES FROM (%d) TO (%d)",
					p.Name, table.Name, p.From, p.Until))
		}
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	for i := range t.copied.Tables {
		if err := t.fill(ctx, conn, r, &t.copied.Tables[i]); err != nil {
			return fmt.Errorf("table %s: %w", t.copied.Tables[i].Name, err)
		}
	}
	for _, k := range keys {
		if _, err := tx.Exec(ctx, k.Add()); err != nil {
			return fmt.Errorf("table %s: %w", k.Table, err)
		}
	}
	if _, err := tx.Exec(ctx, "UPDATE "+store.RestoringTable+" SET loaded = true"); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// fill copies the rows of a table from the backup to the database.
func (t *postgresTarget) fill(ctx context.Context, conn *pgx.Conn, r *restorer, table *Table) error {
	file, err := r.open(t.copied.rows(table))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	count := &counter{ctx: ctx, progress: r.progress}
	tag, err := conn.PgConn().CopyFrom(ctx, io.TeeReader(file, count),
		"COPY "+table.Name+" ("+quoted(table.Columns)+") FROM STDIN")
	if err != nil {
		return err
	}
	if tag.RowsAffected() != table.Rows {
		return fmt.Errorf("only %d of %d rows were stored", tag.RowsAffected(), table.Rows)
	}
	for _, s := range table.Sequences {
		if _, err := conn.Exec(ctx, "SELECT setval(pg_get_serial_sequence($1, $2), $3, $4)",
			table.Name, s.Column, s.Last, s.Called); err != nil {
			return fmt.Errorf("setting the sequence of the column %s: %w", s.Column, err)
		}
	}
	return nil
}

// finish removes the mark that keeps servers away.
func (t *postgresTarget) finish(ctx context.Context) error {
	conn, err := t.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	_, err = conn.Exec(ctx, "DROP TABLE "+store.RestoringTable)
	return err
}

func (*postgresTarget) close() {}
