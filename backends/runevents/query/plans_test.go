package query_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPlans checks that the usual queries find their events by an index or by the time, and do not scan all events.
func TestPlans(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		sqlite := b.db.Dialect() == store.SQLite
		for name, c := range map[string]struct {
			entity, query    string
			sqlite, postgres string
		}{
			"report":       {"events", `["=","report","2a6a32aeb2e36e9a5e8e116b42d3644cf62a1711"]`, "run_events_report", "_report_idx"},
			"window":       {"events", `["and",[">","timestamp","2026-03-03T00:00:00Z"],["<","timestamp","2026-03-03T23:59:59Z"]]`, "PRIMARY KEY (at>? AND at<?)", "run_events_d20496"},
			"certname":     {"events", `["=","certname","web01.example.com"]`, "run_events_node", "_node_at_idx"},
			"title":        {"events", `["and",["=","resource_type","Service"],["=","resource_title","nginx"]]`, "run_events_resource", "_resource_at_idx"},
			"latest, file": {"events", `["and",["=","latest_report?",true],["~","file","ntp/manifests/service"]]`, "COVERING INDEX run_events_report", "Index"},
			"regexes":      {"events", `["and",["=","status","failure"],["~","certname","^app"],["=","resource_type","Appcfg"]]`, "COVERING INDEX run_events_status", "Index"},
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
		for name, pairs := range map[string][]string{
			"window":             {"query", `["and",[">","timestamp","2026-03-03T00:00:00Z"],["<","timestamp","2026-03-03T23:59:59Z"]]`},
			"counts of a window": {"query", `["extract",["status",["function","count"]],["and",[">=","timestamp","2026-03-03T00:30:00Z"],["<","timestamp","2026-03-03T23:30:00Z"]],["group_by","status"]]`},
			"distinct":           {"distinct_resources", "true", "distinct_start_time", "2026-03-03", "distinct_end_time", "2026-03-03T23:00:00Z", "query", `["=","status","failure"]`},
		} {
			if sqlite {
				break
			}
			_, plan := b.Explain(t, request("/events", pairs...), "events", query.Scope{})
			days := partitions.FindAllString(plan, -1)
			slices.Sort(days)
			if days = slices.Compact(days); !slices.Equal(days, []string{"run_events_d20496"}) {
				t.Errorf("%s: reads the partitions %q\n%s", name, days, plan)
			}
		}
		for name, c := range map[string]struct {
			entity string
			pairs  []string
			index  string
		}{
			"by state":           {"events", []string{"query", `["extract",["status",["function","count"]],["group_by","status"]]`}, "run_event_counts USING PRIMARY KEY"},
			"by state and class": {"events", []string{"query", `["extract",["status",["function","count"]],["~","resource_type","^F"],["group_by","status"]]`}, "INDEX run_events_"},
			"by node":            {"events", []string{"query", `["extract",["certname",["function","count"]],["group_by","certname"]]`}, "run_node_counts USING PRIMARY KEY"},
			"by node and state":  {"events", []string{"query", `["extract",["certname","status",["function","count"]],["group_by","certname","status"]]`}, "run_node_counts USING PRIMARY KEY"},
			"by type":            {"events", []string{"query", `["extract",["resource_type",["function","count"]],["group_by","resource_type"]]`}, "COVERING INDEX run_events_resource"},
			"by environment":     {"events", []string{"query", `["extract",["environment",["function","count"]],["group_by","environment"]]`}, "COVERING INDEX run_events_report"},
			"latest, by state":   {"events", []string{"query", `["extract",["status",["function","count"]],["=","latest_report?",true],["group_by","status"]]`}, "COVERING INDEX run_events_report"},
			"counts of nodes":    {"event-counts", []string{"summarize_by", "certname"}, "COVERING INDEX run_events_node"},
			"counts of classes":  {"event-counts", []string{"summarize_by", "containing_class"}, "COVERING INDEX run_events_resource"},
			"counts of latest":   {"event-counts", []string{"summarize_by", "resource", "query", `["=","latest_report?",true]`}, "COVERING INDEX run_events_report"},
			"all, how many":      {"events", []string{"query", `["extract",[["function","count"]]]`}, "run_event_counts USING PRIMARY KEY"},
			"aggregate of nodes": {"aggregate-event-counts", []string{"summarize_by", "certname"}, "COVERING INDEX run_events_node"},
		} {
			if !sqlite {
				break
			}
			statement, plan := b.Explain(t, request("/"+c.entity, c.pairs...), c.entity, query.Scope{})
			if !strings.Contains(plan, c.index) || strings.Contains(plan, "SEARCH r ") && name != "by environment" {
				t.Errorf("%s: want %s alone\n%s\n%s", name, c.index, plan, statement)
			}
		}
		distinct := []string{"distinct_resources", "true", "distinct_start_time", "2026-03-03", "distinct_end_time", "2026-03-04", "query", `["=","status","failure"]`}
		if _, plan := b.Explain(t, request("/events", distinct...), "events", query.Scope{}); sqlite && !strings.Contains(plan, "SEARCH x USING INDEX run_resources_title") ||
			!sqlite && !strings.Contains(plan, "CTE Scan on near") {
			t.Errorf("distinct resources are not found by their titles, or looked up for each node:\n%s", plan)
		}
		if sqlite {
			_, plan := b.Explain(t, request("/events", "order_by", `[{"field":"timestamp"}]`, "limit", "10"), "events", query.Scope{})
			if strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("a page in the order of time is sorted:\n%s", plan)
			}
		}
	})
}

var partitions = regexp.MustCompile(`run_events_d\d+`)

// hostile contains texts that would change a statement of which they became a part.
var hostile = []string{
	`'; DROP TABLE run_events; --`, `" OR 1=1 --`, `$1`, `?`, `?1`, `%s`, `\'`, `'||(SELECT 1)||'`, "`", "a\nb", `/*`, `*/`, `{{x}}`, `]`, `\`, `')) UNION SELECT certname FROM run_nodes --`,
}

// TestInjection puts hostile texts into every place of a query. None of them
// may get into a statement or move rows.
func TestInjection(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		for _, h := range hostile {
			s := jsonText(h)
			for _, q := range []string{
				`["=","certname",` + s + `]`, `["=","status",` + s + `]`, `["=","report",` + s + `]`, `["=","new_value",` + s + `]`, `["=","new_value",{` + s + `:1}]`,
				`["=","containment_path",` + s + `]`, `["~","file",` + jsonText("***="+h) + `]`, `["~","certname",` + jsonText("***="+h) + `]`,
				`["in","certname",["array",[` + s + `]]]`, `["in","message",["array",[` + strings.TrimSuffix(strings.Repeat(s+",", 60), ",") + `]]]`,
				`["in","certname",["extract","certname",["select_reports",["=","environment",` + s + `]]]]`,
				`["extract",[["function","to_string","timestamp",` + jsonText(`"`+strings.NewReplacer(`"`, "", `\`, "").Replace(h)+`"`) + `]],["=","certname",` + s + `]]`,
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
