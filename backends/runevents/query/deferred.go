package query

import (
	"slices"
	"strings"
)

// sortsIDsFirst reports whether rows must be sorted before their lists (events, logs and metrics of reports) are read;
// see sortIDsFirst. SQLite keeps all columns of the rows that it sorts, including these lists. PostgreSQL evaluates
// expensive columns after the sort if there is a limit, and otherwise sorts on disk.
func (s *selectCompiler) sortsIDsFirst() bool {
	expanded := func(col column) bool { return col.field.kind == typeExpanded }
	return !s.c.postgres() && s.q.entity.name == "reports" && len(s.q.order) > 0 &&
		(len(s.q.columns) == 0 || slices.ContainsFunc(s.q.columns, expanded))
}

// sortIDsFirst returns a SELECT of the items in which a subquery selects and sorts the IDs of the rows, before the
// items are read. SQLite joins cross-joined tables in the given order, and keeps the order of a subquery with a limit.
func (s *selectCompiler) sortIDsFirst(items []string) string {
	alias := s.q.entity.alias
	sortIDs := s.c.newSelect(s.q)
	ids := sortIDs.selectRows([]string{sortIDs.column(alias, "id") + " AS id"})
	if s.q.limit == 0 && s.q.offset == 0 {
		ids += " LIMIT -1" // no limit, but SQLite keeps the order
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + ids + ") p CROSS JOIN " +
		strings.ReplaceAll(s.from(), " JOIN ", " CROSS JOIN ") +
		" WHERE " + s.column(alias, "id") + " = p.id"
}
