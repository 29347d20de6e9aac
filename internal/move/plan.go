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
	// words means that the column is a full-text index.
	words bool
}

// table is the description of a table in a database.
type table struct {
	name    string
	columns []column
	key     []string // columns of the primary key; nil if there is none
	// identity is the column whose numbers the database assigns, or "". It is determined only on PostgreSQL.
	identity string
	// divided is the column by which the table is partitioned, or "".
	divided string
}

func (t *table) column(name string) *column {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &t.columns[i]
}

// words reports whether the table is a full-text index.
func (t *table) words() bool {
	return slices.ContainsFunc(t.columns, func(c column) bool { return c.words })
}

// plan says how a table is copied.
type plan struct {
	name     string
	columns  []string
	kinds    []kind
	key      []int // indexes of the columns in the primary key of the source
	identity string
	divided  int // index of the column that partitions the table, or -1
	schema   *store.Schema
	rows     int64 // number of rows of the source at the beginning

	state          state
	earlier        bool // an earlier run copied a part of the table
	source, target sum  // digests of the source and of the target
}

func (p *plan) list() string { return strings.Join(p.columns, ", ") }

func (p *plan) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("table %s: %w", p.name, err)
	}
	return nil
}

// plan determines which tables to copy. It changes nothing, and returns an error if some content cannot be copied.
func (m *mover) plan(ctx context.Context) error {
	from, err := m.from.tables(ctx, m.schemas)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	to, err := m.to.tables(ctx, m.schemas)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	postgres := to
	if m.From.Dialect() == store.Postgres {
		postgres = from
	}
	schemas := make(map[string]*store.Schema)
	for i := range m.schemas {
		names, err := m.schemas[i].Tables(store.Postgres)
		if err != nil {
			return err
		}
		for _, name := range names {
			schemas[name] = &m.schemas[i]
		}
	}
	for name, t := range postgres {
		if s := schemas[name]; t.words() && (s == nil || s.Reindex == nil) {
			return fmt.Errorf("table %s is an index of words, and nothing is known that would make it anew", name)
		}
	}
	for name, t := range from {
		target := to[name]
		if target == nil {
			if !t.words() {
				err = m.from.checkEmpty(ctx, name)
			}
		} else {
			var p *plan
			if p, err = planOf(t, target, m.From.Dialect()); err == nil {
				p.schema = schemas[name]
				m.plans = append(m.plans, p)
				if p.divided >= 0 && (p.schema == nil || p.schema.Partition == nil) {
					err = fmt.Errorf("table %s has partitions, and nothing is known of them", name)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(m.plans, func(a, b *plan) int { return strings.Compare(a.name, b.name) })
	return m.count(ctx)
}

// checkEmpty returns an error if a table has rows. It is called for tables that the target does not have.
func (s *side) checkEmpty(ctx context.Context, name string) error {
	var n int64
	if err := s.row(ctx, "SELECT count(*) FROM "+name).Scan(&n); err != nil {
		return fmt.Errorf("table %s: %w", name, err)
	}
	if n > 0 {
		return fmt.Errorf("table %s has %d rows, and there is no such table on the other engine: nothing was copied", name, n)
	}
	return nil
}

// planOf returns the plan for copying a table. It returns an error if the columns differ between source and target. d
// is the source's engine.
func planOf(from, to *table, d store.Dialect) (*plan, error) {
	p := &plan{name: from.name, divided: -1}
	postgres := to
	if d == store.Postgres {
		postgres = from
	}
	p.identity = postgres.identity
	for _, c := range to.columns {
		if c.derived || c.words {
			continue
		}
		if source := from.column(c.name); source == nil || source.derived {
			return nil, fmt.Errorf("table %s: the column %s is on the target alone", from.name, c.name)
		}
		kind, err := kindOf(postgres.column(c.name).typ)
		if err != nil {
			return nil, fmt.Errorf("table %s: the column %s %w", from.name, c.name, err)
		}
		if c.name == to.divided {
			p.divided = len(p.columns)
		}
		p.columns, p.kinds = append(p.columns, c.name), append(p.kinds, kind)
	}
	for _, c := range from.columns {
		if !c.derived && !c.words && to.column(c.name) == nil {
			return nil, fmt.Errorf("table %s: the column %s is on the source alone", from.name, c.name)
		}
	}
	for _, name := range from.key {
		i := slices.Index(p.columns, name)
		if i < 0 { // a key column is not copied: proceed as without a key
			p.key = nil
			break
		}
		p.key = append(p.key, i)
	}
	return p, nil
}
