package query

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
)

// maxNumbers is how many numbers of an event make a group of events that is
// worth it: with more there are few events to a group.
const maxNumbers = 2

// numbers are the columns of an event that the columns and groups of an
// aggregate hang on, all of them numbers that stand for something shared, or the
// hour; ok tells whether that is so.
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

// condensed writes groups of events in the place of events: one row for those
// that agree in the columns, beside aggregates of the group. Numbers are
// grouped before any text is looked up, many of them along an index.
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

// sums writes aggregates over rows, or over groups of n rows.
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

// integer is the sum of integers. PostgreSQL fails where it is none of 64 bits;
// SQLite fails, or gives a double where a product is the first to be beyond.
func (s sums) integer(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS BIGINT)"
	}
	return "SUM(" + s.times(value) + ")"
}

// double is the sum as a double, which has no end.
func (s sums) double(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS DOUBLE PRECISION)"
	}
	return "TOTAL(" + s.times(value) + ")"
}

// times is the value of a row, or of all rows of a group.
func (s sums) times(value string) string {
	switch {
	case !s.grouped:
		return value
	case s.postgres:
		return "CAST(" + value + " AS NUMERIC) * n"
	}
	return value + " * n"
}
