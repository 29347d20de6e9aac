package query

import (
	"slices"
	"strings"
)

// deferred reports whether rows are sorted before their lists (events, logs and metrics of reports) are read. SQLite
// keeps all columns of the rows that it sorts, including these lists. PostgreSQL evaluates expensive columns after the
// sort if there is a limit, and otherwise sorts on disk.
func (s *scope) deferred() bool {
	expanded := func(col column) bool { return col.field.kind == typeExpanded }
	return !s.c.postgres() && s.q.entity.name == "reports" && len(s.q.order) > 0 &&
		(len(s.q.columns) == 0 || slices.ContainsFunc(s.q.columns, expanded))
}

// sortedFirst returns a SELECT of the items in which a subquery selects and sorts the IDs of the rows, before the items
// are read. SQLite joins cross-joined tables in the given order, and keeps the order of a subquery with a limit.
func (s *scope) sortedFirst(items []string) string {
	alias := s.q.entity.alias
	first := s.c.open(s.q)
	ids := first.plain([]string{first.column(alias, "id") + " AS id"})
	if s.q.limit == 0 && s.q.offset == 0 {
		ids += " LIMIT -1"
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + ids + ") p CROSS JOIN " +
		strings.ReplaceAll(s.from(), " JOIN ", " CROSS JOIN ") +
		" WHERE " + s.column(alias, "id") + " = p.id"
}
