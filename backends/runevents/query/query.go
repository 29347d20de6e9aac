package query

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options configures a [Service]. DB is required.
type Options struct {
	DB *store.DB
	// Prefix is the part of the path before "/query/v4" in links. The default is "/store".
	Prefix string
	// Timeout limits the time until each piece of an answer (32 KiB or the rest) is ready, and the time in which a
	// client must read the piece. The default is 30 s.
	Timeout time.Duration
	// MaxTime limits the duration of a query. The default is 10 minutes.
	MaxTime time.Duration
	// Wide is the number of wide queries that run at the same time; others wait. A query is wide if it covers more than
	// three days of all nodes. The default is 2.
	Wide int
	// NodePurge is the age above which a deactivated or expired node no longer counts as inactive, because it is about
	// to be deleted. The default is 14 days.
	NodePurge time.Duration
	// CorrectiveChange shows corrective_change unchanged. By default it is always null.
	CorrectiveChange bool
	// Before is called before each query of the database. It may be nil.
	Before func(ctx context.Context)
	// Now is the clock. The default is time.Now.
	Now    func() time.Time
	Logger *zap.Logger
}

// Service answers queries. A Service is safe for concurrent use.
type Service struct {
	o         Options
	entities  map[string]*entity
	wide      *semaphore.Weighted
	places    places
	collation atomic.Pointer[string]
}

// Scope restricts a query to one object, such as a node or a report. The zero value does not restrict the query.
type Scope struct {
	Report      string // hash of a report
	Environment string // name of an environment
	Node        string // certname
	Producer    string // name of a producer
	Bean        string // name of a bean, optionally followed by a slash and an attribute
	// Prefix is the part of the path before "/query/v4" in links. The default is Options.Prefix.
	Prefix string
}

// New returns a service that reads from the database in o, without using the database yet.
func New(o Options) (*Service, error) {
	if o.DB == nil {
		return nil, errors.New("query: no database")
	}
	if o.Prefix == "" {
		o.Prefix = "/store"
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxTime <= 0 {
		o.MaxTime = 10 * time.Minute
	}
	if o.Wide <= 0 {
		o.Wide = 2
	}
	if o.NodePurge <= 0 {
		o.NodePurge = 14 * 24 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return &Service{o: o, entities: entities(o.CorrectiveChange), wide: semaphore.NewWeighted(int64(o.Wide))}, nil
}

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

// restrict adds the conditions of the scope and the default conditions to q.
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
	pl.wide = wide(pl, q, s.o.Now())
}

// wide reports whether the query may read most of the data, because it is restricted neither to a short time nor to a
// node or a report.
func wide(pl *plan, q *query, now time.Time) bool {
	if q.entity.absent() {
		return false
	}
	if pl.distinct != nil { // the query only reads what is left of the window
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

// errBusy is the error for a wide query while too many wide queries are running.
var errBusy = &Error{
	Status: http.StatusServiceUnavailable,
	Text:   "too many queries without a bound in time, certname or report are running; add one or try again later",
}

// execute runs the plan and writes the answer to out.
func (s *Service) execute(ctx context.Context, pl *plan, out *output) error {
	if s.o.Before != nil {
		s.o.Before(ctx)
	}
	if pl.wide {
		if err := s.wait(ctx, s.wide, out, errBusy); err != nil {
			return err
		}
		defer s.wide.Release(1)
	}
	return s.o.DB.Read(ctx, func(c store.Conn) error {
		return s.placed(ctx, c.Pool(), out, func() error { return s.read(ctx, c.Pool(), pl, out) })
	})
}

// read executes the plan in a transaction.
func (s *Service) read(ctx context.Context, db *sql.DB, pl *plan, out *output) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.isolation()})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := s.prepare(ctx, tx); err != nil {
		return err
	}
	if err := s.parents(ctx, tx, pl.scope); err != nil {
		return err
	}
	switch pl.detail {
	case "ast":
		_, err := out.Write(pl.clause.AppendJSON(nil))
		return err
	case "":
		return s.answer(ctx, tx, pl, out)
	case "catalog", "fact-names":
		return s.nothing(pl, out)
	case "mbeans", "mbean":
		return s.beans(ctx, tx, pl, out)
	}
	return s.detail(ctx, tx, pl, out)
}

// isolation returns the isolation level in which the total number of rows and the rows themselves come from the same
// snapshot. On SQLite every transaction is such a snapshot.
func (s *Service) isolation() sql.IsolationLevel {
	if s.o.DB.Dialect() == store.Postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

// prepare sets the limits of the transaction's statements. On its first call it also determines which collation of
// PostgreSQL supports Unicode.
func (s *Service) prepare(ctx context.Context, tx *sql.Tx) error {
	if s.o.DB.Dialect() != store.Postgres {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SELECT set_config('statement_timeout', $1, true), set_config('jit', 'off', true)",
		fmt.Sprint(s.o.MaxTime.Milliseconds())); err != nil {
		return err
	}
	if s.collation.Load() != nil {
		return nil
	}
	var name string
	err := tx.QueryRowContext(ctx, `SELECT collname FROM pg_collation WHERE collname IN ('und-x-icu', 'pg_c_utf8', 'C.utf8', 'C.UTF-8')
		ORDER BY CASE collname WHEN 'und-x-icu' THEN 1 WHEN 'pg_c_utf8' THEN 2 ELSE 3 END LIMIT 1`).Scan(&name)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		name = `"` + name + `"`
	}
	s.collation.Store(&name)
	return nil
}

func (s *Service) compiler(pl *plan) *compiler {
	c := &compiler{
		dialect:  s.o.DB.Dialect(),
		cutoff:   s.o.Now().Add(-s.o.NodePurge).UnixMilli(),
		distinct: pl.distinct,
	}
	if name := s.collation.Load(); name != nil {
		c.collation = *name
	}
	return c
}

// parents returns an error unless the objects in the scope exist.
func (s *Service) parents(ctx context.Context, tx *sql.Tx, scope Scope) error {
	missing := func(kind, name string) error {
		return &Error{
			Status: http.StatusNotFound, Text: "No information is known about " + kind + " " + syntax.Clip(name),
			JSON: true,
		}
	}
	found := func(query string, arg any) (bool, error) {
		var exists int
		err := tx.QueryRowContext(ctx, query, arg).Scan(&exists)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	}
	if scope.Report != "" {
		b, ok := hash(scope.Report)
		if ok {
			var err error
			if ok, err = found("SELECT 1 FROM run_reports WHERE hash = $1", b); err != nil {
				return err
			}
		}
		if !ok {
			return missing("report", scope.Report)
		}
	}
	for _, p := range []struct{ kind, name, query string }{
		{"environment", scope.Environment, "SELECT 1 FROM run_environments WHERE name = $1"},
		{"node", scope.Node, "SELECT 1 FROM run_nodes WHERE certname = $1"},
		{"producer", scope.Producer, "SELECT 1 FROM run_producers WHERE name = $1"},
	} {
		if p.name == "" {
			continue
		}
		ok := utf8.ValidString(p.name) && !strings.ContainsRune(p.name, 0)
		if ok {
			var err error
			if ok, err = found(p.query, p.name); err != nil {
				return err
			}
		}
		if !ok {
			return missing(p.kind, p.name)
		}
	}
	return nil
}

// answer executes the statements of a plan and writes the answer.
func (s *Service) answer(ctx context.Context, tx *sql.Tx, pl *plan, out *output) error {
	if pl.query.entity.absent() {
		rows, total := pl.query.nothing()
		if pl.total {
			out.total = total
		}
		_, err := out.Write(rows)
		return err
	}
	if pl.total {
		var st *statement
		if pl.counts != nil {
			st = s.compiler(pl).countTotal(pl.counts[0])
		} else {
			st = s.compiler(pl).total(pl.query)
		}
		n, err := st.number(ctx, tx)
		st.release()
		if err != nil {
			return err
		}
		out.total = fmt.Sprint(n)
	}
	if pl.entity == "aggregate-event-counts" {
		return s.aggregates(ctx, tx, pl, out)
	}
	var st *statement
	if pl.counts != nil {
		st = s.compiler(pl).countRows(pl.counts[0])
	} else {
		st = s.compiler(pl).rows(pl.query)
	}
	defer st.release()
	rw := newRowWriter(out, st, cmp.Or(pl.scope.Prefix, s.o.Prefix))
	rw.single = pl.single
	if pl.counts != nil {
		rw.counts = pl.counts[0]
	}
	if len(st.parts) > 0 {
		rw.allocate(rowsAtOnce, len(st.cells)+len(st.parts))
	}
	for _, p := range st.parts {
		w, err := newPartWriter(ctx, tx, p)
		if err != nil {
			return err
		}
		rw.parts = append(rw.parts, w)
	}
	return st.run(ctx, tx, rw.writeAll)
}

// aggregates writes one row for each kind of subject, each from its own statement.
func (s *Service) aggregates(ctx context.Context, tx *sql.Tx, pl *plan, out *output) error {
	var buf []byte
	for i, q := range pl.counts {
		sep := byte('[')
		if i > 0 {
			sep = ','
		}
		buf = append(buf, sep)
		st := s.compiler(pl).countRows(q)
		rw := newRowWriter(out, st, cmp.Or(pl.scope.Prefix, s.o.Prefix))
		err := st.run(ctx, tx, func(rows *sql.Rows) error {
			for rows.Next() {
				if err := rows.Scan(rw.dest[0]...); err != nil {
					return err
				}
				rw.buf = append(rw.buf, `{"summarize_by":`...)
				rw.buf = append(jsontext.AppendQuoted(rw.buf, q.subject), ',')
				open := len(rw.buf)
				if err := rw.row(); err != nil {
					return err
				}
				rw.buf = append(rw.buf[:open], rw.buf[open+1:]...) // without the second brace
			}
			return rows.Err()
		})
		st.release()
		if err != nil {
			return err
		}
		buf = append(buf, rw.buf...)
	}
	_, err := out.Write(append(buf, ']'))
	return err
}

// settle converts the error of a query to an error with a status.
func settle(ctx context.Context, err error) error {
	if e := asError(err); e != nil {
		return e
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "2201B": // invalid_regular_expression
			return refuse("ERROR: %s", syntax.Clip(pg.Message))
		case "57014": // query_canceled
			return errTimeout
		case "22003", "22008", "22P02", "22021", "22001": // out of range, not representable
			return errOutOfRange
		case "54001", "54011", "53400": // too complex
			return refuse("the query is too complex")
		}
	}
	switch {
	case strings.Contains(err.Error(), "integer overflow"): // from SUM on SQLite
		return errOutOfRange
	case strings.Contains(err.Error(), pattern.ErrTimeout.Error()):
		return refuse("ERROR: %s", pattern.ErrTimeout)
	case errors.Is(context.Cause(ctx), errTimeout):
		return errTimeout
	case errors.Is(err, store.ErrUnavailable):
		return &Error{
			Status: http.StatusServiceUnavailable,
			Text:   "the database is not available right now, try again shortly", cause: err,
		}
	}
	return err
}

var errOutOfRange = refuse("a value of the query is out of range")

var errTimeout = &Error{
	Status: http.StatusServiceUnavailable,
	Text:   "the query takes too long; bound it in time, certname or report",
}
