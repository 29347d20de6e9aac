package runevents

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/rest/openapitest"
)

// TestFind checks the routes below each prefix with their rights, and paths that are not routes.
func TestFind(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t, func(o *Options) { o.Aliases = []string{"/pdb", "/a/b"} })
	for _, prefix := range []string{"/store", "/pdb", "/a/b"} {
		for path, want := range map[string]Right{
			"": Public, "/": Public, "/dashboard/app.js": Public, "/openapi.json": Public, "/status/v1/simple": Public,
			"/metrics/v2/list": Read, "/metrics/v2/read/a:name=b": Read, "/metrics/v2/read/a:name=!/b/Value": Read, "/status/v1/services": Read, "/status/v1/services/puppetdb-status": Read,
			"/meta/v1/version": Read, "/query/v4": Read, "/query/v4/events": Read, "/query/v4/reports/00/logs": Read, "/query/v4/nodes/a%2Fb": Read,
			"/cmd/v1": Submit,
		} {
			route, ours := s.Find(httptest.NewRequest(http.MethodGet, prefix+path, nil))
			if route == nil || !ours || route.Right != want {
				t.Errorf("%s%s: %+v, want right %d", prefix, path, route, want)
			}
		}
		for _, path := range []string{"/query", "/query/v5/events", "/query/v4/", "/cmd/v1/x", "//query/v4", "/dashboard/../query/v4"} {
			if route, ours := s.Find(httptest.NewRequest(http.MethodGet, prefix+path, nil)); route != nil || !ours {
				t.Errorf("%s%s: %+v, %t", prefix, path, route, ours)
			}
		}
	}
	// Where a prefix ends in /pdb, what the reference has beside that.
	for path, want := range map[string]Right{"/metrics/v2/list": Read, "/metrics/v2/read/a:name=b": Read, "/status/v1/services/puppetdb-status": Read, "/status/v1/simple": Public} {
		if route, ours := s.Find(httptest.NewRequest(http.MethodGet, path, nil)); route == nil || !ours || route.Right != want {
			t.Errorf("%s: %+v, want right %d", path, route, want)
		}
	}
	for _, path := range []string{
		"/", "/storefront", "/pdbx/query/v4", "/a/query/v4", "/a", "/metrics", "/metrics/v2", "/metrics/v2/write/a", "/metrics/v1/mbeans", "/status", "/query/v4", "/meta/v1/version", "/a/metrics/v2/list",
	} {
		if route, ours := s.Find(httptest.NewRequest(http.MethodGet, path, nil)); route != nil || ours {
			t.Errorf("%s: %+v, %t", path, route, ours)
		}
	}
}

// TestLinks checks that links in answers have the prefix of the request.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t, func(o *Options) { o.Aliases = []string{"/pdb"} })
	if w := s.post(strings.Replace(leastURL, "/store", "/pdb", 1), minimalReport()); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, prefix := range []string{"/store", "/pdb"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"/query/v4/reports", nil))
		var rows []struct{ Logs struct{ Href string } }
		if err := json.Unmarshal(w.Body.Bytes(), &rows); err != nil || len(rows) != 1 || !strings.HasPrefix(rows[0].Logs.Href, prefix+"/query/v4/reports/") {
			t.Errorf("%s: %s", prefix, w.Body)
		}
		w = httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"/query/v4/nodes/a.example.com", nil))
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), `{"certname":"a.example.com"`) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: node %d %s", prefix, w.Code, w.Body)
		}
	}
}

// TestAbsentRoutes checks the answers that dashboards get for entities that are never stored, and for single
// objects.
func TestAbsentRoutes(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t, func(o *Options) { o.Aliases = []string{"/pdb"} })
	payload := strings.Replace(string(minimalReport()), `"producer":null`, `"producer":"puppet.example.com"`, 1)
	if w := s.post(leastURL, []byte(payload)); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/pdb/query/v4"+path, nil))
		return w.Code, w.Body.String()
	}
	const count = `?query=["extract",[["function","count"]],["=","environment","production"]]`
	for path, want := range map[string]string{
		"/facts": "[]", "/facts/kernel": "[]", "/facts/kernel/Linux": "[]", "/facts/path/%2Fusr%2Fbin:/bin": "[]", "/fact-names": "[]", "/fact-paths": "[]", "/fact-contents": "[]",
		"/factsets": "[]", "/inventory": "[]", "/resources": "[]", "/resources/File": "[]", "/resources/File/%2Fetc%2Fhosts": "[]", "/edges": "[]", "/catalogs": "[]",
		"/catalogs/a.example.com/edges": "[]", "/catalogs/a.example.com/resources": "[]", "/catalogs/a.example.com/resources/Class/Main": "[]",
		"/nodes/a.example.com/facts": "[]", "/nodes/a.example.com/facts/os": "[]", "/nodes/a.example.com/facts/os/x": "[]", "/nodes/a.example.com/resources": "[]",
		"/nodes/a.example.com/resources/File": "[]", "/nodes/a.example.com/resources/File/%2Fx": "[]",
		"/environments/production/facts": "[]", "/environments/production/resources/Class": "[]", "/packages": "[]", "/package-inventory": "[]", "/package-inventory/a.example.com": "[]",
		"/environments/production": `{"name":"production"}`, "/producers": `[{"name":"puppet.example.com"}]`, "/producers/puppet.example.com": `{"name":"puppet.example.com"}`,
		"/catalogs/a.example.com": `{"certname":"a.example.com","version":null,"environment":null,"transaction_uuid":null,"catalog_uuid":null,"code_id":null,"job_id":null,` +
			`"producer":null,"producer_timestamp":null,"hash":null,"resources":{"data":[],"href":"/pdb/query/v4/catalogs/a.example.com/resources"},` +
			`"edges":{"data":[],"href":"/pdb/query/v4/catalogs/a.example.com/edges"}}`,
		"/producers/puppet.example.com/reports" + count: `[{"count":1}]`, "/producers/puppet.example.com/catalogs": "[]", "/producers/puppet.example.com/factsets" + count: `[{"count":0}]`,
		"/resources" + count: `[{"count":0}]`, "/nodes/a.example.com/facts" + count: `[{"count":0}]`,
		`/facts?query=["and",["=","name","kernel"],["=","environment","production"]]&limit=5&order_by=[{"field":"certname"}]`: "[]",
	} {
		if status, body := ask(strings.ReplaceAll(path, `"`, "%22")); status != http.StatusOK || body != want {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
	for path, want := range map[string]string{
		"/nodes/nobody/facts":          `{"error":"No information is known about node nobody"}`,
		"/catalogs/nobody":             `{"error":"No information is known about node nobody"}`,
		"/environments/nowhere":        `{"error":"No information is known about environment nowhere"}`,
		"/environments/nowhere/facts":  `{"error":"No information is known about environment nowhere"}`,
		"/producers/nobody":            `{"error":"No information is known about producer nobody"}`,
		"/producers/nobody/reports":    `{"error":"No information is known about producer nobody"}`,
		"/facts?query=[%22=%22]":       "= requires exactly two arguments",
		"/fact-names?limit=0":          "Illegal value '0' for :limit; expected a positive non-zero integer.",
		"/producers/x?query=[]":        "Unsupported query parameter 'query'",
		"/catalogs/a.example.com?a=b":  "Unsupported query parameter 'a'",
		"/fact-names?query=[]":         "Unsupported query parameter 'query'",
		"/inventory?summarize_by=name": "Unsupported query parameter 'summarize_by'",
	} {
		if status, body := ask(path); status/100 != 4 || body != want {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/store/query/v4/fact-names?include_total=true", nil))
	if w.Header().Get("X-Records") != "0" {
		t.Errorf("names: %v", w.Header())
	}
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/pdb/meta/v1/server-time", nil))
	if want := now.UTC().Format(`{"server_time":"2006-01-02T15:04:05.000Z"}`); w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("time: %d %s, want %s", w.Code, w.Body, want)
	}
}

// TestBeans checks that the numbers in beans are those of active nodes, at the paths that clients of dashboards
// use.
func TestBeans(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		s := p.start(t, func(o *Options) { o.Aliases = []string{"/pdb"} })
		ask := func(path string) string {
			t.Helper()
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			return w.Body.String()
		}
		const read = "/metrics/v2/read/puppetlabs.puppetdb.population%3Aname%3D"
		checkBean := func(name string, value string) {
			t.Helper()
			want := `{"request":{"type":"read","mbean":"puppetlabs.puppetdb.population:name=` + name + `"},"value":{"Value":` + value + `},"timestamp":` + strconv.FormatInt(now.Unix(), 10) + `,"status":200}`
			if got := ask(read + name); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		checkBean("num-nodes", "0")
		checkBean("num-resources", "0")
		checkBean("avg-resources-per-node", "0")
		counted := func(node, timestamp, metrics string) {
			t.Helper()
			if w := s.post(leastURL, minimalReport("a.example.com", node, "2026-03-02T10:00:10.000", timestamp, `"metrics":[]`, `"metrics":[`+metrics+`]`)); w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", node, w.Code, w.Body)
			}
		}
		const failed, total = `{"category":"resources","name":"failed","value":3},{"category":"time","name":"total","value":7.5}`, `,{"category":"resources","name":"total","value":`
		counted("a.example.com", "2026-03-02T10:00:10.000", failed+total+"100}")
		counted("a.example.com", "2026-03-02T10:30:10.000", failed+total+"121}")
		counted("b.example.com", "2026-03-02T10:00:10.000", failed+total+"14}")
		counted("c.example.com", "2026-03-02T10:00:10.000", failed)
		counted("d.example.com", "2026-03-02T10:00:10.000", failed+total+"1000}")
		if _, err := s.Process(t.Context(), Command{Name: deactivateNode, Version: 3, Certname: "x", Payload: []byte(`{"certname":"d.example.com","producer_timestamp":"2026-03-02T11:00:00Z"}`)}); err != nil {
			t.Fatal(err)
		}
		checkBean("num-nodes", "3")
		checkBean("num-resources", "135")
		checkBean("avg-resources-per-node", "45")
		for path, want := range map[string]string{
			"/store" + read + "num-nodes/Value":   `"attribute":"Value"},"value":3,"timestamp"`,
			"/pdb" + read + "num-nodes/Count":     `"error_type":"javax.management.AttributeNotFoundException"`,
			read + "num-files":                    `"error_type":"javax.management.InstanceNotFoundException"`,
			"/metrics/v2/read/x?maxDepth=3":       `"status":404}`,
			"/metrics/v2/list":                    `"value":{"puppetlabs.puppetdb.population":{"name=avg-resources-per-node":{"attr":{"Value":{`,
			"/status/v1/services":                 `{"puppetdb-status":{"service_version":"7.12.0","service_status_version":1,"detail_level":"info","state":"running",`,
			"/status/v1/services/puppetdb-status": `"queue_depth":0,`,
		} {
			if got := ask(path); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		s.failedAt.Store(now.UnixNano())
		text, err := openAPI("/")
		if err != nil {
			t.Fatal(err)
		}
		document := openapitest.New(t, text)
		for _, path := range []string{"/status/v1/services", "/status/v1/services/puppetdb-status"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path, nil)
			s.ServeHTTP(w, r)
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"state":"error"`) {
				t.Errorf("failing: %d %s", w.Code, w.Body)
			}
			document.Response(t, r, w.Result())
		}
	})
}

// TestExchange checks that the outcome of a submission is recorded, and that stored reports are counted.
func TestExchange(t *testing.T) {
	t.Parallel()
	var reports, events int
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t, func(o *Options) {
		o.Stored = func(r, e int) { reports, events = reports+r, events+e }
	})
	for _, c := range []struct {
		url, body string
		want      Exchange
	}{
		{leastURL, string(minimalReport()), Exchange{storeReport, "a.example.com", outcomeStored}},
		{leastURL, string(minimalReport()), Exchange{storeReport, "a.example.com", outcomeStored}},
		{leastURL, "{}", Exchange{storeReport, "a.example.com", outcomeRejected}},
		{leastURL + "&x=1", "{}", Exchange{Outcome: outcomeRefused}},
		{leastURL + "&secondsToWaitForCompletion=60", "{}", Exchange{storeReport, "a.example.com", outcomeRejected}},
	} {
		r := httptest.NewRequest(http.MethodPost, c.url, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		var became Exchange
		s.ServeHTTP(httptest.NewRecorder(), r.WithContext(WithExchange(r.Context(), &became)))
		if became != c.want {
			t.Errorf("%s: %+v, want %+v", c.url, became, c.want)
		}
	}
	s.Close()
	if reports != 1 || events != 1 {
		t.Errorf("Stored was called with %d reports and %d events", reports, events)
	}
	r := httptest.NewRequest(http.MethodPost, leastURL, strings.NewReader(string(minimalReport())))
	r.Header.Set("Content-Type", "application/json")
	var became Exchange
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r.WithContext(WithExchange(r.Context(), &became)))
	if became.Outcome != outcomeBusy || w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("at the end: %+v, %d", became, w.Code)
	}
}
