package query

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
	// NodePurge is the time after which queries for inactive nodes no longer return a deactivated or expired node,
	// because it is about to be deleted. The default is 14 days.
	NodePurge time.Duration
	// CorrectiveChange means that answers contain corrective_change unchanged. By default corrective_change is always
	// null.
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
	slots     querySlots
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

// errBusy is the error for a wide query while too many wide queries are running.
var errBusy = &Error{
	Status: http.StatusServiceUnavailable,
	Text:   "too many queries without a bound in time, certname or report are running; add one or try again later",
}

// execute runs the plan and writes the answer to out. A wide query first waits until it may run.
func (s *Service) execute(ctx context.Context, pl *plan, out *output) error {
	if s.o.Before != nil {
		s.o.Before(ctx)
	}
	if pl.wide {
		if err := s.acquireSlot(ctx, s.wide, out, errBusy); err != nil {
			return err
		}
		defer s.wide.Release(1)
	}
	return s.o.DB.Read(ctx, func(c store.Conn) error {
		return s.withSlot(ctx, c.Pool(), out, func() error { return s.read(ctx, c.Pool(), pl, out) })
	})
}

// read executes the plan in a read-only transaction, and writes the answer to out.
func (s *Service) read(ctx context.Context, db *sql.DB, pl *plan, out *output) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.isolation()})
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing was written
	if err := s.prepare(ctx, tx); err != nil {
		return err
	}
	if err := s.checkScope(ctx, tx, pl.scope); err != nil {
		return err
	}
	switch pl.detail {
	case "ast":
		_, err := out.Write(pl.clause.AppendJSON(nil))
		return err
	case "":
		return s.answer(ctx, tx, pl, out)
	case "catalog", "fact-names":
		return s.emptyAnswer(pl, out)
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

// prepare sets the time limit of the transaction's statements on PostgreSQL. On its first call it also determines which
// of the installed collations supports Unicode, and stores its quoted name, or an empty string, in s.collation.
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
	case errors.Is(err, sql.ErrNoRows): // no such collation: the name remains empty
	case err != nil:
		return err
	default:
		name = `"` + name + `"`
	}
	s.collation.Store(&name)
	return nil
}

// compiler returns a compiler for one statement of the plan.
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

// checkScope returns an error with status 404 unless the report, environment, node and producer in the scope exist.
func (s *Service) checkScope(ctx context.Context, tx *sql.Tx, scope Scope) error {
	hash, ok := decodeHash(scope.Report)
	if !ok {
		hash = nil // no report has this hash
	}
	for _, p := range []struct {
		kind, name, query string
		arg               any
	}{
		{"report", scope.Report, "SELECT 1 FROM run_reports WHERE hash = $1", hash},
		{"environment", scope.Environment, "SELECT 1 FROM run_environments WHERE name = $1", scope.Environment},
		{"node", scope.Node, "SELECT 1 FROM run_nodes WHERE certname = $1", scope.Node},
		{"producer", scope.Producer, "SELECT 1 FROM run_producers WHERE name = $1", scope.Producer},
	} {
		if p.name == "" {
			continue
		}
		err := sql.ErrNoRows
		if utf8.ValidString(p.name) && !strings.ContainsRune(p.name, 0) { // PostgreSQL refuses other parameters
			var result int
			err = tx.QueryRowContext(ctx, p.query, p.arg).Scan(&result)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return &Error{
				Status: http.StatusNotFound, Text: "No information is known about " + p.kind + " " + syntax.Clip(p.name),
				JSON: true,
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answer executes the statements of a plan for rows or counts, and writes the answer. It also sets out.total if the
// client asked for the total number of rows.
func (s *Service) answer(ctx context.Context, tx *sql.Tx, pl *plan, out *output) error {
	if pl.query.entity.absent() {
		rows, total := pl.query.emptyAnswer()
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
		return s.writeAggregateCounts(ctx, tx, pl, out)
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

// writeAggregateCounts writes the answer of /aggregate-event-counts: an array with one object for each kind of subject.
// Each object comes from a statement of its own, and begins with the member "summarize_by".
func (s *Service) writeAggregateCounts(ctx context.Context, tx *sql.Tx, pl *plan, out *output) error {
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
				start := len(rw.buf)
				if err := rw.row(); err != nil {
					return err
				}
				rw.buf = slices.Delete(rw.buf, start, start+1) // the opening brace that row writes
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

// statusError converts an error of a query to an [Error] if the client can understand the error. It returns any other
// error unchanged.
func statusError(ctx context.Context, err error) error {
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
