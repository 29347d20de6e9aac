package query_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

const year = 365 * 24 * time.Hour

// now is shortly after the last of the real reports.
var now = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

// payloads are the real reports.
var payloads = sync.OnceValues(func() ([][]byte, error) {
	f, err := os.Open("../testdata/reports.tar.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var list [][]byte
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(h.Name, ".json") {
			body, err := io.ReadAll(archive)
			if err != nil {
				return nil, err
			}
			list = append(list, body)
		}
	}
})

// fixture is a query service with a database, and a service that stores reports in it.
type fixture struct {
	*query.Service
	db    *store.DB
	store *runevents.Service
}

// open returns a fixture with an empty database.
func open(tb testing.TB, dialect store.Dialect, change ...func(*query.Options)) *fixture {
	tb.Helper()
	var db *store.DB
	var err error
	if dialect == store.Postgres {
		db, err = store.NewPostgres(store.PostgresOptions{DSN: testenv.Postgres(tb).DSN()}, zap.NewNop())
	} else {
		db, err = store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(tb.TempDir(), "test.db"), Synchronous: "NORMAL"}, zap.NewNop())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	if err := db.Register(runevents.Schema()); err != nil {
		tb.Fatal(err)
	}
	testenv.Open(tb, db)
	clock := func() time.Time { return now }
	s, err := runevents.New(runevents.Options{DB: db, EventTTL: 10 * year, ReportTTL: 10 * year, Now: clock})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	o := query.Options{DB: db, Now: clock, Before: func(ctx context.Context) { _ = s.Settle(ctx) }}
	for _, f := range change {
		f(&o)
	}
	q, err := query.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return &fixture{q, db, s}
}

// load stores the real reports, and the reports in more.
func (b *fixture) load(tb testing.TB, more ...string) *fixture {
	tb.Helper()
	return b.loadEveryNth(tb, 1, more...)
}

// loadEveryNth stores every nth real report, and the reports in more.
func (b *fixture) loadEveryNth(tb testing.TB, nth int, more ...string) *fixture {
	tb.Helper()
	list, err := payloads()
	if err != nil || len(list) != 89 {
		tb.Fatalf("%d real reports, %v", len(list), err)
	}
	var wg sync.WaitGroup
	for i, body := range list {
		if i%nth != 0 {
			continue
		}
		wg.Go(func() { b.submit(tb, "store report", 8, body) })
	}
	for _, m := range more {
		wg.Go(func() { b.submit(tb, "store report", 8, []byte(m)) })
	}
	wg.Wait()
	if err := b.store.Settle(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return b
}

func (b *fixture) submit(tb testing.TB, name string, version int, payload []byte) {
	tb.Helper()
	if _, err := b.store.Process(tb.Context(), runevents.Command{Name: name, Version: version, Certname: "x", Payload: payload}); err != nil {
		tb.Errorf("%s: %v", name, err)
	}
}

// onBoth runs the test on each engine with the real reports.
func onBoth(t *testing.T, test func(t *testing.T, b *fixture)) {
	t.Helper()
	for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, open(t, d).load(t, special...))
		})
	}
}

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends a request to an endpoint, as the routes do.
func (b *fixture) call(r *http.Request) answer {
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, "/query/v4"), "/")
	scope := query.Scope{}
	parts := strings.Split(path, "/")
	if len(parts) == 3 {
		switch parts[0] {
		case "reports":
			scope.Report = parts[1]
		case "environments":
			scope.Environment = parts[1]
		}
		path = parts[2]
	}
	w := httptest.NewRecorder()
	b.Serve(w, r, path, scope)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// get asks an endpoint with pairs of names and values.
func (b *fixture) get(path string, pairs ...string) answer {
	return b.call(request(path, pairs...))
}

func request(path string, pairs ...string) *http.Request {
	var q []string
	for i := 0; i+1 < len(pairs); i += 2 {
		q = append(q, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
	}
	return httptest.NewRequest(http.MethodGet, "/query/v4"+path+"?"+strings.Join(q, "&"), nil)
}

// rows asks for rows and fails where there are none to be had.
func (b *fixture) rows(tb testing.TB, path string, pairs ...string) []map[string]any {
	tb.Helper()
	a := b.get(path, pairs...)
	if a.status != http.StatusOK {
		tb.Fatalf("%s %q: %d %s", path, pairs, a.status, a.body)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(a.body), &rows); err != nil {
		tb.Fatalf("%s %q: %v\n%.500s", path, pairs, err, a.body)
	}
	return rows
}

// count asks for the number of rows of a query.
func (b *fixture) count(tb testing.TB, path, q string) int {
	tb.Helper()
	return len(b.rows(tb, path, "query", q))
}

// rowText returns a row as text, which is the same for equal rows.
func rowText(tb testing.TB, row any, ignored ...string) string {
	tb.Helper()
	if m, ok := row.(map[string]any); ok {
		for _, k := range ignored {
			delete(m, k)
		}
	}
	text, err := json.Marshal(row)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func rowTexts(tb testing.TB, rows []map[string]any, ordered bool) []string {
	tb.Helper()
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = rowText(tb, r, "receive_time", "report_receive_time")
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

func wantEqual(tb testing.TB, name string, got, want any) {
	tb.Helper()
	if !reflect.DeepEqual(got, want) {
		tb.Errorf("%s:\ngot  %v\nwant %v", name, got, want)
	}
}

// special is a node whose values the real reports do not have.
var special = []string{specialReport}

const specialReport = `{"certname":"special.example.com","puppet_version":"7.23.0","report_format":12,"configuration_version":"special-1",
"start_time":"2026-03-20T10:00:00.000+00:00","end_time":"2026-03-20T10:05:00.000+00:00","producer_timestamp":"2026-03-20T10:06:00.000+00:00",
"producer":null,"environment":"special","transaction_uuid":null,"catalog_uuid":null,"code_id":null,"cached_catalog_status":null,"job_id":null,
"status":null,"noop":null,"noop_pending":null,"corrective_change":true,"type":"agent","logs":[{"file":null,"line":null,"level":"info","message":"hello","source":"x","tags":["a"],"time":"2026-03-20T10:00:00.000+00:00"}],
"metrics":[{"category":"time","name":"total","value":1.5}],
"resources":[
{"skipped":false,"timestamp":"2026-03-20T10:01:00.000+00:00","resource_type":"Special","resource_title":"a\nb","file":null,"line":null,"containment_path":["Stage[main]","Über","Special[a]"],"corrective_change":null,
 "events":[{"status":"success","timestamp":"2026-03-20T10:01:00.123+00:00","property":"p","name":"n","new_value":8,"old_value":{"b":[1,2.50],"a":null},"message":"nïcode ÄÖ 'quoted' \"x\" \\ \u2603 𝄞","corrective_change":true}]},
{"skipped":false,"timestamp":"2026-03-20T10:02:00.000+00:00","resource_type":"Special","resource_title":"b","file":"/x.pp","line":7,"containment_path":["a b"],"corrective_change":null,
 "events":[{"status":"strange","timestamp":"2026-03-20T10:02:00.000+00:00","property":"p","name":"n","new_value":null,"old_value":"8","message":null,"corrective_change":null}]},
{"skipped":true,"timestamp":"2026-03-20T10:03:00.000+00:00","resource_type":"Special","resource_title":"c","file":"/x.pp","line":7,"containment_path":["a","b"],"corrective_change":null,"events":[]},
{"skipped":false,"timestamp":"2026-03-20T10:04:00.000+00:00","resource_type":"Special","resource_title":"d","file":"/x.pp","line":1000,"containment_path":[],"corrective_change":null,
 "events":[{"status":"failure","timestamp":"2026-03-20T10:04:00.000+00:00","property":null,"name":"n","new_value":true,"old_value":["x"],"message":"","corrective_change":false}]}
]}`
