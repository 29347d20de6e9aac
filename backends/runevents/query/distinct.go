package query

import "strings"

// window is the time span of distinct_resources, a parameter that selects the latest event of each resource.
type window struct {
	start, end int64         // Unix milliseconds, both included
	latest     []*latestExpr // conditions of the query on latest_report?; they apply before the latest event is selected
}

// latestEvents returns a subquery that replaces the table of events. For each property of a resource on a node, it
// has the latest event within the window. If the query has a condition, the subquery has these steps:
//
//   - matching: the nodes and resources with an event in the window that meets the condition. The latest event of any
//     other resource cannot meet it either.
//   - picked and kin: these resources, and all IDs of the same resource; see relatedResources
//   - near: the events of these resources in the window
//
// Without a condition, all events in the window are compared.
func (s *selectCompiler) latestEvents(w *window) string {
	timeRange := " BETWEEN " + s.c.arg(w.start) + " AND " + s.c.arg(w.end)
	conditions := append(make([]string, 0, 1+len(w.latest)), "a.at"+timeRange)
	for _, l := range w.latest {
		conditions = append(conditions, isLatestReport("a.report", l.truth))
	}
	inWindow := strings.Join(conditions, " AND ")
	const columns = "a.at, a.report, a.seq, a.node, a.resource, a.change, a.status, a.corrective_change"
	withClause := ""
	resource := "b.type, b.title" // columns that identify the resource
	rows := "run_events a JOIN run_resources b ON b.id = a.resource JOIN run_changes d ON d.id = a.change WHERE " + inWindow
	if s.q.where != nil {
		m := s.c.newSelect(s.q)
		matching := "SELECT DISTINCT " + m.column("e", "node") + " AS node, " + m.column("e", "resource") + " AS resource"
		condition := m.where() + " AND " + m.column("e", "at") + timeRange
		events := "SELECT " + columns + ", k.same FROM kin k CROSS JOIN run_events a WHERE a.resource = k.resource AND " + inWindow
		withClause = "WITH matching AS MATERIALIZED (" + matching + " FROM " + m.from() + condition + ")" + relatedResources +
			s.c.resourceEvents(events)
		resource = "a.same"
		rows = "near a CROSS JOIN run_changes d WHERE (a.node, a.same) IN (" + comparedResources + ") AND d.id = a.change"
	}
	return "(" + withClause + "SELECT * FROM (SELECT " + columns +
		", RANK() OVER (PARTITION BY a.node, " + resource + ", d.property, d.name ORDER BY a.at DESC) AS place FROM " + rows +
		") ranked WHERE place = 1) e"
}

// relatedResources defines the tables picked and kin. The table run_resources has several rows for a resource that
// occurs at different positions in catalogs. kin maps the IDs of all these rows to the ID of one of them, which is in
// the column "same", because comparing IDs is faster than comparing types and titles.
const relatedResources = `, picked AS MATERIALIZED (SELECT id, type, title FROM run_resources WHERE id IN (SELECT resource FROM matching))` +
	`, kin AS MATERIALIZED (SELECT x.id AS resource, MIN(p.id) AS same FROM picked p JOIN run_resources x ON substr(x.title, 1, 100) = substr(p.title, 1, 100)` +
	` AND x.title = p.title AND x.type = p.type GROUP BY x.id)`

// comparedResources selects the pairs of node and resource whose events are compared.
const comparedResources = `SELECT m.node, k.same FROM matching m JOIN kin k ON k.resource = m.resource`

// resourceEvents returns the common table expression with the name "near". eventsQuery is its SELECT, which reads the
// events of the resources. SQLite reads the events in the order of the expression. PostgreSQL would read all of them
// for each node if the expression were not materialized.
func (c *compiler) resourceEvents(eventsQuery string) string {
	if c.postgres() {
		return ", near AS MATERIALIZED (" + eventsQuery + ") "
	}
	return ", near AS NOT MATERIALIZED (" + eventsQuery + ") "
}
