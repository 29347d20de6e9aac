package query_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

var generated = flag.Int("generated", 600, "how many generated queries the engines are compared by")

// generator generates queries by the grammar, most of them valid.
type generator struct{ *rand.Rand }

func pick[T any](g generator, choices ...T) T { return choices[g.IntN(len(choices))] }

var (
	eventTexts = []string{"certname", "status", "resource_type", "resource_title", "property", "name", "message", "file", "containing_class", "environment", "configuration_version", "report"}
	eventTimes = []string{"timestamp", "run_start_time", "run_end_time"}
	texts      = []string{
		"web01.example.com", "db01.example.com", "special.example.com", "success", "failure", "noop", "skipped", "strange", "changed", "failed", "Service", "File", "Special",
		"ensure", "message", "nginx", "ntpd", "Main", "Ntp::Service", "Über", "production", "special", "", "b", "refresh", "no such value", "'; DROP TABLE run_events; --", "%", "_", "ü", "0",
	}
	expressions = []string{
		"^web", "example\\.(com|net)$", "[[:digit:]]{2}", "\\d", "\\w+code", "(?i)NGINX", "ntp|nginx", "^$", ".", "a.b", "(?n)^b", "(?n)a$", "(.)\\1", "\\mntp\\M", "(?=.*e)^s", "(?<!w)eb", "[^a-z]", "\\s",
		"***=a.b", "\\yb\\y", "é|Ä", "[[:upper:]]", "(a|b)*?c", "x{0,2}y", "[Ä-Ü]", "\\u00fc", "\\S+ \\S+", "^.{5,10}$", "\\Afile", "h\\Z", "[^\\d]", "[\\w.]+@", "()", "|", "\\D\\W", "[^\\x00-\\x7f]", "[[.space.]-[.slash.]]", "x|\\0",
	}
	moments = []any{"2026-03-03", "2026-03-03T12:00:00Z", "2026-03-05T00:00:00+02:00", 1772616360000, "2026-W10-3", "2026-03-20T10:01:00.123Z", "2030", "1970"}
	paths   = []string{"Stage[main]", "Ntp::Service", "Über", "a", "a b", "nothing"}
	anyJSON = []any{"running", "stopped", "", "8", 8, 8.0, nil, true, "present", map[string]any{"a": nil, "b": []any{1, 2.5}}, []any{"x"}, "absent"}
)

func (g generator) clause(entity string, depth int) any {
	if depth > 0 && g.IntN(3) > 0 {
		switch g.IntN(8) {
		case 0, 1:
			return []any{"not", g.clause(entity, depth-1)}
		case 2, 3, 4:
			return append([]any{"and"}, g.clauses(entity, depth)...)
		default:
			return append([]any{"or"}, g.clauses(entity, depth)...)
		}
	}
	if entity == "reports" {
		return g.reportClause(depth)
	}
	switch g.IntN(16) {
	case 0, 1, 2:
		return []any{"=", pick(g, eventTexts...), pick(g, texts...)}
	case 3, 4:
		return []any{"~", pick(g, append(eventTexts, "containment_path", "new_value", "old_value")...), pick(g, expressions...)}
	case 5, 6:
		return []any{pick(g, "=", "<", "<=", ">", ">="), pick(g, eventTimes...), pick(g, moments...)}
	case 7:
		return []any{pick(g, "=", "<", "<=", ">", ">=", "!="), "line", pick[any](g, 7, 7.0, 12.5, 1000, 0, -3)}
	case 8:
		return []any{"null?", pick(g, append(eventTexts, "line", "new_value", "old_value", "containment_path", "corrective_change", "timestamp")...), pick(g, true, false)}
	case 9:
		return []any{pick(g, "=", "!="), pick(g, "new_value", "old_value"), pick(g, anyJSON...)}
	case 10:
		return []any{"=", "containment_path", pick(g, paths...)}
	case 11:
		return []any{"=", "latest_report?", pick(g, true, false)}
	case 12:
		n := g.IntN(4)
		if g.IntN(8) == 0 {
			n = 60
		}
		values := make([]any, n)
		field := pick(g, append(eventTexts, "line", "new_value", "timestamp")...)
		for i := range values {
			switch field {
			case "line":
				values[i] = pick[any](g, 7, 2, 3.5, 1000)
			case "new_value":
				values[i] = pick(g, anyJSON...)
			case "timestamp":
				values[i] = pick[any](g, "2026-03-20T10:01:00.123Z", "no time", 1772616360000)
			default:
				values[i] = pick[any](g, texts[g.IntN(len(texts))], 5, nil)
			}
		}
		return []any{"in", field, []any{"array", values}}
	case 13:
		return []any{"subquery", pick(g, "reports", "nodes", "environments", "events", "catalogs"), []any{}}
	case 14:
		return g.inner(depth)
	default:
		return []any{"=", []any{"node", "active"}, pick(g, true, false)}
	}
}

func (g generator) clauses(entity string, depth int) []any {
	list := make([]any, 1+g.IntN(3))
	for i := range list {
		list[i] = g.clause(entity, depth-1)
	}
	return list
}

func (g generator) reportClause(depth int) any {
	switch g.IntN(7) {
	case 0:
		return []any{"=", pick(g, "status", "certname", "environment", "producer", "type", "transaction_uuid"), pick(g, texts...)}
	case 1:
		return []any{"~", pick(g, "status", "certname", "environment", "puppet_version", "hash", "code_id"), pick(g, expressions...)}
	case 2:
		return []any{pick(g, "<", ">="), pick(g, "start_time", "producer_timestamp"), pick(g, moments...)}
	case 3:
		return []any{"=", pick(g, "noop", "noop_pending", "latest_report?"), pick(g, true, false)}
	case 4:
		return []any{"null?", pick(g, "status", "noop", "producer", "job_id", "corrective_change", "hash"), pick(g, true, false)}
	case 5:
		return []any{"subquery", "events", g.clause("events", min(depth, 1)-1)}
	default:
		return []any{"=", "type", pick(g, "agent", "plan", "any")}
	}
}

func (g generator) nodeClause(depth int) any {
	field := pick(g, "certname", "report_environment", "latest_report_hash", "latest_report_status", "cached_catalog_status", "facts_environment", "latest_report_job_id")
	switch g.IntN(7) {
	case 0:
		return []any{"=", field, pick(g, texts...)}
	case 1:
		return []any{"not", []any{"~", field, pick(g, expressions...)}}
	case 2:
		return []any{"not", []any{"in", field, []any{"array", []any{pick(g, texts...), pick(g, texts...)}}}}
	case 3:
		return []any{"=", "node_state", pick(g, "active", "inactive", "any")}
	case 4:
		return []any{"null?", field, pick(g, true, false)}
	case 5:
		return []any{"subquery", "reports", g.clause("reports", min(depth, 1)-1)}
	default:
		return []any{pick(g, "and", "or"), g.nodeClause(depth - 1), []any{"not", g.nodeClause(depth - 1)}}
	}
}

func (g generator) inner(depth int) any {
	q := g.clause("reports", min(depth, 2)-1)
	switch g.IntN(6) {
	case 0:
		return []any{"in", "certname", []any{"extract", "certname", []any{"select_reports", q}}}
	case 1:
		return []any{"in", []any{"report", "certname"}, []any{"extract", []any{"hash", "certname"}, []any{"select_reports", q}}}
	case 2:
		return []any{"in", "run_start_time", []any{"from", "reports", []any{"extract", "start_time", q}, []any{"order_by", []any{[]any{"start_time", "desc"}, "hash"}}, []any{"limit", 3}}}
	case 3:
		return []any{"in", "status", []any{"extract", "property", []any{"select_events", g.clause("events", 0)}}}
	case 4:
		return []any{"in", "timestamp", []any{"from", "events", []any{"extract", []any{[]any{"function", "max", "timestamp"}}, g.clause("events", 0)}}}
	default:
		return []any{"in", "environment", []any{"from", "environments", []any{"extract", "name", []any{"~", "name", pick(g, expressions...)}}}}
	}
}

// time returns a clause that restricts the time and little else.
func (g generator) time() any {
	clause := []any{"and", []any{pick(g, ">", ">="), "timestamp", pick(g, "2026-03-01T10:00:00Z", "2026-03-03", "2026-03-02T10:28:00.001Z", "2026-04-01", "1970")}}
	if g.IntN(2) == 0 {
		clause = append(clause, []any{pick(g, "<", "<="), "timestamp", pick(g, "2026-03-05T11:00:00Z", "2026-03-20", "2026-03-20T10:01:00.123Z", "2026-03-02T10:59:59.999Z")})
	}
	if g.IntN(4) == 0 {
		clause = append(clause, g.clause("events", 0))
	}
	return clause
}

// request returns a whole query: a selection, possibly with functions and groups.
func (g generator) request() (path string, pairs []string) {
	columns := []any{"report", "certname", "resource_title", "timestamp", "property", "name", "status", "new_value", "old_value", "line", "containment_path"}
	path = "/events"
	clause := g.clause("events", 3)
	q := []any{"extract", columns, clause}
	switch g.IntN(13) {
	case 0:
		path = "/reports"
		q = []any{"extract", []any{"hash", "status", "noop", "producer", "end_time", "environment"}, g.clause("reports", 2)}
	case 1:
		f := pick(g, "status", "environment", "resource_type", "containing_class", "containment_path", "line", "run_start_time", "new_value", "report", "property")
		q = []any{
			"extract",
			[]any{
				[]any{"function", "count"},
				[]any{"function", "count", "line"},
				[]any{"function", "max", "line"},
				[]any{"function", "avg", "line"},
				[]any{"function", "sum", "line"},
				[]any{"function", "min", "timestamp"},
				[]any{"function", "max", pick(g, "certname", "report", "status", "file")},
				f,
			},
			clause,
			[]any{"group_by", f},
		}
	case 2:
		template := []any{"function", "to_string", "timestamp", pick(g, "YYYY-MM-DD", "FMDay", "Day, DD Mon", "HH24:MI:SS.MS", "IYYY-\"W\"IW-ID", "HH12 AM", "FMMonth FMDD DDD Q W WW D", "US SSSS YY", "YYYY-MM-DDTHH24:MI:SS", "DTMI", "YYYYTHH24 IDDD", "DDth FMMMTH Qth", "Y,YYY CC AD TZ OF", "rm FMRM| J", "FF1 FF4 TMMonth TMDy", "yyyy-mm-dd hh24 é x", `D"a""\"b"DD IYY b.c.`)}
		q = []any{"extract", []any{[]any{"function", "count"}, template}, clause, []any{"group_by", template}}
	case 3:
		q = []any{"extract", []any{"certname", []any{"function", "to_string", "line", pick(g, "0000", "9999", "FM0000", "FM9", "990")}}, clause}
	case 4:
		return "/event-counts", []string{
			"query", jsonText(clause), "summarize_by", pick(g, "certname", "resource", "containing_class"), "count_by", pick(g, "certname", "resource"),
			"counts_filter", pick(g, "[]", `[">","failures",0]`, `["<=","successes",2.5]`),
		}
	case 5:
		return "/aggregate-event-counts", []string{"query", jsonText(clause), "summarize_by", "certname,resource,containing_class"}
	case 6:
		field := pick(g, append(append([]string{"containment_path", "line", "new_value"}, eventTexts...), eventTimes...)...)
		order := fmt.Sprintf(`[{"field":%q,"order":%q},{"field":"timestamp"},{"field":"report"},{"field":"resource_title"},{"field":"property"},{"field":"message"},{"field":"new_value"},{"field":"line"}]`, field, pick(g, "asc", "desc"))
		return "/events", []string{"query", jsonText(q), "order_by", order, "limit", fmt.Sprint(1 + g.IntN(20)), "offset", fmt.Sprint(g.IntN(30)), "include_total", "true"}
	case 7:
		// Much of this is counted beforehand.
		q = []any{"extract", []any{"status", []any{"function", "count"}}, g.time(), []any{"group_by", "status"}}
		if template := []any{"function", "to_string", "timestamp", pick(g, "YYYY-MM-DD", "YYYY-MM-DD HH24", "HH24:MI", "Q")}; g.IntN(2) == 0 {
			q = []any{"extract", []any{"status", template, []any{"function", "count"}, []any{"function", "count", "status"}}, g.time(), []any{"group_by", template, "status"}}
		}
	case 8:
		return "/events", []string{"query", jsonText(q), "distinct_resources", "true", "distinct_start_time", "2026-03-02", "distinct_end_time", pick(g, "2026-03-05", "2026-04-01", "2026-03-01")}
	case 9:
		return "/nodes", []string{"query", jsonText([]any{"extract", []any{"certname", "latest_report_status"}, g.nodeClause(2)})}
	}
	return path, []string{"query", jsonText(q)}
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// engines are two fixtures with the same data, one for each database engine.
type engines [2]*fixture

// compareAnswers returns how the answers of both engines to a request differ, or an empty string.
func (e engines) compareAnswers(tb testing.TB, path string, pairs []string) (difference string, a answer) {
	tb.Helper()
	var answers [2]answer
	var wg sync.WaitGroup
	for i, b := range e {
		wg.Go(func() { answers[i] = b.get(path, pairs...) })
	}
	wg.Wait()
	a, b := answers[0], answers[1]
	if a.status != b.status || a.header.Get("X-Records") != b.header.Get("X-Records") {
		return fmt.Sprintf("sqlite   %d %s %.300s\npostgres %d %s %.300s", a.status, a.header.Get("X-Records"), a.body, b.status, b.header.Get("X-Records"), b.body), a
	}
	if a.status != http.StatusOK {
		if a.status != http.StatusBadRequest || a.body != b.body {
			return fmt.Sprintf("sqlite   %d %s\npostgres %d %s", a.status, a.body, b.status, b.body), a
		}
		return "", a
	}
	ordered := len(pairs) > 2 && pairs[2] == "order_by"
	left, right := parsed(tb, a.body, ordered), parsed(tb, b.body, ordered)
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return fmt.Sprintf("row %d of %d and %d\nsqlite   %s\npostgres %s", i, len(left), len(right), left[i], right[i]), a
		}
	}
	if len(left) != len(right) {
		return fmt.Sprintf("sqlite has %d rows, postgres %d", len(left), len(right)), a
	}
	return "", a
}

// shrink makes the query of a request smaller as long as the answers of the engines differ.
func (e engines) shrink(tb testing.TB, path string, pairs []string) []string {
	tb.Helper()
	var query any
	if err := json.Unmarshal([]byte(pairs[1]), &query); err != nil {
		tb.Fatal(err)
	}
	for smaller := true; smaller; {
		smaller = false
		for _, candidate := range simplerClauses(query) {
			tried := slices.Concat([]string{"query", jsonText(candidate)}, pairs[2:])
			if difference, a := e.compareAnswers(tb, path, tried); difference != "" && a.status == http.StatusOK {
				query, pairs, smaller = candidate, tried, true
				break
			}
		}
	}
	return pairs
}

// simplerClauses returns variants of a clause, each without one of its parts.
func simplerClauses(clause any) (list []any) {
	items, ok := clause.([]any)
	if !ok || len(items) == 0 {
		return nil
	}
	switch items[0] {
	case "and", "or", "not":
		list = append(list, items[1:]...)
		for i := 1; i < len(items) && len(items) > 2; i++ {
			list = append(list, slices.Delete(slices.Clone(items), i, i+1))
		}
	case "array":
		return nil
	}
	for i := 1; i < len(items); i++ {
		for _, part := range simplerClauses(items[i]) {
			smaller := slices.Clone(items)
			smaller[i] = part
			list = append(list, smaller)
		}
	}
	return list
}

func TestSimplerClauses(t *testing.T) {
	t.Parallel()
	var clause any
	if err := json.Unmarshal([]byte(`["extract","a",["and",["=","b",1],["not",["in","c",["array",["and","x"]]]]]]`), &clause); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "simpler", jsonText(simplerClauses(clause)), `[["extract","a",["=","b",1]],["extract","a",["not",["in","c",["array",["and","x"]]]]],`+
		`["extract","a",["and",["not",["in","c",["array",["and","x"]]]]]],["extract","a",["and",["=","b",1]]],`+
		`["extract","a",["and",["=","b",1],["in","c",["array",["and","x"]]]]]]`)
}

// TestEnginesAgree compares the answers of both engines to generated queries.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	var e engines
	for i, d := range []store.Dialect{store.SQLite, store.Postgres} {
		e[i] = open(t, d).loadEveryNth(t, 4, special...)
		e[i].submit(t, "deactivate node", 3, []byte(`{"certname":"web02.example.com","producer_timestamp":"2026-03-25T00:00:00Z"}`))
	}
	const parts = 4 // at a time: one alone leaves a processor idle
	for part := range uint64(parts) {
		t.Run(strconv.FormatUint(part, 10), func(t *testing.T) {
			t.Parallel()
			e.compareQueries(t, generator{rand.New(rand.NewPCG(1, 2+part))}, *generated/parts)
		})
	}
}

// compareQueries compares the answers of both engines to the given number of generated queries.
func (e engines) compareQueries(t *testing.T, g generator, queries int) {
	t.Helper()
	nonEmpty, refused := 0, 0
	for n := range queries {
		path, pairs := g.request()
		difference, a := e.compareAnswers(t, path, pairs)
		if difference != "" {
			small := e.shrink(t, path, pairs)
			if smallDifference, _ := e.compareAnswers(t, path, small); smallDifference != "" {
				difference = smallDifference
			}
			t.Fatalf("%d: %s %q\nof %q\n%s", n, path, small, pairs, difference)
		}
		switch {
		case a.status != http.StatusOK:
			refused++
		case a.body != "[]":
			nonEmpty++
		}
	}
	t.Logf("%d with rows, %d refused", nonEmpty, refused)
	if nonEmpty < queries/3 || refused > queries/3 {
		t.Errorf("%d of %d queries have rows, %d are refused: they compare too little", nonEmpty, queries, refused)
	}
}

func parsed(tb testing.TB, body string, ordered bool) []string {
	tb.Helper()
	var rows []map[string]any
	if err := json.Unmarshal([]byte(body), &rows); err != nil {
		tb.Fatalf("%v\n%.300s", err, body)
	}
	return rowTexts(tb, rows, ordered)
}
