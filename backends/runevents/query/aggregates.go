package query

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
)

// maxGroupColumns limits the number of columns by which events are condensed. With more columns, a group would contain
// too few events.
const maxGroupColumns = 2

// groupColumns returns the columns of the events that the columns and groups of an aggregate need. ok is false if the
// events cannot be condensed by these columns: there are more than maxGroupColumns, or the time is needed more exactly
// than to the hour.
func (q *query) groupColumns() (columns []string, ok bool) {
	e := q.entity
	if e.name != "events" {
		return nil, false
	}
	for _, col := range slices.Concat(q.columns, q.group) {
		f := col.field
		if f == nil || f.unknowable {
			continue
		}
		column := f.column
		if j := e.join(f.alias); j != nil {
			column = j.key
		}
		if column == "at" && (col.function != "to_string" || !tochar.Hourly(col.template)) {
			return nil, false
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	return columns, len(columns) <= maxGroupColumns
}

// condensed returns a subquery that replaces the table of events. It has one row, with the aggregates, for each group
// of events that agree in the columns. Events are thus grouped before shared texts are looked up, often along an index.
func (s *scope) condensed(columns, aggregates []string) string {
	base := s.q.entity.alias
	in := &scope{c: s.c, q: s.q, suffix: s.suffix, joined: make(map[string]bool), narrow: s.narrow, latest: s.latest}
	group := make([]string, len(columns))
	items := make([]string, len(columns))
	for i, column := range columns {
		group[i] = in.column(base, column)
		if column == "at" {
			group[i] = hourStart(group[i])
		}
		items[i] = group[i] + " AS " + column
	}
	where := in.where()
	return "(SELECT " + strings.Join(slices.Concat(items, aggregates), ", ") + " FROM " + in.from() + where +
		" GROUP BY " + strings.Join(group, ", ") + ") " + base + s.suffix + s.joins()
}

// sums returns SQL aggregates over rows. If grouped is set, each row represents n events.
type sums struct{ grouped, postgres bool }

func (s sums) rows() string {
	if s.grouped {
		return "CAST(COALESCE(SUM(n), 0) AS BIGINT)"
	}
	return "COUNT(*)"
}

func (s sums) count(value string) string {
	if s.grouped {
		return "CAST(COALESCE(SUM(CASE WHEN " + value + " IS NOT NULL THEN n ELSE 0 END), 0) AS BIGINT)"
	}
	return "COUNT(" + value + ")"
}

// integer returns a sum of integers. PostgreSQL fails if the sum exceeds 64 bits. SQLite fails, too, or returns a
// double if a product exceeds 64 bits.
func (s sums) integer(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS BIGINT)"
	}
	return "SUM(" + s.times(value) + ")"
}

// double returns a sum as a double, which cannot overflow.
func (s sums) double(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS DOUBLE PRECISION)"
	}
	return "TOTAL(" + s.times(value) + ")"
}

// times returns the SQL expression of value, multiplied by the number of events if a row represents several.
func (s sums) times(value string) string {
	switch {
	case !s.grouped:
		return value
	case s.postgres:
		return "CAST(" + value + " AS NUMERIC) * n"
	}
	return value + " * n"
}
