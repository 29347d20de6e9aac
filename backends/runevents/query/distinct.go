package query

import "strings"

// window is the time span of distinct_resources, a parameter that selects the latest event of each resource.
type window struct {
	start, end int64
	latest     []*latestExpr // restrict the rows before they are compared
}

// youngest returns a subquery that replaces the table of events. It has the latest event of each property of a resource
// within the window. Resources without an event in the window that meets the query are dropped first, because their
// latest event would not meet the query either.
func (s *scope) youngest(w *window) string {
	within := " BETWEEN " + s.c.arg(w.start) + " AND " + s.c.arg(w.end)
	bounds := append(make([]string, 0, 1+len(w.latest)), "a.at"+within)
	for _, l := range w.latest {
		bounds = append(bounds, latest("a.report", l.truth))
	}
	const columns = "a.at, a.report, a.seq, a.node, a.resource, a.change, a.status, a.corrective_change"
	with, resource, from := "", "b.type, b.title",
		"run_events a JOIN run_resources b ON b.id = a.resource JOIN run_changes d ON d.id = a.change WHERE "+
			strings.Join(bounds, " AND ")
	if s.q.where != nil {
		m := s.c.open(s.q)
		matching := "SELECT DISTINCT " + m.column("e", "node") + " AS node, " + m.column("e", "resource") + " AS resource"
		where := m.where() + " AND " + m.column("e", "at") + within
		events := "SELECT " + columns + ", k.same FROM kin k CROSS JOIN run_events a WHERE a.resource = k.resource AND " +
			strings.Join(bounds, " AND ")
		with = "WITH matching AS MATERIALIZED (" + matching + " FROM " + m.from() + where + ")" + related + s.c.resourceEvents(events)
		resource, from = "a.same", "near a CROSS JOIN run_changes d WHERE (a.node, a.same) IN ("+
			wanted+") AND d.id = a.change"
	}
	return "(" + with + "SELECT * FROM (SELECT " + columns +
		", RANK() OVER (PARTITION BY a.node, " + resource + ", d.property, d.name ORDER BY a.at DESC) AS place FROM " + from +
		") ranked WHERE place = 1) e"
}

// related assigns one ID to all rows of the same resource with different positions in a catalog, because comparing IDs
// is faster than comparing texts.
const related = `, picked AS MATERIALIZED (SELECT id, type, title FROM run_resources WHERE id IN (SELECT resource FROM matching))` +
	`, kin AS MATERIALIZED (SELECT x.id AS resource, MIN(p.id) AS same FROM picked p JOIN run_resources x ON substr(x.title, 1, 100) = substr(p.title, 1, 100)` +
	` AND x.title = p.title AND x.type = p.type GROUP BY x.id)`

// wanted selects the pairs of node and resource whose events are compared.
const wanted = `SELECT m.node, k.same FROM matching m JOIN kin k ON k.resource = m.resource`

// resourceEvents returns the common table expression for the events of the resources. SQLite reads the events in the
// order of the expression. PostgreSQL would read all of them for each node if the expression were not materialized.
func (c *compiler) resourceEvents(events string) string {
	if c.postgres() {
		return ", near AS MATERIALIZED (" + events + ") "
	}
	return ", near AS NOT MATERIALIZED (" + events + ") "
}
