// Package audit implements the audit feed: events are stored in batches and read in pages.
package audit

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Feed stores events. It blocks no caller. An event that cannot be stored is logged in full and counted.
type Feed struct {
	*kernel.Server
	batch *kernel.Batch[Record]
}

// Record is a row of authserver_audit.
type Record struct {
	ID        int64
	Action    string // such as user.registered
	Actor     string // the id of a user, or "admin"; may be empty
	Client    string // a client_id; may be empty
	Address   string // the IP address of the request
	Detail    string // names and values separated by spaces, see Pairs
	Trace     string // the id of the trace
	CreatedAt time.Time
}

// New returns a feed.
func New(s *kernel.Server) *Feed {
	f := &Feed{Server: s}
	f.batch = kernel.NewBatch(f.store, f.logLost)
	return f
}

// Add queues an event. It is the value of kernel.Server.Audit.
func (f *Feed) Add(ctx context.Context, e kernel.Event) {
	r := Record{
		Action: e.Action, Actor: e.Actor, Client: e.Client, Address: cmp.Or(e.Address, kernel.AddressOf(ctx)),
		Detail: Pairs(e.Detail), Trace: f.TraceID(ctx), CreatedAt: f.Now(),
	}
	if !f.batch.Add(r) {
		f.logLost([]Record{r}, errFull)
	}
}

// errFull is logged for an event that the queue cannot take.
var errFull = errors.New("the queue of audit events is full")

// Run writes queued events until the context is done.
func (f *Feed) Run(ctx context.Context) { f.batch.Run(ctx) }

// Flush writes the queued events.
func (f *Feed) Flush(ctx context.Context) error { return f.batch.Flush(ctx) }

const (
	columns   = "action, actor_id, client_id, ip, detail, trace_id, created_at"
	sweepRows = 1000 // the number of rows that one statement deletes
)

// store writes events to the database in one transaction.
func (f *Feed) store(ctx context.Context, rows []Record) error {
	return f.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		return kernel.Insert(c, "authserver_audit", columns, rows, func(args []any, r *Record) []any {
			return append(args, r.Action, r.Actor, r.Client, r.Address, r.Detail, r.Trace, r.CreatedAt.UnixMicro())
		})
	})
}

// logLost logs and counts events that could not be stored.
func (f *Feed) logLost(rows []Record, err error) {
	for _, r := range rows {
		f.Count("audit_events_dropped_total", "")
		f.Logger().Error("an audit event could not be stored", zap.String("action", r.Action),
			zap.String("actor", r.Actor), zap.String("client", r.Client),
			zap.String("ip", r.Address), zap.String("detail", r.Detail), zap.String("trace_id", r.Trace),
			zap.Time("at", r.CreatedAt), zap.Error(err))
	}
}

// Pairs formats a list of alternating names and values as text: name=value, separated by spaces. It quotes a value that
// is empty or contains spaces, quotes or backslashes, and removes control characters.
func Pairs(pairs []string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pairs[i])
		b.WriteByte('=')
		value := strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r == '\uFFFD' {
				return -1
			}
			return r
		}, pairs[i+1])
		if value == "" || strings.ContainsAny(value, ` "\`) {
			value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
		}
		b.WriteString(value)
	}
	return b.String()
}

// Value returns the value of a name in a text that Pairs returned, and whether the text contains the name.
func Value(detail, name string) (string, bool) {
	for detail != "" {
		key, tail, found := strings.Cut(detail, "=")
		if !found {
			return "", false
		}
		value, tail := cutValue(tail)
		if key == name {
			return value, true
		}
		detail = strings.TrimPrefix(tail, " ")
	}
	return "", false
}

// cutValue returns the value, quoted or not, at the beginning of a text that Pairs returned, and the text after it.
func cutValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, ' ')
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:]
	}
	var unquoted strings.Builder
	i := 1
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		unquoted.WriteByte(text[i])
	}
	return unquoted.String(), text[min(i+1, len(text)):] // without a closing quote, i is len(text)
}

// Query selects events.
type Query struct {
	Since, Until time.Time // both inclusive
	// Action selects the events with this action. If it ends with a dot, it selects all actions that begin with it.
	Action, Actor, Client string // empty for all
}

// Listing returns the query of the events.
func (q Query) Listing() kernel.Listing {
	l := kernel.Listing{Columns: "id, " + columns, Table: "authserver_audit", At: "created_at", ID: "id"}
	start, end := q.Since.UnixMicro(), q.Until.UnixMicro()
	equalities := q.equalities()
	if len(equalities) == 1 {
		equality := equalities[0]
		// The condition avoids "=": the planner might then assume that the value is frequent, and scan all events
		// backwards from the latest, although there may have been no event with the value for weeks.
		pair := "(" + equality.column + ", created_at)"
		l.And(pair+" >= (?, ?) AND "+pair+" <= (?, ?)", equality.value, start, equality.value, end)
		l.IndexPrefix = equality.column
	} else {
		l.And("created_at >= ? AND created_at <= ?", start, end)
		for _, e := range equalities {
			l.And(e.column+" = ?", e.value)
		}
	}
	if q.Actor != "" {
		l.And("actor_id <> ''") // matches the condition of the partial index
	}
	if q.Client != "" {
		l.And("client_id <> ''")
	}
	if strings.HasSuffix(q.Action, ".") {
		l.And("action >= ? AND action < ?", q.Action, q.Action[:len(q.Action)-1]+"/") // '/' is the character after '.'
	}
	return l
}

// equality is a column that has the same value in all events of a query.
type equality struct{ column, value string }

// equalities returns the columns that must have a given value. The action is not among them if the query gives only a
// prefix of it.
func (q Query) equalities() (list []equality) {
	for _, e := range [...]equality{{"actor_id", q.Actor}, {"client_id", q.Client}, {"action", q.Action}} {
		isPrefix := e.column == "action" && strings.HasSuffix(e.value, ".")
		if e.value != "" && !isPrefix {
			list = append(list, e)
		}
	}
	return list
}

// List returns a page of events, newest first, including events that are still queued. The result hasMore reports
// whether further events follow.
func (f *Feed) List(ctx context.Context, q Query, limit, offset int) (list []Record, hasMore bool, err error) {
	if err := f.Flush(ctx); err != nil {
		return nil, false, err
	}
	page := kernel.Page{Limit: limit + 1, Offset: offset, Newest: true}
	list, err = kernel.Rows(ctx, f.Server, q.Listing().Find, page, scan)
	list, hasMore = store.Cut(list, limit)
	return list, hasMore, err
}

// scan reads a row with the id and columns.
func scan(r store.Row) (record Record, err error) {
	var created int64
	err = r.Scan(&record.ID, &record.Action, &record.Actor, &record.Client, &record.Address, &record.Detail, &record.Trace,
		&created)
	record.CreatedAt = time.UnixMicro(created)
	return record, err
}

// Sweep removes events that are older than age, and returns their number.
func (f *Feed) Sweep(ctx context.Context, age time.Duration) (int, error) {
	n, err := f.DB.Purge(ctx, sweepRows,
		"DELETE FROM authserver_audit WHERE id IN (SELECT id FROM authserver_audit WHERE created_at < ? LIMIT ?)",
		f.Now().Add(-age).UnixMicro())
	return int(n), err
}
