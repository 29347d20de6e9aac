package events

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestEventsDocument compares the answers and refusals of every route with the OpenAPI document.
func TestEventsDocument(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	n.Load(strings.Replace(n.config, "\t\t# read user", "\t\talias /pdb", 1))
	n.unpack(e2e.Repo("backends/runevents/testdata/reports.tar.gz"), "reports")
	n.Tool("events", "import", "reports")
	for _, prefix := range []string{"/store", "/pdb"} {
		d := e2e.NewDocumented(t, n.base+prefix)
		d.Call("POST", "/cmd/v1?command=store_report&version=8&certname=x&secondsToWaitForCompletion=60", string(agentRun("a.example.com")), 200)
		d.Call("POST", "/cmd/v1?command=store_report&version=8&certname=x", string(agentRun("a.example.com")), 200)
		d.Call("POST", "/cmd/v1?command=store_report&version=4&certname=x", "{}", 400)
		d.Call("POST", "/cmd/v1?command=store_report&version=8&certname=x&secondsToWaitForCompletion=60", "{}", 503)
		failing := n.rows(prefix+"/query/v4/nodes", `["=","latest_report_status","failed"]`)[0]
		hash, node := failing["latest_report_hash"].(string), failing["certname"].(string)
		for path, queries := range map[string][]string{
			"/query/v4/events": {
				"", "query=" + url.QueryEscape(`["=","status","failure"]`) + "&limit=3&include_total=true",
				"query=" + url.QueryEscape(`["extract",["status",["function","count"],["function","max","timestamp"]],["group_by","status"]]`),
				"distinct_resources=true&distinct_start_time=2020-01-01&distinct_end_time=2030-01-01",
			},
			"/query/v4/reports":                         {"", "limit=2&offset=1&order_by=" + url.QueryEscape(`[{"field":"end_time","order":"desc"}]`), "query=" + url.QueryEscape(`["extract","hash",["=","type","any"]]`)},
			"/query/v4/reports/" + hash + "/events":     {"", "limit=1"},
			"/query/v4/reports/" + hash + "/logs":       {"", "pretty=true"},
			"/query/v4/reports/" + hash + "/metrics":    {""},
			"/query/v4/nodes":                           {"", "query=" + url.QueryEscape(`["extract",["certname"],["null?","expired",true]]`)},
			"/query/v4/nodes/" + node:                   {""},
			"/query/v4/environments":                    {""},
			"/query/v4/environments/production":         {""},
			"/query/v4/environments/production/events":  {"limit=10"},
			"/query/v4/producers":                       {"", "limit=1"},
			"/query/v4/catalogs/" + node:                {""},
			"/query/v4/environments/production/reports": {"limit=2"},
			"/query/v4/event-counts":                    {"summarize_by=certname", "summarize_by=resource&count_by=certname&counts_filter=" + url.QueryEscape(`[">","failures",0]`), "summarize_by=containing_class"},
			"/query/v4/aggregate-event-counts":          {"summarize_by=certname", "summarize_by=certname,resource"},
			"/query/v4":                                 {"query=" + url.QueryEscape("nodes { latest_report_status = 'failed' }"), "query=" + url.QueryEscape(`["from","events",["=","status","noop"],["limit",3]]`)},
			"/meta/v1/version":                          {""},
			"/status/v1/simple":                         {""},
			"/status/v1/services":                       {""},
			"/status/v1/services/puppetdb-status":       {"pretty=true"},
			"/metrics/v2/list":                          {""},
			"/metrics/v2/read/puppetlabs.puppetdb.population:name=num-resources": {"", "maxDepth=2&pretty=true"},
			"/metrics/v2/read/puppetlabs.puppetdb.population:name=num-files":     {""},
		} {
			for _, query := range queries {
				if a := d.Call("GET", strings.TrimSuffix(path+"?"+query, "?"), "", 200); strings.HasPrefix(a.Body, "[]") && !strings.Contains(query, "count") {
					t.Errorf("%s?%s: no rows", path, query)
				}
			}
		}
		for _, path := range []string{"facts", "facts/kernel", "nodes/" + node + "/facts", "resources/File/%2Fetc", "fact-names", "inventory", "catalogs", "environments/production/facts"} {
			if a := d.Call("GET", "/query/v4/"+path, "", 200); a.Body != "[]" {
				t.Errorf("%s: %s", path, a.Body)
			}
		}
		d.Call("POST", "/query/v4/events", `{"query":["=","status","failure"],"limit":2,"order_by":[{"field":"timestamp"}]}`, 200)
		d.Call("POST", "/query/v4", `{"query":"reports[certname]{ limit 1 }"}`, 200)
		for path, status := range map[string]int{
			"/query/v4/events?query=x": 400, "/query/v4/events?limit=0": 400, "/query/v4": 400, "/query/v4/reports/" + strings.Repeat("0", 40) + "/logs": 404,
			"/query/v4/environments/nowhere/events": 404, "/query/v4/nodes/nobody.example.com": 404, "/query/v4/nodes/" + node + "?query=[]": 400,
		} {
			d.Call("GET", path, "", status)
		}
		a := e2e.Get(t, e2e.Client, n.base+prefix+"/openapi.json", "")
		if second := e2e.Get(t, e2e.Client, n.base+prefix+"/openapi.json", "", "If-None-Match", a.Header.Get("ETag")); second.Status != http.StatusNotModified || second.Body != "" {
			t.Errorf("unchanged: %d %s", second.Status, second.Body)
		}
	}

	// The page is served under both prefixes too.
	still := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if a := e2e.Get(t, still, n.base+"/pdb", ""); a.Status != http.StatusPermanentRedirect || a.Header.Get("Location") != "pdb/" {
		t.Errorf("redirect: %d %v", a.Status, a.Header)
	}
	if page, other := e2e.Get(t, e2e.Client, n.base+"/pdb/", ""), e2e.Get(t, e2e.Client, n.base+"/store/", ""); page.Status != http.StatusOK || page.Body != other.Body {
		t.Errorf("page: %d %s", page.Status, page.Body)
	}

	// A single node is an object, not a list, and is returned even if it is inactive.
	var row map[string]any
	if a := e2e.Get(t, e2e.Client, n.base+"/store/query/v4/nodes/a.example.com", ""); a.Status != 200 || json.Unmarshal([]byte(a.Body), &row) != nil || row["certname"] != "a.example.com" {
		t.Errorf("node: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, n.base+"/store/query/v4/nodes/nobody", ""); a.Body != `{"error":"No information is known about node nobody"}` {
		t.Errorf("no node: %s", a.Body)
	}
}

// TestEventsBudget checks that the option charges the costs of the route table to the user or, without one, to the
// address.
func TestEventsBudget(t *testing.T) {
	t.Parallel()
	var want []string
	for _, r := range runevents.Routes() {
		if r.Cost != 1 {
			want = append(want, fmt.Sprintf("cost %d * /{prefix}%s", r.Cost, r.Path))
			if r.Beside {
				want = append(want, fmt.Sprintf("cost %d * %s", r.Cost, r.Path))
			}
		}
	}
	if got := e2e.CostLines(e2e.LongForm(t, "events.budget")); !slices.Equal(got, want) {
		t.Errorf("costs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	n := newEvents(t, "")
	if a := e2e.Get(t, e2e.Client, n.base+"/store/query/v4/events", ""); a.Header.Get("X-Ratelimit-Limit") != "" {
		t.Errorf("a budget that is not configured: %v", a.Header)
	}
	n.Load(strings.Replace(n.config, "\t\t# read user", "\t\tread loopback\n\t\tread user\n\t\talias /pdb\n\t\tbudget 21 1h", 1))
	for _, c := range []struct {
		method, path, body string
		cost               string
	}{
		{"GET", "/store/query/v4/event-counts?summarize_by=certname", "", "10"},
		{"GET", "/store/query/v4/events", "", "5"},
		{"POST", "/store/query/v4/events", "{}", "5"},
		{"POST", e2e.Submission, string(agentRun("a.example.com")), "1"},
		{"GET", "/store/", "", "0"},
		{"GET", "/store/status/v1/simple", "", "0"},
		{"GET", "/status/v1/simple", "", "0"},
	} {
		a := e2e.Do(t, e2e.Client, c.method, n.base+c.path, "", c.body, "Content-Type", "application/json")
		if a.Status != 200 || a.Header.Get("X-Ratelimit-Cost") != c.cost {
			t.Errorf("%s %s: %d, cost %s, want %s", c.method, c.path, a.Status, a.Header.Get("X-Ratelimit-Cost"), c.cost)
		}
	}
	a := e2e.Get(t, e2e.Client, n.base+"/store/query/v4/nodes", "")
	if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || !strings.HasPrefix(a.Body, `{"error":"`) {
		t.Errorf("nothing remains: %d %v %s", a.Status, a.Header, a.Body)
	}
	token := strings.TrimSpace(n.Tool("keychain", "token", "ada"))
	if a := e2e.Get(t, e2e.Client, n.base+"/store/query/v4/nodes", token); a.Status != 200 || a.Header.Get("X-Ratelimit-Remaining") != "19" {
		t.Errorf("a user: %d %v", a.Status, a.Header)
	}
}

// TestEventsMetrics checks that commands, queries and stored rows are counted, and that the access log names the
// command.
func TestEventsMetrics(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	config := strings.Replace(n.config, "\tskip_install_trust\n", "\tskip_install_trust\n\tmetrics\n", 1)
	n.Load(strings.Replace(config, "\ttollgate events {", "\tlog\n\tmetrics /metrics\n\ttollgate events {", 1))
	post := func(path, body string) {
		_ = e2e.Do(t, e2e.Client, "POST", n.base+path, "", body, "Content-Type", "application/json")
	}
	post(e2e.Submission, string(agentRun("a.example.com")))
	post(e2e.Submission, string(agentRun("a.example.com")))
	post(e2e.Submission, `{"certname":7}`)
	post("/store/cmd/v1?command=reboot", "{}")
	post("/store/cmd/v1?command=deactivate_node&version=3&certname=x", `{"certname":"a.example.com","producer_timestamp":"2026-03-02T10:00:00Z"}`)
	e2e.Get(t, e2e.Client, n.base+"/store/query/v4/events", "")
	e2e.Get(t, e2e.Client, n.base+"/store/query/v4/events?limit=0", "")
	e2e.Get(t, e2e.Client, n.base+"/store/query/v4?query="+url.QueryEscape("nodes{}"), "")
	e2e.Do(t, e2e.Client, "POST", n.base+e2e.Submission, "", "{}", "X-Forwarded-For", "192.0.2.1")
	text := e2e.Get(t, e2e.Client, n.base+"/metrics", "").Body
	for _, line := range []string{
		`tollgate_run_events_commands_total{command="store_report",outcome="stored"} 2`,
		`tollgate_run_events_commands_total{command="store_report",outcome="rejected"} 1`,
		`tollgate_run_events_commands_total{command="deactivate_node",outcome="stored"} 1`,
		`tollgate_run_events_commands_total{command="none",outcome="refused"} 1`,
		`tollgate_run_events_commands_total{command="none",outcome="forbidden"} 1`,
		`tollgate_run_events_stored_reports_total 1`,
		`tollgate_run_events_stored_events_total 3`,
		`tollgate_run_events_queued_reports 0`,
		`tollgate_run_events_rejected_commands 1`,
		`tollgate_run_events_queries_total{entity="events",status="2xx"} 1`,
		`tollgate_run_events_queries_total{entity="events",status="4xx"} 1`,
		`tollgate_run_events_queries_total{entity="any",status="2xx"} 1`,
		`tollgate_run_events_query_seconds_count{entity="events"} 2`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "tollgate_run_events") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	n.AwaitLog(`"run_events_command":"store report"`, `"run_events_certname":"x"`, `"run_events_outcome":"rejected"`)
}
