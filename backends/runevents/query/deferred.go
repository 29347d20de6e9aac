package query

import (
	"slices"
	"strings"
)

// deferred tells whether rows are put in order before their lists are read: SQLite keeps
// all columns of what it sorts, the events, logs and metrics of reports among them.
// PostgreSQL puts off what is dear on a page, and sorts the rest on the disk.
func (s *scope) deferred() bool {
	expanded := func(col column) bool { return col.field.kind == typeExpanded }
	return !s.c.postgres() && s.q.entity.name == "reports" && len(s.q.order) > 0 && (len(s.q.columns) == 0 || slices.ContainsFunc(s.q.columns, expanded))
}

// after writes the SELECT of the items for rows that were put in order before. SQLite
// takes tables that are crossed one after another, and rows of an ordered SELECT with a
// limit in its order.
func (s *scope) after(items []string) string {
	alias := s.q.entity.alias
	first := s.c.open(s.q)
	ids := first.plain([]string{first.column(alias, "id") + " AS id"})
	if s.q.limit == 0 && s.q.offset == 0 {
		ids += " LIMIT -1"
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + ids + ") p CROSS JOIN " + strings.ReplaceAll(s.from(), " JOIN ", " CROSS JOIN ") +
		" WHERE " + s.column(alias, "id") + " = p.id"
}
