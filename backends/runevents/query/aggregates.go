package query

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
)

// maxGroupColumns limits the number of columns by which groupedEvents groups events. With more columns, a group would
// contain too few events.
const maxGroupColumns = 2

// eventColumns returns the columns of the table of events that the columns and the group_by clause of an aggregate
// query depend on. For a field of a joined table, that is the column with the ID of the joined row. ok is false if
// events cannot be grouped by these columns before they are aggregated: the query is not for events, there are more
// than maxGroupColumns, or the time of an event is needed more exactly than to the hour.
func (q *query) eventColumns() (columns []string, ok bool) {
	e := q.entity
	if e.name != "events" {
		return nil, false
	}
	for _, col := range slices.Concat(q.columns, q.group) {
		f := col.field
		if f == nil || f.alwaysNull {
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

// groupedEvents returns a subquery, with joins, that replaces the table of events in the FROM clause. The subquery has
// one row, with the columns and the aggregates, for each group of events that agree in the columns; the time, "at",
// becomes the beginning of its hour. Events are thus grouped before shared texts are looked up, often along an index.
func (s *selectCompiler) groupedEvents(columns, aggregates []string) string {
	base := s.q.entity.alias
	// The subquery contains the condition of the query and joins the tables that the condition needs.
	inner := &selectCompiler{
		c: s.c, q: s.q, suffix: s.suffix, joined: make(map[string]bool), narrow: s.narrow, latest: s.latest,
	}
	group := make([]string, len(columns))
	items := make([]string, len(columns))
	for i, column := range columns {
		group[i] = inner.column(base, column)
		if column == "at" {
			group[i] = hourStart(group[i])
		}
		items[i] = group[i] + " AS " + column
	}
	whereClause := inner.where() // must be called before the method from, which joins the tables that the condition uses
	return "(SELECT " + strings.Join(slices.Concat(items, aggregates), ", ") + " FROM " + inner.from() + whereClause +
		" GROUP BY " + strings.Join(group, ", ") + ") " + base + s.suffix + s.joins()
}

// aggregates returns SQL aggregates over rows. If grouped is true, each row represents as many events as its column n
// says; otherwise it represents one event.
type aggregates struct{ grouped, postgres bool }

// rows returns the SQL expression of the number of events.
func (s aggregates) rows() string {
	if s.grouped {
		return "CAST(COALESCE(SUM(n), 0) AS BIGINT)"
	}
	return "COUNT(*)"
}

// count returns the number of events for which value, an SQL expression, is not null.
func (s aggregates) count(value string) string {
	if s.grouped {
		return "CAST(COALESCE(SUM(CASE WHEN " + value + " IS NOT NULL THEN n ELSE 0 END), 0) AS BIGINT)"
	}
	return "COUNT(" + value + ")"
}

// integer returns a sum of integers. PostgreSQL fails if the sum exceeds 64 bits. SQLite fails, too, or returns a
// double if a product exceeds 64 bits.
func (s aggregates) integer(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS BIGINT)"
	}
	return "SUM(" + s.times(value) + ")"
}

// double returns a sum as a double, which cannot overflow.
func (s aggregates) double(value string) string {
	if s.postgres {
		return "CAST(SUM(" + s.times(value) + ") AS DOUBLE PRECISION)"
	}
	return "TOTAL(" + s.times(value) + ")"
}

// times returns the SQL expression of value, multiplied by the number of events if a row represents several.
func (s aggregates) times(value string) string {
	switch {
	case !s.grouped:
		return value
	case s.postgres:
		return "CAST(" + value + " AS NUMERIC) * n"
	}
	return value + " * n"
}
