package query

import (
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
)

// plan is a checked request, ready to be executed.
type plan struct {
	entity   string    // as in Serve, but in the plural if one node, environment or producer is requested
	query    *query    // nil unless the answer consists of rows or counts
	counts   []*counts // set for the count endpoints; the query for events that they share is in the field query
	distinct *window   // for distinct_resources; otherwise nil
	total    bool      // the answer has the header X-Records with the number of all rows
	pretty   bool      // the answer is indented
	scope    Scope
	// detail names an answer that does not consist of rows or counts: "logs", "metrics", "catalog", "fact-names",
	// "mbeans", "mbean" or "ast". It is empty for rows and counts.
	detail string
	clause *syntax.Value // the query itself, for the detail "ast"
	single bool          // the answer is one row instead of a list
	wide   bool          // see Options.Wide
}

// plan checks a request without using the database. The order of the checks determines which of several errors is
// reported.
func (s *Service) plan(entity string, p params, scope Scope) (*plan, error) {
	pl := &plan{entity: entity, scope: scope, pretty: p.flag("pretty")}
	switch entity {
	case "logs", "metrics", "catalog", "mbeans", "mbean":
		pl.detail = entity
		return pl, nil
	case "fact-names":
		pl.detail = entity
		pg, err := p.page()
		pl.total = pg.total
		return pl, err
	case "node", "environment", "producer":
		pl.entity = entity + "s"
		pl.single = true
	}
	counted := entity == "event-counts" || entity == "aggregate-event-counts"
	summarizeBy := ""
	if counted {
		v := p["summarize_by"]
		if v == nil {
			return nil, refuse("Missing required query parameter 'summarize_by'")
		}
		summarizeBy = v.Plain()
	}
	if entity == "" && p["query"] == nil {
		return nil, refuse("Missing required query parameter 'query'")
	}
	var clause *syntax.Value
	var err error
	if entity == "" && p["query"].IsText() && !strings.HasPrefix(strings.TrimSpace(p["query"].Text), "[") {
		clause, err = parsePQL(p["query"].Text)
	} else {
		clause, err = p.query()
	}
	if err != nil {
		return nil, err
	}
	pg, err := p.page()
	if err != nil {
		return nil, err
	}
	pl.total = pg.total
	if pl.distinct, err = p.window(); err != nil {
		return nil, err
	}
	c := &checker{entities: s.entities, dialect: s.o.DB.Dialect()}
	if counted {
		return pl, s.planCounts(pl, c, clause, p, pg, strings.Split(summarizeBy, ","))
	}
	if err := s.planRows(pl, c, clause, pg); err != nil || !p.flag("ast_only") {
		return pl, err
	}
	// The query has been checked, but is returned instead of being executed.
	return &plan{detail: "ast", clause: clause, pretty: pl.pretty}, nil
}

// planRows plans a query for rows: it sets pl.query. It checks the clause with c, and applies the paging parameters pg,
// which override paging clauses in the query.
func (s *Service) planRows(pl *plan, c *checker, clause *syntax.Value, pg page) (err error) {
	e := s.entities[pl.entity]
	if e != nil { // nil at the root endpoint, where the query names the entity
		// The fields in order_by are checked before the query.
		probe := &query{entity: e}
		for _, t := range pg.order {
			if err := probe.orderBy(t.field, t.desc); err != nil {
				return err
			}
		}
	}
	if pl.entity == "" {
		pl.query, err = c.outermost(clause)
	} else {
		pl.query, err = c.root(e, clause)
	}
	if err != nil {
		return err
	}
	q := pl.query
	if pg.limit > 0 {
		q.limit = pg.limit
	}
	if pg.hasOffset {
		q.offset = pg.offset
	}
	if pg.order != nil {
		q.order = nil
	}
	for _, t := range pg.order {
		if err := q.orderBy(t.field, t.desc); err != nil {
			return err
		}
	}
	s.restrict(pl, c, q)
	return nil
}

// planCounts plans a query for counts of events by the given kinds of subjects. The kinds that exist are the keys of
// the map subjects. planCounts sets pl.counts and pl.query.
func (s *Service) planCounts(pl *plan, c *checker, clause *syntax.Value, p params, pg page, kinds []string) error {
	aggregate := pl.entity == "aggregate-event-counts"
	if !aggregate { // only aggregate-event-counts accepts a list of kinds
		kinds = []string{strings.Join(kinds, ",")}
	}
	if len(kinds) > len(subjects) {
		return refuse("Unsupported value for 'summarize_by': '%s'", syntax.Clip(strings.Join(kinds, ",")))
	}
	byNode := false
	if v := p["count_by"]; v != nil {
		if byNode = v.Plain() == "certname"; !byNode && v.Plain() != "resource" {
			return refuse("Unsupported value for 'count_by': '%s'", v.Plain())
		}
	}
	for _, subject := range kinds {
		if err := checkSummarizeBy(subject); err != nil {
			return err
		}
	}
	filterValue := p["counts_filter"]
	if filterValue.IsText() {
		var err error
		if filterValue, err = parseJSON(filterValue.Text); err != nil {
			return err
		}
	}
	filter, err := checkCountFilter(filterValue)
	if err != nil {
		return err
	}
	for _, subject := range kinds {
		q := &counts{
			subject: subject, byNode: byNode, filter: filter, limit: pg.limit, offset: pg.offset,
			aggregate: aggregate,
		}
		if err := q.orderBy(pg.order); err != nil {
			return err
		}
		pl.counts = append(pl.counts, q)
	}
	if clause.Operator() == "extract" {
		return refuse("%s is not well-formed: 'extract' has no place in counts", clause.Notation())
	}
	events, err := c.root(s.entities["events"], clause)
	if err != nil {
		return err
	}
	s.restrict(pl, c, events)
	for _, q := range pl.counts {
		q.events = events
	}
	pl.query = events
	return nil
}

// restrict adds the conditions of pl.scope to q, and the default conditions: active nodes, and reports of type
// "agent". A default condition is left out if the query has a condition of its own on the state of nodes or the type of
// reports, which c has found when it checked the query. restrict also sets pl.wide, and copies the conditions on
// latest_report? to pl.distinct.
func (s *Service) restrict(pl *plan, c *checker, q *query) {
	if pl.distinct != nil {
		conjuncts(q.where, func(x expr) {
			if l, ok := x.(*latestExpr); ok {
				pl.distinct.latest = append(pl.distinct.latest, l)
			}
		})
	}
	if q.entity.absent() {
		return
	}
	if (pl.entity == "" || pl.entity == "nodes") && !pl.single && q.entity.node != "" && !c.namesState {
		q.where = and(q.where, &nodeExpr{active: true})
	}
	if q.entity.name == "reports" && !c.namesType {
		q.where = and(q.where, &compareExpr{q.entity.byName["type"], "=", "agent"})
	}
	if pl.scope.Report != "" {
		b, _ := decodeHash(pl.scope.Report) // checkScope refuses invalid hashes before the plan is executed
		q.where = and(q.where, &compareExpr{q.entity.byName["report"], "=", b})
	}
	requireEqual := func(field, value string) {
		if value != "" {
			q.where = and(q.where, &compareExpr{q.entity.byName[field], "=", value})
		}
	}
	environmentField, producerField := "environment", "producer"
	switch pl.entity {
	case "environments":
		environmentField = "name"
	case "producers":
		producerField = "name"
	}
	requireEqual("certname", pl.scope.Node)
	requireEqual(environmentField, pl.scope.Environment)
	requireEqual(producerField, pl.scope.Producer)
	pl.wide = isWide(pl, q, s.o.Now())
}

// isWide reports whether the query may read most of the data, because it is restricted neither to a short time nor to a
// node or a report.
func isWide(pl *plan, q *query, now time.Time) bool {
	if q.entity.absent() {
		return false
	}
	if pl.distinct != nil { // the query reads only the events in this time span
		return !isShort(interval{pl.distinct.start, pl.distinct.end + 1}, now) // the end is included
	}
	if _, countable := q.countableInterval(); countable { // the query reads stored counts instead of events
		return false
	}
	bounded := q.entity.name != "events" && q.entity.name != "reports" // the other tables are small
	bounds := interval{-maxHours * hourLength, maxHours * hourLength}  // all times
	conjuncts(q.where, func(x expr) {
		switch x := x.(type) {
		case *latestExpr:
			bounded = bounded || x.truth
		case *compareExpr:
			bounded = bounded || x.selectsFew()
			if x.field.name == "timestamp" || x.field.name == "producer_timestamp" {
				bounds.restrict(x)
			}
		}
	})
	return !bounded && !isShort(bounds, now)
}
