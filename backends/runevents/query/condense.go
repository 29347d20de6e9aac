package query

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
)

// maxNumbers limits the columns by which events are condensed: with more columns, the groups contain too few events
// to be useful.
const maxNumbers = 2

// numbers returns the columns of an event on which the columns and groups of an aggregate depend. It reports
// whether the events can be grouped by them: all must be IDs of shared values, or the hour, and there must be at
// most maxNumbers.
func (q *query) numbers() (columns []string, ok bool) {
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
	return columns, len(columns) <= maxNumbers
}

// condensed returns a subquery in place of the table of events, with one row for all events that agree in the
// columns, and aggregates of each group. Events are grouped before shared texts are looked up, often along an
// index.
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

// sums writes aggregates over rows or, if grouped, over groups of n rows.
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

// integer returns a sum of integers. PostgreSQL fails if it exceeds 64 bits; SQLite fails or, if a product exceeds
// 64 bits, returns a double.
func (s sums) integer(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS BIGINT)"
	}
	return "SUM(" + s.times(value) + ")"
}

// double returns a sum as a double, which does not overflow.
func (s sums) double(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS DOUBLE PRECISION)"
	}
	return "TOTAL(" + s.times(value) + ")"
}

// times returns the value of a row, multiplied by the size of the group.
func (s sums) times(value string) string {
	switch {
	case !s.grouped:
		return value
	case s.postgres:
		return "CAST(" + value + " AS NUMERIC) * n"
	}
	return value + " * n"
}
