package query

import (
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
)

// plan is a checked request, ready to be executed.
type plan struct {
	entity   string
	query    *query
	counts   []*counts // for the count endpoints
	distinct *window
	total    bool
	pretty   bool // indented
	scope    Scope
	detail   string        // "logs", "metrics" and other answers that are not rows; empty for rows
	clause   *syntax.Value // the query itself, for the detail "ast"
	single   bool          // the answer is one row instead of a list
	wide     bool
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
	return &plan{detail: "ast", clause: clause, pretty: pl.pretty}, nil
}

// planRows plans a query for rows. It checks the clause, and applies the paging parameters pg, which override paging
// clauses in the query.
func (s *Service) planRows(pl *plan, c *checker, clause *syntax.Value, pg page) (err error) {
	e := s.entities[pl.entity]
	if e != nil {
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
	if pg.skips {
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

// planCounts plans a query for counts of events by the given kinds of subjects.
func (s *Service) planCounts(pl *plan, c *checker, clause *syntax.Value, p params, pg page, kinds []string) error {
	aggregate := pl.entity == "aggregate-event-counts"
	if !aggregate {
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
		if filterValue, err = parse(filterValue.Text); err != nil {
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

// restrict adds the conditions of the scope to q, and the default conditions: active nodes, and reports of agents. It
// also sets pl.wide, and the tests of latest_report? in pl.distinct.
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
		b, _ := hash(pl.scope.Report) // an invalid hash was not found before
		q.where = and(q.where, &compareExpr{q.entity.byName["report"], "=", b})
	}
	equal := func(field, name string) {
		if name != "" {
			q.where = and(q.where, &compareExpr{q.entity.byName[field], "=", name})
		}
	}
	equal("certname", pl.scope.Node)
	named := func(entity, field, name string) {
		if pl.entity == entity {
			field = "name"
		}
		equal(field, name)
	}
	named("environments", "environment", pl.scope.Environment)
	named("producers", "producer", pl.scope.Producer)
	pl.wide = isWide(pl, q, s.o.Now())
}

// isWide reports whether the query may read most of the data, because it is restricted neither to a short time nor to a
// node or a report.
func isWide(pl *plan, q *query, now time.Time) bool {
	if q.entity.absent() {
		return false
	}
	if pl.distinct != nil { // the query only reads the window
		return !isShort(interval{pl.distinct.start, pl.distinct.end + 1}, now)
	}
	if _, counted := q.hours(); counted {
		return false
	}
	bounded := q.entity.name != "events" && q.entity.name != "reports"
	bounds := interval{-maxHours * hourLength, maxHours * hourLength}
	conjuncts(q.where, func(x expr) {
		switch x := x.(type) {
		case *latestExpr:
			bounded = bounded || x.truth
		case *compareExpr:
			switch x.field.name {
			case "report", "certname", "hash", "resource_title":
				bounded = bounded || x.op == "="
			case "timestamp", "producer_timestamp":
				bounds.narrow(x)
			}
		}
	})
	return !bounded && !isShort(bounds, now)
}
