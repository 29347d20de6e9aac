package query

import "strings"

// window is distinct_resources: the youngest event of each resource in a time.
type window struct {
	start, end int64
	latest     []*latestExpr // that limit the rows before they are compared
}

// youngest writes the youngest event of each resource's property within the
// window, in the place of all events. Resources of a node none of whose events
// in the window match the query are left out before that: whichever of them is
// the youngest, the query would refuse it.
func (s *scope) youngest(w *window) string {
	start, end := s.c.arg(w.start), s.c.arg(w.end)
	bounds := []string{"a.at BETWEEN " + start + " AND " + end}
	for _, l := range w.latest {
		bounds = append(bounds, latest("a.report", l.truth))
	}
	matching := ""
	if s.q.where != nil {
		m := s.c.open(s.q)
		resource := m.column("e", "node") + " AS node, " + m.column("s", "type") + " AS type, " + m.column("s", "title") + " AS title"
		where := m.where() + " AND " + m.column("e", "at") + " BETWEEN " + start + " AND " + end
		matching = "WITH matching AS MATERIALIZED (SELECT DISTINCT " + resource + " FROM " + m.from() + where + ") "
		bounds = append(bounds,
			// The index of resources finds what the second bound then looks at.
			"a.resource IN (SELECT x.id FROM run_resources x WHERE x.title IN (SELECT title FROM matching))",
			"(a.node, b.type, b.title) IN (SELECT node, type, title FROM matching)")
	}
	return "(" + matching + "SELECT * FROM (SELECT a.at, a.report, a.seq, a.node, a.resource, a.change, a.status, a.corrective_change," +
		" RANK() OVER (PARTITION BY a.node, b.type, b.title, d.property, d.name ORDER BY a.at DESC) AS place" +
		" FROM run_events a JOIN run_resources b ON b.id = a.resource JOIN run_changes d ON d.id = a.change" +
		" WHERE " + strings.Join(bounds, " AND ") + ") ranked WHERE place = 1) e"
}
