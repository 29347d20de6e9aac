package move

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// lockWait limits the wait for other writers' locks.
const lockWait = "5s"

const (
	// closingWait limits the wait for the connections of a server that has just stopped, because PostgreSQL lists them
	// for a moment longer.
	closingWait = 2 * time.Second
	closingPoll = 50 * time.Millisecond
)

// checkUnserved returns an error if a server has the database open. It recognises a server by the application_name of
// its connections, which is tollgate unless the server's DSN sets another name.
func checkUnserved(ctx context.Context, db *store.DB) error {
	conn, end, err := db.OpenConn(ctx)
	if err != nil {
		return err
	}
	defer end()
	for deadline := time.Now().Add(closingWait); ; {
		var n int
		err = conn.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = current_setting('application_name')`).Scan(&n)
		if err != nil {
			return fmt.Errorf("checking whether a server has the PostgreSQL database open: %w", err)
		}
		if n == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf(
				"the PostgreSQL database is in use: %d connections of servers or commands are open; stop all nodes first", n)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(closingPoll):
		}
	}
}

// lockPostgres locks the tables of the schemas against other writers, and takes a snapshot.
func (s *side) lockPostgres(ctx context.Context, schemas []store.Schema) error {
	tables, err := s.tables(ctx, schemas)
	if err == nil {
		err = s.exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	}
	if err == nil {
		err = s.exec(ctx, "SET LOCAL lock_timeout = '"+lockWait+"'")
	}
	if err == nil && len(tables) > 0 { // before the snapshot, which the first query takes
		err = s.exec(ctx, "LOCK TABLE "+strings.Join(slices.Sorted(maps.Keys(tables)), ", ")+" IN SHARE MODE")
	}
	if err != nil {
		return fmt.Errorf("locking the source against writers: %w", err)
	}
	return nil
}

// postgresTables returns descriptions of the existing tables whose names are in names.
func (s *side) postgresTables(ctx context.Context, names map[string]bool) (map[string]*table, error) {
	all := make(map[string]*table)
	// The second column is "-" for a table that is partitioned in another way than by a range of one column.
	err := s.all(ctx, `SELECT c.relname::text, COALESCE((SELECT a.attname::text FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
			WHERE p.partrelid = c.oid AND p.partstrat = 'r' AND p.partnatts = 1), CASE c.relkind WHEN 'p' THEN '-' ELSE '' END)
		FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = current_schema()::regnamespace`, nil, func(r store.Row) error {
		var t table
		err := r.Scan(&t.name, &t.partitionedBy)
		if names[t.name] {
			all[t.name] = &t
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.partitionedBy == "-" {
			return nil, fmt.Errorf("table %s cannot be moved: it is not partitioned by a range of one column", t.name)
		}
		err := s.all(ctx, `SELECT a.attname::text, t.typname::text, a.attgenerated <> '', pg_get_serial_sequence(quote_ident($1::text), a.attname::text) IS NOT NULL
			FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
			WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, []any{t.name}, func(r store.Row) error {
			var c column
			var identity bool
			err := r.Scan(&c.name, &c.typ, &c.derived, &identity)
			c.fullText = c.typ == "tsvector"
			if identity {
				t.identity = c.name
			}
			t.columns = append(t.columns, c)
			return err
		})
		if err == nil {
			err = s.all(ctx, `SELECT a.attname::text FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k (num, place)
				JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num WHERE i.indrelid = $1::text::regclass AND i.indisprimary ORDER BY k.place`, []any{t.name}, func(r store.Row) error {
				var name string
				err := r.Scan(&name)
				t.key = append(t.key, name)
				return err
			})
		}
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return all, nil
}

// lastPostgres returns the greatest number that the database has assigned in the column p.identity.
func (s *side) lastPostgres(ctx context.Context, p *plan) (last int64, err error) {
	var sequence string
	if err := s.row(ctx, "SELECT pg_get_serial_sequence(?, ?)", p.name, p.identity).Scan(&sequence); err != nil {
		return 0, err
	}
	err = s.row(ctx, "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM "+sequence).Scan(&last)
	return last, err
}

// setLastPostgres makes the numbers of new rows continue after the number last, or after the greatest number assigned
// in the target if that is greater.
func (s *side) setLastPostgres(ctx context.Context, p *plan, last int64) error {
	current, err := s.lastPostgres(ctx, p)
	if err != nil || last <= current {
		return err
	}
	return s.exec(ctx, "SELECT setval(pg_get_serial_sequence(?, ?), ?)", p.name, p.identity, last)
}

// insertPostgres inserts rows in the open transaction, and makes the partitions that they need.
func (s *side) insertPostgres(ctx context.Context, p *plan, rows [][]any) error {
	if p.partitionedBy >= 0 {
		if err := s.makePartitions(ctx, p, rows); err != nil {
			return err
		}
	}
	return s.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{p.name}, p.columns, pgx.CopyFromRows(rows))
		return err
	})
}

// makePartitions makes the partitions for rows that do not exist yet.
func (s *side) makePartitions(ctx context.Context, p *plan, rows [][]any) error {
	last := store.Partition{} // most rows follow a row of the same partition
	for _, row := range rows {
		key, ok := row[p.partitionedBy].(int64)
		if !ok {
			return fmt.Errorf("the column %s, by which the table is partitioned, has a value that is not a number",
				p.columns[p.partitionedBy])
		}
		if last.Name != "" && last.From <= key && key < last.Until {
			continue
		}
		last = p.schema.Partition(p.name, key, p.state.Oldest, p.state.Newest)
		err := s.exec(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s PARTITION OF %s FOR VALUES FROM (%d) TO (%d)",
			pgx.Identifier{last.Name}.Sanitize(), p.name, last.From, last.Until))
		if err != nil {
			return fmt.Errorf("making the partition %s: %w", last.Name, err)
		}
	}
	return nil
}

// openPostgresTarget marks the database and makes its tables.
func (m *mover) openPostgresTarget(ctx context.Context) error {
	if err := m.connect(ctx, m.To); err != nil {
		return err
	}
	var marked bool
	if err := m.to.row(ctx, "SELECT to_regclass(?) IS NOT NULL", store.MovingTable).Scan(&marked); err != nil {
		return err
	}
	if !marked {
		// Tables made by extensions are ignored.
		var names []string
		err := m.to.all(ctx, `SELECT relname::text FROM pg_class c
			WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace
				AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY relname LIMIT 1`, nil, func(r store.Row) error {
			var name string
			err := r.Scan(&name)
			names = append(names, name)
			return err
		})
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return fmt.Errorf("the database must be empty, but it has the table %s", names[0])
		}
		if err := m.to.inTransaction(ctx, func() error { return m.createMark(ctx) }); err != nil {
			return fmt.Errorf("marking the database: %w", err)
		}
	}
	versions, err := m.latestVersions(store.Postgres)
	if err == nil {
		err = m.To.MigrateTo(ctx, m.schemas, versions)
	}
	if err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	return nil
}

// dropKeys drops the foreign keys and returns them.
func (s *side) dropKeys(ctx context.Context) (keys []store.ForeignKey, err error) {
	err = s.all(ctx, `SELECT c.relname::text, k.conname::text, pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
		WHERE k.contype = 'f' AND k.conparentid = 0 AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname, k.conname`, nil, func(r store.Row) error {
		var k store.ForeignKey
		err := r.Scan(&k.Table, &k.Name, &k.Definition)
		keys = append(keys, k)
		return err
	})
	for _, k := range keys {
		if err == nil {
			err = s.exec(ctx, k.Drop())
		}
	}
	return keys, err
}

// finishPostgres restores the foreign keys, sets the sequences and removes the mark, in one transaction.
func (m *mover) finishPostgres(ctx context.Context) error {
	keys, err := m.droppedKeys(ctx)
	if err != nil {
		return err
	}
	if err := m.to.exec(ctx, "ANALYZE"); err != nil { // so that the first queries already have good plans
		return err
	}
	return m.to.inTransaction(ctx, func() error {
		for _, k := range keys {
			if err := m.to.exec(ctx, k.Add()); err != nil {
				return fmt.Errorf("table %s: %w", k.Table, err)
			}
		}
		if err := m.continueNumbers(ctx); err != nil {
			return err
		}
		return m.to.exec(ctx, "DROP TABLE "+store.MovingTable)
	})
}
