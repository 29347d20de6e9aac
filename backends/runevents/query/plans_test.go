package query_test

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPlans holds that the usual shapes find their events by an index or by
// the key of time, and do not read them all.
func TestPlans(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bed) {
		sqlite := b.db.Dialect() == store.SQLite
		for name, c := range map[string]struct {
			entity, query    string
			sqlite, postgres string
		}{
			"report":       {"events", `["=","report","2a6a32aeb2e36e9a5e8e116b42d3644cf62a1711"]`, "run_events_report", "_report_idx"},
			"window":       {"events", `["and",[">","timestamp","2026-03-03T00:00:00Z"],["<","timestamp","2026-03-03T23:59:59Z"]]`, "PRIMARY KEY (at>? AND at<?)", "run_events_d20515"},
			"certname":     {"events", `["=","certname","web01.example.com"]`, "run_events_node", "_node_at_idx"},
			"title":        {"events", `["and",["=","resource_type","Service"],["=","resource_title","nginx"]]`, "run_events_resource", "_resource_at_idx"},
			"latest, file": {"events", `["and",["=","latest_report?",true],["~","file","ntp/manifests/service"]]`, "run_events_report", "Index"},
			"regexes":      {"events", `["and",["=","status","failure"],["~","certname","^app"],["=","resource_type","Appcfg"]]`, "run_events_", "Index"},
			"subquery":     {"events", `["and",["subquery","reports",["=","hash","2a6a32aeb2e36e9a5e8e116b42d3644cf62a1711"]],["=","status","noop"]]`, "run_events_", "Index"},
			"hash":         {"reports", `["=","hash","2a6a32aeb2e36e9a5e8e116b42d3644cf62a1711"]`, "sqlite_autoindex_run_reports_1", "run_reports_hash_key"},
			"node":         {"reports", `["=","certname","web01.example.com"]`, "run_reports_node", "run_reports_node"},
		} {
			statement, plan := b.Explain(t, request("/"+c.entity, "query", c.query), c.entity, query.Scope{})
			want := c.postgres
			if sqlite {
				want = c.sqlite
			}
			if !strings.Contains(plan, want) || strings.Contains(plan, "SCAN e\n") || strings.Contains(plan, "Seq Scan on run_events") {
				t.Errorf("%s: want %s in the plan\n%s\n%s", name, want, plan, statement)
			}
		}
		if sqlite {
			_, plan := b.Explain(t, request("/events", "order_by", `[{"field":"timestamp"}]`, "limit", "10"), "events", query.Scope{})
			if strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("a page in the order of time is sorted:\n%s", plan)
			}
		}
	})
}

// hostile are texts that would change a statement they became part of.
var hostile = []string{
	`'; DROP TABLE run_events; --`, `" OR 1=1 --`, `$1`, `?`, `?1`, `%s`, `\'`, `'||(SELECT 1)||'`, "`", "a\nb", `/*`, `*/`, `{{x}}`, `]`, `\`, `')) UNION SELECT certname FROM run_nodes --`,
}

// TestInjection puts hostile texts into every place of a query. None of them
// may get into a statement or move rows.
func TestInjection(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bed) {
		for _, h := range hostile {
			s := spell(h)
			for _, q := range []string{
				`["=","certname",` + s + `]`, `["=","status",` + s + `]`, `["=","report",` + s + `]`, `["=","new_value",` + s + `]`, `["=","new_value",{` + s + `:1}]`,
				`["=","containment_path",` + s + `]`, `["~","file",` + spell("***="+h) + `]`, `["~","certname",` + spell("***="+h) + `]`,
				`["in","certname",["array",[` + s + `]]]`, `["in","message",["array",[` + strings.TrimSuffix(strings.Repeat(s+",", 60), ",") + `]]]`,
				`["in","certname",["extract","certname",["select_reports",["=","environment",` + s + `]]]]`,
				`["extract",[["function","to_string","timestamp",` + spell(`"`+strings.NewReplacer(`"`, "", `\`, "").Replace(h)+`"`) + `]],["=","certname",` + s + `]]`,
			} {
				a := b.get("/events", "query", q)
				if a.status != 200 || a.body != "[]" && !strings.Contains(q, "=*") && h != "a\nb" && !strings.Contains(q, `"***=`) {
					t.Errorf("%s: %d %.300s", q, a.status, a.body)
					continue
				}
				if statement, _ := b.Explain(t, request("/events", "query", q), "events", query.Scope{}); len(h) > 3 && strings.Contains(statement, h) {
					t.Errorf("%s is in %s", h, statement)
				}
			}
			for _, q := range []string{
				`["=",` + s + `,1]`, `[` + s + `,"certname","x"]`, `["extract",` + s + `]`, `["extract",[["function",` + s + `]]]`, `["extract","status",["group_by",` + s + `]]`,
				`["subquery",` + s + `,[]]`, `["in",` + s + `,["array",[]]]`, `["in","certname",["extract","certname",[` + s + `]]]`, `["=","node_state",` + s + `]`, `["<","timestamp",` + s + `]`,
			} {
				if a := b.get("/events", "query", q); a.status != 400 {
					t.Errorf("%s: %d %.300s", q, a.status, a.body)
				}
			}
			for _, pairs := range [][]string{
				{"order_by", `[{"field":` + s + `}]`},
				{"limit", h},
				{"offset", h},
				{"distinct_resources", "true", "distinct_start_time", h, "distinct_end_time", h},
			} {
				if a := b.get("/events", pairs...); a.status != 400 {
					t.Errorf("%q: %d %.300s", pairs, a.status, a.body)
				}
			}
			for _, pairs := range [][]string{{"summarize_by", h}, {"summarize_by", "certname", "count_by", h}, {"summarize_by", "certname", "counts_filter", `["=",` + s + `,1]`}} {
				if a := b.get("/event-counts", pairs...); a.status != 400 {
					t.Errorf("%q: %d %.300s", pairs, a.status, a.body)
				}
			}
			r := request("/environments/x/events")
			r.URL.Path = "/query/v4/environments/" + strings.ReplaceAll(h, "/", "") + "/events"
			if a := b.call(r); a.status != 404 {
				t.Errorf("environment %q: %d %s", h, a.status, a.body)
			}
		}
		if n := len(b.rows(t, "/events")); n != 2333 {
			t.Errorf("%d events are left, want 2333", n)
		}
	})
}
