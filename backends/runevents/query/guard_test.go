package query_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/internal/inbound/inboundtest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestCorrectiveChange(t *testing.T) {
	t.Parallel()
	for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, d, func(o *query.Options) { o.CorrectiveChange = true })
			b.submit(t, "store report", 8, []byte(specialReport))
			for q, want := range map[string]int{
				`["=","corrective_change",true]`:         1,
				`["not",["=","corrective_change",true]]`: 1,
				`["null?","corrective_change",true]`:     2,
			} {
				wantEqual(t, q, b.count(t, "/events", q), want)
			}
			row := b.rows(t, "/reports")[0]
			wantEqual(t, "report", row["corrective_change"], any(true))
			shown := make(map[any]int)
			for _, e := range row["resource_events"].(map[string]any)["data"].([]any) {
				shown[e.(map[string]any)["corrective_change"]]++
			}
			wantEqual(t, "events of the report", shown, map[any]int{true: 1, false: 1, nil: 2})
		})
	}
}

// TestWideQueriesWait checks that unrestricted queries cannot take all connections, and do not delay others.
func TestWideQueriesWait(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite, func(o *query.Options) { o.Timeout = 2 * time.Second })
	release := b.Occupy(t)
	distinct := func(start, end string) []string {
		return []string{"distinct_resources", "true", "distinct_start_time", start, "distinct_end_time", end}
	}
	for _, pairs := range [][]string{
		{"query", `["~","message","x"]`},
		{"query", `[">","timestamp","1970-01-02"]`},
		{"query", `["and",[">","timestamp","2026-01-02"],["<","timestamp","2026-02-02"]]`},
		append(distinct("2026-01-01", "2026-04-01"), "query", `["=","certname","x"]`),
	} {
		if a := b.get("/events", pairs...); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "too many queries") {
			t.Errorf("%q: %d %s", pairs, a.status, a.body)
		}
	}
	for _, pairs := range [][]string{
		{"query", `["=","certname","x"]`},
		{"query", `["=","latest_report?",true]`},
		{"query", `[">","timestamp","2026-03-30"]`},
		{"query", `["and",[">","timestamp","2026-01-02"],["<","timestamp","2026-01-03"]]`},
		{"query", `["extract",["status",["function","count"]],["group_by","status"]]`},
		distinct("2026-03-31", "2027-01-01"),
	} {
		wantEqual(t, strings.Join(pairs, " "), b.get("/events", pairs...).body, "[]")
	}
	release()
	wantEqual(t, "after", b.get("/events").body, "[]")
}

// TestSlowExpression checks that a pattern that backtracks endlessly is refused in the middle of a statement.
func TestSlowExpression(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite)
	b.submit(t, "store report", 8, []byte(strings.Replace(specialReport, "nïcode", "b"+strings.Repeat("a", 3000), 1)))
	a := b.get("/events", "query", `["~","message","^(a*)*\\1*(?=b)b(a*)*(a*)*(a*)*!$"]`)
	if a.status != http.StatusBadRequest || a.body != "ERROR: the regular expression takes too long on one value" {
		t.Errorf("%d %s", a.status, a.body)
	}
	wantEqual(t, "held patterns of this test", b.get("/events", "query", `["~","message","^(.)b"]`).status, http.StatusOK)
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	if a := b.get("/events"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "database is not available") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// blockedWriter is a response writer whose client does not read until it is released.
type blockedWriter struct {
	*httptest.ResponseRecorder
	asked chan<- struct{}
	read  <-chan struct{}
}

func (i *blockedWriter) Write(b []byte) (int, error) {
	select {
	case i.asked <- struct{}{}:
	default:
	}
	<-i.read
	return i.ResponseRecorder.Write(b)
}

// TestIdleReaders checks that clients that do not read long answers leave connections for queries and submissions,
// and that shorter answers need none while they are read.
func TestIdleReaders(t *testing.T) {
	t.Parallel()
	for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, d, func(o *query.Options) { o.Wide, o.Timeout = 1000, 10*time.Minute }).load(t) // busy machines take their time
			if size := len(b.get("/events").body); size <= query.MaxBuffered {
				t.Fatalf("%d bytes are no long answer", size)
			}
			const readers = 40 // more than there are connections
			writes, read := make(chan struct{}, 2*readers), make(chan struct{})
			var ended sync.WaitGroup
			idle := func(ctx context.Context, pairs ...string) {
				for range readers {
					ended.Go(func() {
						defer func() {
							if r := recover(); r != nil && r != http.ErrAbortHandler { //nolint:errorlint // as net/http does
								panic(r)
							}
						}()
						b.Serve(&blockedWriter{httptest.NewRecorder(), writes, read}, request("/events", pairs...).WithContext(ctx), "events", query.Scope{})
					})
				}
			}
			idle(t.Context(), "limit", "500")
			for range readers { // all readers of the shorter answers get to their first byte
				<-writes
			}
			long := b.LongPlaces()
			stay, leave := context.WithCancel(t.Context())
			defer leave()
			idle(stay)
			for range long {
				<-writes
			}
			wantEqual(t, "a query", b.get("/nodes", "limit", "1").status, http.StatusOK)
			b.submit(t, "store report", 8, []byte(specialReport))
			leave() // other tests check that clients get the whole answer
			close(read)
			ended.Wait()
		})
	}
}

// TestLongAnswersWait checks that a long answer without a place is refused, and that one that gets a place is
// complete.
func TestLongAnswersWait(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite, func(o *query.Options) { o.Timeout = 2 * time.Second }).load(t)
	want := b.get("/events", "pretty", "true", "include_total", "true")
	release := b.OccupyLong(t)
	if a := b.get("/events"); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "too many long answers") {
		t.Errorf("%d %v %.100s", a.status, a.header, a.body)
	}
	wantEqual(t, "a shorter one", b.get("/events", "limit", "100").status, http.StatusOK)
	time.AfterFunc(50*time.Millisecond, release)
	a := b.get("/events", "pretty", "true", "include_total", "true")
	if a.body != want.body || a.header.Get("X-Records") != want.header.Get("X-Records") {
		t.Errorf("begun again: %d, %d bytes instead of %d", a.status, len(a.body), len(want.body))
	}
}

// failingWriter is a response writer whose client closes the connection after the first piece of an answer.
type failingWriter struct {
	*httptest.ResponseRecorder
	pieces int
}

var errLeft = errors.New("the client left")

func (l *failingWriter) Write(b []byte) (int, error) {
	if l.pieces++; l.pieces > 1 {
		return 0, errLeft
	}
	return l.ResponseRecorder.Write(b)
}

// TestQueryPace checks that the body of a query has to arrive at a minimum pace.
func TestQueryPace(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite)
	for late, status := range map[bool]int{false: http.StatusOK, true: http.StatusRequestTimeout} {
		body := io.Reader(strings.NewReader(`{"limit":1}`))
		if late {
			body = io.MultiReader(body, iotest.ErrReader(os.ErrDeadlineExceeded))
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/query/v4/events", body)
		r.Header.Set("Content-Type", "application/json")
		w := inboundtest.New()
		b.Serve(w, r, "events", query.Scope{})
		if w.Code != status || !late && !w.Paced() {
			t.Errorf("late %t: %d %s, paced %t", late, w.Code, w.Body, w.Paced())
		}
	}
}

// TestBrokenAnswer checks that an answer that ends early closes the connection instead of looking complete.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite).load(t)
	defer func() {
		r := recover()
		if err, _ := r.(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v, want %v", r, http.ErrAbortHandler)
		}
		wantEqual(t, "the next", b.get("/events", "limit", "1").status, http.StatusOK)
	}()
	b.Serve(&failingWriter{ResponseRecorder: httptest.NewRecorder()}, request("/events"), "events", query.Scope{})
	t.Error("the answer came to an end")
}

// TestPatternsAreReleased checks that no patterns are held after queries. It must not run in parallel, because patterns
// are shared by the whole process.
func TestPatternsAreReleased(t *testing.T) {
	b := open(t, store.SQLite)
	b.submit(t, "store report", 8, []byte(specialReport))
	for _, pairs := range [][]string{
		{"query", `["~","certname","."]`, "include_total", "true"},
		{"query", `["and",["~","certname","."],["in","certname",["extract","certname",["select_reports",["~","certname","^s"]]]]]`},
		{"query", `["and",["~","certname","(a{255}){200}"],["~","file","x"]]`},
	} {
		b.get("/events", pairs...)
		b.get("/aggregate-event-counts", append(pairs[:2:2], "summarize_by", "certname,resource")...)
	}
	next := pattern.Hold(nil)
	pattern.Release(next)
	if next == 1 {
		t.Error("no pattern was passed to SQL")
	}
	for id := int64(1); id < next; id++ {
		if _, err := pattern.Match(id, ""); err == nil {
			t.Errorf("pattern %d is still known to SQL", id)
		}
	}
}
