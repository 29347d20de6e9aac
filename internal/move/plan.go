package move

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// column is a column of a table.
type column struct {
	name string
	typ  string // in the spelling of the engine, in lower case
	// derived means that the database computes the value from other columns.
	derived bool
	// fullText means that the column is a full-text index.
	fullText bool
}

// table is the description of a table in a database.
type table struct {
	name    string
	columns []column
	key     []string // columns of the primary key; nil if there is none
	// identity is the column whose numbers the database assigns, or "". It is determined only on PostgreSQL.
	identity string
	// partitionedBy is the column by which the table is partitioned, or "".
	partitionedBy string
}

// column returns the column with a name, or nil.
func (t *table) column(name string) *column {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &t.columns[i]
}

// isFullText reports whether the table is a full-text index.
func (t *table) isFullText() bool {
	return slices.ContainsFunc(t.columns, func(c column) bool { return c.fullText })
}

// plan says how a table is copied.
type plan struct {
	name     string
	columns  []string
	kinds    []kind
	key      []int         // indexes of the columns in the primary key of the source
	identity string        // see table.identity
	schema   *store.Schema // nil if no schema has the table
	rows     int64         // number of rows of the source at the beginning

	partitionedBy int // index of the column by which the target is partitioned, or -1

	state          state // as recorded in the target
	earlier        bool  // an earlier run copied a part of the table
	source, target sum   // digests of the source and of the target
}

// list returns the columns as a list for SQL.
func (p *plan) list() string { return strings.Join(p.columns, ", ") }

// wrap adds the name of the table to an error. It returns nil for nil.
func (p *plan) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("table %s: %w", p.name, err)
	}
	return nil
}

// plan determines which tables to copy. It changes nothing, and returns an error if some content cannot be copied.
func (m *mover) plan(ctx context.Context) error {
	sourceTables, err := m.from.tables(ctx, m.schemas)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	targetTables, err := m.to.tables(ctx, m.schemas)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	postgres := targetTables
	if m.From.Dialect() == store.Postgres {
		postgres = sourceTables
	}
	schemas, err := m.schemasByTable()
	if err != nil {
		return err
	}
	for name, t := range postgres {
		if s := schemas[name]; t.isFullText() && (s == nil || s.Reindex == nil) {
			return fmt.Errorf("table %s is a full-text index that no schema of this program can rebuild", name)
		}
	}
	for name, t := range sourceTables {
		target := targetTables[name]
		if target == nil { // a table that only the source's engine has
			if !t.isFullText() { // a full-text index is rebuilt
				if err := m.from.checkEmpty(ctx, name); err != nil {
					return err
				}
			}
			continue
		}
		p, err := planOf(t, target, m.From.Dialect())
		if err != nil {
			return err
		}
		p.schema = schemas[name]
		if p.partitionedBy >= 0 && (p.schema == nil || p.schema.Partition == nil) {
			return fmt.Errorf("table %s is partitioned, but no schema of this program describes its partitions", name)
		}
		m.plans = append(m.plans, p)
	}
	slices.SortFunc(m.plans, func(a, b *plan) int { return strings.Compare(a.name, b.name) })
	return m.count(ctx)
}

// schemasByTable returns the schemas by the names of their tables on PostgreSQL.
func (m *mover) schemasByTable() (map[string]*store.Schema, error) {
	schemas := make(map[string]*store.Schema)
	for i := range m.schemas {
		names, err := m.schemas[i].Tables(store.Postgres)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			schemas[name] = &m.schemas[i]
		}
	}
	return schemas, nil
}

// checkEmpty returns an error if a table has rows. It is called for tables that the target does not have.
func (s *side) checkEmpty(ctx context.Context, name string) error {
	var n int64
	if err := s.row(ctx, "SELECT count(*) FROM "+name).Scan(&n); err != nil {
		return fmt.Errorf("table %s: %w", name, err)
	}
	if n > 0 {
		return fmt.Errorf("table %s has %d rows, but the other engine has no such table: nothing was copied", name, n)
	}
	return nil
}

// planOf returns the plan for copying the table src to the table dst. It returns an error if their columns differ. d
// is the engine of src.
func planOf(src, dst *table, d store.Dialect) (*plan, error) {
	p := &plan{name: src.name, partitionedBy: -1}
	postgres := dst
	if d == store.Postgres {
		postgres = src
	}
	p.identity = postgres.identity
	for _, c := range dst.columns {
		if c.derived || c.fullText {
			continue
		}
		if source := src.column(c.name); source == nil || source.derived {
			return nil, fmt.Errorf("table %s: only the target has the column %s", src.name, c.name)
		}
		kind, err := kindOf(postgres.column(c.name).typ)
		if err != nil {
			return nil, fmt.Errorf("table %s: the column %s %w", src.name, c.name, err)
		}
		if c.name == dst.partitionedBy {
			p.partitionedBy = len(p.columns)
		}
		p.columns, p.kinds = append(p.columns, c.name), append(p.kinds, kind)
	}
	for _, c := range src.columns {
		if !c.derived && !c.fullText && dst.column(c.name) == nil {
			return nil, fmt.Errorf("table %s: only the source has the column %s", src.name, c.name)
		}
	}
	for _, name := range src.key {
		i := slices.Index(p.columns, name)
		if i < 0 { // a key column is not copied: proceed as without a key
			p.key = nil
			break
		}
		p.key = append(p.key, i)
	}
	return p, nil
}
