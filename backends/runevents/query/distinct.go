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
	within := " BETWEEN " + s.c.arg(w.start) + " AND " + s.c.arg(w.end)
	bounds := append(make([]string, 0, 1+len(w.latest)), "a.at"+within)
	for _, l := range w.latest {
		bounds = append(bounds, latest("a.report", l.truth))
	}
	const columns = "a.at, a.report, a.seq, a.node, a.resource, a.change, a.status, a.corrective_change"
	with, resource, from := "", "b.type, b.title", "run_events a JOIN run_resources b ON b.id = a.resource JOIN run_changes d ON d.id = a.change WHERE "+strings.Join(bounds, " AND ")
	if s.q.where != nil {
		m := s.c.open(s.q)
		matching := "SELECT DISTINCT " + m.column("e", "node") + " AS node, " + m.column("e", "resource") + " AS resource"
		where := m.where() + " AND " + m.column("e", "at") + within
		near := "SELECT " + columns + ", k.same FROM kin k CROSS JOIN run_events a WHERE a.resource = k.resource AND " + strings.Join(bounds, " AND ")
		with = "WITH matching AS MATERIALIZED (" + matching + " FROM " + m.from() + where + ")" + related + s.c.near(near)
		resource, from = "a.same", "near a CROSS JOIN run_changes d WHERE (a.node, a.same) IN ("+wanted+") AND d.id = a.change"
	}
	return "(" + with + "SELECT * FROM (SELECT " + columns +
		", RANK() OVER (PARTITION BY a.node, " + resource + ", d.property, d.name ORDER BY a.at DESC) AS place FROM " + from + ") ranked WHERE place = 1) e"
}

// related gives one number to the rows of a resource, which differ in where catalogs
// place it: numbers are compared faster than texts.
const related = `, picked AS MATERIALIZED (SELECT id, type, title FROM run_resources WHERE id IN (SELECT resource FROM matching))` +
	`, kin AS MATERIALIZED (SELECT x.id AS resource, MIN(p.id) AS same FROM picked p JOIN run_resources x ON substr(x.title, 1, 100) = substr(p.title, 1, 100)` +
	` AND x.title = p.title AND x.type = p.type GROUP BY x.id)`

// wanted says whose events of what are compared.
const wanted = `SELECT m.node, k.same FROM matching m JOIN kin k ON k.resource = m.resource`

// near names the events of the resources. SQLite reads them one after another in the
// order that the statement says; PostgreSQL would look all of them up for each node.
func (c *compiler) near(events string) string {
	if c.postgres() {
		return ", near AS MATERIALIZED (" + events + ") "
	}
	return ", near AS NOT MATERIALIZED (" + events + ") "
}
