package query_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestRules counts rows of the hand-made report, whose values are known.
func TestRules(t *testing.T) {
	t.Parallel()
	const sel = `["=","certname","special.example.com"]`
	titles := func(tb testing.TB, b *fixture, clause string) string {
		tb.Helper()
		rows := b.rows(tb, "/events", "query", `["extract","resource_title",["and",`+sel+`,`+clause+`]]`)
		list := make([]string, 0, len(rows))
		for _, r := range rows {
			list = append(list, strings.ReplaceAll(r["resource_title"].(string), "\n", " "))
		}
		slices.Sort(list)
		return strings.Join(list, ",")
	}
	onBoth(t, func(t *testing.T, b *fixture) {
		for clause, want := range map[string]string{
			// The rows are "a b" (success, property p), "b" (strange), "c"
			// (skipped) and "d" (failure).
			`["=","status","strange"]`:                                       "b",
			`["not",["=","status","strange"]]`:                               "a b,c,d",
			`["not",["=","status","no such word"]]`:                          "a b,b,c,d",
			`["=","status","STRANGE"]`:                                       "",
			`["!=","property","q"]`:                                          "a b,b",
			`["not",["=","property","q"]]`:                                   "a b,b",
			`["=","property",null]`:                                          "c,d",
			`["null?","property",true]`:                                      "c,d",
			`["null?","property",false]`:                                     "a b,b",
			`["null?","certname",true]`:                                      "",
			`["null?","certname",false]`:                                     "a b,b,c,d",
			`["null?","corrective_change",true]`:                             "a b,b,c,d",
			`["=","corrective_change",true]`:                                 "",
			`["not",["=","corrective_change",true]]`:                         "",
			`["=","line",7]`:                                                 "b,c",
			`["=","line",7.0]`:                                               "b,c",
			`["=","line",7.5]`:                                               "",
			`[">","line",7.5]`:                                               "d",
			`["<=","line",7]`:                                                "b,c",
			`["in","line",["array",[7,1000.0]]]`:                             "b,c,d",
			`["=","new_value",8]`:                                            "a b",
			`["=","new_value",8.0]`:                                          "a b",
			`["=","new_value","8"]`:                                          "",
			`["=","old_value","8"]`:                                          "b",
			`["=","new_value",true]`:                                         "d",
			`["=","old_value",["x"]]`:                                        "d",
			`["=","old_value",{"a":null,"b":[1,2.5]}]`:                       "a b",
			`["=","old_value",{"b":[1,2.5],"a":null}]`:                       "a b",
			`["=","new_value",null]`:                                         "b,c",
			`["null?","new_value",true]`:                                     "c",
			`["null?","new_value",false]`:                                    "a b,b,d",
			`["in","new_value",["array",[8,true]]]`:                          "a b,d",
			`["in","new_value",["array",[null]]]`:                            "b,c",
			`["not",["=","new_value",8]]`:                                    "b,c,d",
			`["!=","new_value",8]`:                                           "b,c,d",
			`["not",["and",["=","old_value","8"],["=","line",7]]]`:           "a b,c,d",
			`["not",["in","new_value",["array",[8]]]]`:                       "b,c,d",
			`["not",["in","new_value",["array",[8,null]]]]`:                  "d",
			`["not",["=","new_value",null]]`:                                 "a b,d",
			`["~","old_value","^8$"]`:                                        "b",
			`["~","new_value","."]`:                                          "a b,d",
			`["=","containment_path","Über"]`:                                "a b",
			`["=","containment_path","a b"]`:                                 "b",
			`["not",["=","containment_path","a b"]]`:                         "a b,c,d",
			`["~","containment_path","^a$"]`:                                 "c",
			`["=","containing_class","Über"]`:                                "a b",
			`["~","resource_title","^a.b$"]`:                                 "a b",
			`["~","resource_title","(?n)^b$"]`:                               "a b,b",
			`["~","resource_title","^b$"]`:                                   "b",
			`["~","message","n\\w+code"]`:                                    "a b",
			`["~","message",null]`:                                           "",
			`["not",["~","message","zzz"]]`:                                  "a b,b,c,d",
			`["not",["~","message","quoted"]]`:                               "b,c,d",
			`["not",["not",["~","message","quoted"]]]`:                       "a b",
			`["not",["~","property","."]]`:                                   "c,d",
			`["not",["~","new_value","."]]`:                                  "b,c",
			`["not",["~","containment_path","^a$"]]`:                         "a b,b,d",
			`["not",["~","message",null]]`:                                   "a b,b,c,d",
			`["and",["not",["~","message","."]],["=","status","strange"]]`:   "b",
			`["not",["or",["~","message","quoted"],["=","property","q"]]]`:   "b",
			`["~","message","\\bn"]`:                                         "",
			`["~","message","\\mquoted\\M"]`:                                 "a b",
			`["in","certname",["array",[]]]`:                                 "",
			`["not",["in","certname",["array",[]]]]`:                         "a b,b,c,d",
			`["in","status",["array",["strange","skipped",5]]]`:              "b,c",
			`["in","timestamp",["array",["x","2026-03-20T10:02:00+00:00"]]]`: "b",
			`["=","timestamp","2026-03-20T10:01:00.123Z"]`:                   "a b",
			`["=","timestamp","2026-03-20T10:01:00Z"]`:                       "",
			`[">=","timestamp","2026-03-20T12:03+02:00"]`:                    "c,d",
			`["<","timestamp",1774000860123]`:                                "",
			`["<=","timestamp",1774000860123]`:                               "a b",
			`["=","latest_report?",true]`:                                    "a b,b,c,d",
			`["=","latest_report?",false]`:                                   "",
			`["=","report","ABC"]`:                                           "",
			`["not",["=","report","ABC"]]`:                                   "a b,b,c,d",
			`["=",["node","active"],true]`:                                   "a b,b,c,d",
			`["=",["node","active"],false]`:                                  "",
			`["=","node_state","Any"]`:                                       "a b,b,c,d",
			`["subquery","events",["=","status","strange"]]`:                 "a b,b,c,d",
			`["subquery","reports",["=","noop",true]]`:                       "",
			`["subquery","reports",["null?","status",true]]`:                 "a b,b,c,d",
			`["subquery","environments",["=","name","special"]]`:             "a b,b,c,d",
			`["subquery","nodes",["=","certname","special.example.com"]]`:    "a b,b,c,d",
			`["subquery","catalogs",["=","certname","x"]]`:                   "",
			`["=",["fact","kernel"],"Linux"]`:                                "",
			`["not",["=",["fact","kernel"],"Linux"]]`:                        "a b,b,c,d",
			`["or",["=","line",1000],[">=",["fact","uptime_days"],10]]`:      "d",
			`["~",["fact","os"],"^D"]`:                                       "",
			`["in",["fact","kernel"],["array",["Linux","Darwin"]]]`:          "",
			`["not",["subquery","catalogs",[]]]`:                             "a b,b,c,d",
			`["in","report",["extract","hash",["select_reports",["=","environment","special"]]]]`:                                            "a b,b,c,d",
			`["in",["certname","report"],["from","reports",["extract",["certname","hash"]],["order_by",[["end_time","desc"]]],["limit",1]]]`: "a b,b,c,d",
			`["in","timestamp",["from","events",["extract",[["function","max","timestamp"]],["=","certname","special.example.com"]]]]`:       "d",
			`["or",["=","status","strange"],["and",["=","status","failure"],["not",["null?","line",true]]]]`:                                 "b,d",
			`["not",["or",["=","status","strange"],["=","property","p"]]]`:                                                                   "",
			`["in","resource_title",["array",[` + strings.TrimSuffix(strings.Repeat(`"x",`, 70), ",") + `,"b"]]]`:                            "b",
			`["in","report",["array",[` + strings.TrimSuffix(strings.Repeat(`"0000000000000000000000000000000000000000",`, 70), ",") + `]]]`: "",
			`["or",` + strings.TrimSuffix(strings.Repeat(`["=","resource_title","b"],`, 1500), ",") + `]`:                                    "b",
			`["and",` + strings.TrimSuffix(strings.Repeat(`["=","resource_title","b"],`, 1500), ",") + `]`:                                   "b",
		} {
			if got := titles(t, b, clause); got != want {
				t.Errorf("%.200s: %q, want %q", clause, got, want)
			}
		}
	})
}

// TestNullPath checks that no element of a missing path equals or matches anything.
func TestNullPath(t *testing.T) {
	t.Parallel()
	for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, d)
			b.submit(t, "store report", 8, []byte(strings.Replace(specialReport, `"containment_path":["a","b"]`, `"containment_path":null`, 1)))
			distinct := func(q string) int {
				return len(b.rows(t, "/events", "query", q, "distinct_resources", "true", "distinct_start_time", "2026", "distinct_end_time", "2027"))
			}
			for _, sel := range []string{"", `["=","certname","special.example.com"],`} {
				for clause, want := range map[string][2]int{ // without and with distinct_resources
					`["=","containment_path","a b"]`: {1, 1}, `["not",["=","containment_path","a b"]]`: {2, 3}, `["~","containment_path","a"]`: {2, 2}, `["not",["~","containment_path","a"]]`: {2, 2},
					`["null?","containment_path",true]`: {1, 1}, `["not",["~","containment_path","^x"]]`: {4, 4}, `["!=","containment_path","x"]`: {3, 4},
				} {
					q := `["and",` + sel + clause + `]`
					wantEqual(t, q, b.count(t, "/events", q), want[0])
					wantEqual(t, "distinct "+q, distinct(q), want[1])
				}
			}
		})
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		const sel = `["=","certname","special.example.com"]`
		for q, want := range map[string]string{
			`["extract",["line",["function","count"]],` + sel + `,["group_by","line"]]`:                                                                                       `{"count":1,"line":1000} {"count":1,"line":null} {"count":2,"line":7}`,
			`["extract",[["function","count"]],` + sel + `,["group_by","line"]]`:                                                                                              `{"count":1} {"count":1} {"count":2}`,
			`["extract","line",` + sel + `,["group_by","line"]]`:                                                                                                              `{"line":1000} {"line":7} {"line":null}`,
			`["extract",[["function","count","message"],["function","count"]],` + sel + `]`:                                                                                   `{"count":2,"count_2":4}`,
			`["extract",[["function","min","resource_title"],["function","max","timestamp"]],` + sel + `]`:                                                                    `{"max":"2026-03-20T10:04:00.000Z","min":"a\nb"}`,
			`["extract",[["function","to_string","timestamp","HH24:MI:SS.MS"]],["and",` + sel + `,["=","status","success"]]]`:                                                 `{"to_string":"10:01:00.123"}`,
			`["extract",[["function","to_string","line","0000"]],["and",` + sel + `,["=","line",1000]]]`:                                                                      `{"to_string":" 1000"}`,
			`["extract",[["function","count"],["function","to_string","run_start_time","FMDay"]],` + sel + `,["group_by",["function","to_string","run_start_time","FMDay"]]]`: `{"count":4,"to_string":"Friday"}`,
			`["extract",["certname","new_value","status"],["and",` + sel + `,["=","status","strange"]]]`:                                                                      `{"certname":"special.example.com","new_value":null,"status":"strange"}`,
			`["extract",["containment_path",["function","count"]],` + sel + `,["group_by","containment_path"]]`: `{"containment_path":["Stage[main]","Über","Special[a]"],"count":1} {"containment_path":["a b"],"count":1} ` +
				`{"containment_path":["a","b"],"count":1} {"containment_path":[],"count":1}`,
		} {
			got := strings.Join(rowTexts(t, b.rows(t, "/events", "query", q), false), " ")
			if got != want {
				t.Errorf("%s\ngot  %s\nwant %s", q, got, want)
			}
		}
		if n := len(b.rows(t, "/events", "query", `["extract",[],`+sel+`]`)[0]); n != 21 {
			t.Errorf("an empty list extracts %d keys, want 21", n)
		}
	})
}

// TestTemplates checks that to_string returns the same on both engines.
func TestTemplates(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		for template, want := range map[string]string{
			"YYYY-MM-DDTHH24:MI:SS":         "2026-03-20T10:01:00",
			`YYYY-MM-DD"T"HH24:MI:SS.MS"Z"`: "2026-03-20T10:01:00.123Z",
			"YYYYTHH24":                     "2026T10",
			"FMMMTHH12":                     "3T10",
			"DTMI":                          "6T01",
			"TMM TDD":                       "T03 T20",
			`"TH"DD"TH"HH`:                  "TH20TH10",
			`DD""TSSSSS`:                    "20T36060",
			"IYYY-IDDD":                     "2026-082",
			"IDDDD FMIDDD":                  "0826 82",
			"FMDay, é":                      "Friday, é",
			"DDTH ddth DTH FMMMth":          "20TH 20th 6TH 3rd",
			"TZ tz OF FMOF TZH:TZM":         "UTC utc +00 +0 +00:00",
			"CC CCth AD a.d. BC":            "21 21st AD a.d. AD",
			"Y,YYY Y,YYYth YYY YY Y":        "2,026 2,026th 026 26 6",
			"IYYY IYY IY I J":               "2026 026 26 6 2461120",
			"RM|rm|FMRM":                    "III |iii |III",
			"FF1 FF2 FF3 FF6 FF7":           "1 12 123 123000 FF7",
			"hh24:mi:ss.ms A.M. p.m.":       "10:01:00.123 A.M. a.m.",
			"TMMonth TMday TMDD":            "March friday 20",
			"Qth of Yyyy":                   "1st +00 6026", // of is a pattern, and so is Y
			`"a\"\\b" \"MM\ \"`:             `a"\b "03\ "`,
			"FMx FM":                        "x ",
			`D""DD`:                         "620",
			`DD"th`:                         "",
			`FMDay "é" 5%`:                  "Friday é 5%",
		} {
			a := b.get("/events", "query", `["extract",[["function","to_string","timestamp",`+jsonText(template)+`]],["and",["=","certname","special.example.com"],["=","status","success"]]]`)
			if want == "" {
				wantEqual(t, template, a.status, 400)
			} else {
				wantEqual(t, template, a.body, `[{"to_string":`+jsonText(want)+`}]`)
			}
		}
	})
}

// TestBeyondIntegers checks that a sum that exceeds 64 bits is refused, and that the average is a double.
func TestBeyondIntegers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		const sel = `["=","certname","special.example.com"]`
		if err := b.db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("UPDATE run_resources SET line = 9223372036854775807 WHERE type = 'Special'")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			`["extract",[["function","sum","line"]],["and",` + sel + `,["=","resource_type","Special"]]]`,
			`["extract",["resource_title","property","name",["function","sum","line"]],` + sel + `,["group_by","resource_title","property","name"]]`,
			`["extract",["status",["function","sum","line"]],["group_by","status"]]`,
			`["extract",[["function","sum","line"]]]`,
		} {
			a := b.get("/events", "query", q)
			if strings.Contains(q, "resource_title") {
				wantEqual(t, q, a.status, 200) // one row a group
			} else if a.status != 400 || a.body != "a value of the query is out of range" {
				t.Errorf("%s: %d %s", q, a.status, a.body)
			}
		}
		wantEqual(t, "avg", b.get("/events", "query", `["extract",[["function","avg","line"]],`+sel+`]`).body, `[{"avg":9223372036854776000.0}]`)
		wantEqual(t, "avg of none", b.get("/events", "query", `["extract",[["function","avg","line"],["function","sum","line"]],["=","certname","nobody"]]`).body, `[{"avg":null,"sum":null}]`)
		if a := b.get("/events", "query", `["extract",["status",["function","avg","line"]],["group_by","status"]]`); a.status != 200 {
			t.Errorf("avg by status: %d %s", a.status, a.body)
		}
	})
}

func TestPaging(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		const q = `["extract",["resource_title","line"],["=","certname","special.example.com"]]`
		for order, want := range map[string]string{
			`[{"field":"line"}]`:                                    "b c d a\nb",
			`[{"field":"line","order":"DESC"}]`:                     "a\nb d c b",
			`[{"field":"resource_title","order":"desc"}]`:           "d c b a\nb",
			`[{"field":"containment_path"}]`:                        "d a\nb c b",
			`[{"field":"status"},{"field":"timestamp"}]`:            "d c b a\nb",
			`[{"field":"old_value","order":"asc"}]`:                 "b d a\nb c",
			`[{"field":"timestamp","order":"desc"}]`:                "d c b a\nb",
			`[{"field":"property"},{"field":"line","order":"asc"}]`: "b a\nb c d",
		} {
			var got []string
			for _, r := range b.rows(t, "/events", "query", q, "order_by", order) {
				got = append(got, r["resource_title"].(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q, want %q", order, strings.Join(got, " "), want)
			}
		}
		a := b.get("/events", "query", q, "order_by", `[{"field":"timestamp"}]`, "limit", "+2", "offset", "1", "include_total", "true")
		wantEqual(t, "total", a.header.Get("X-Records"), "4")
		wantEqual(t, "page", a.body, `[{"resource_title":"b","line":7},{"resource_title":"c","line":7}]`)
		a = b.get("/events", "query", q, "offset", "100", "include_total", "1")
		wantEqual(t, "past the end", a.body+a.header.Get("X-Records"), `[]`)
		a = b.get("/events", "query", `["extract",["line",["function","count"]],["=","certname","special.example.com"],["group_by","line"]]`,
			"limit", "1", "include_total", "true", "order_by", `[{"field":"line","order":"desc"}]`)
		wantEqual(t, "groups", a.body+a.header.Get("X-Records"), `[{"line":null,"count":1}]3`)

		// Pages of equal keys neither repeat nor lose rows.
		seen := make(map[string]bool)
		total := 0
		for offset := 0; ; offset += 500 {
			rows := b.rows(t, "/events", "order_by", `[{"field":"status"}]`, "limit", "500", "offset", fmt.Sprint(offset))
			for _, r := range rows {
				seen[rowText(t, r)] = true
			}
			if total += len(rows); len(rows) < 500 {
				break
			}
		}
		if total != 2333 || len(seen) != total {
			t.Errorf("%d rows in pages, %d different, want 2333", total, len(seen))
		}
	})
}

func TestReports(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		plan := strings.NewReplacer(`"type":"agent"`, `"type":"plan"`, "special.example.com", "plan.example.com").Replace(specialReport)
		b.submit(t, "store report", 8, []byte(plan))
		// One report has neither a producer nor a status, and one node no report that counts.
		for q, path := range map[string]string{
			`["not",["~","producer","."]]`: "/reports", `["not",["~","status","."]]`: "/reports",
			`["not",["~","report_environment","."]]`: "/nodes", `["not",["~","latest_report_hash","."]]`: "/nodes", `["not",["~","certname","^[^p]"]]`: "/nodes",
		} {
			wantEqual(t, q, b.count(t, path, q), 1)
		}
		wantEqual(t, "any type in a subquery", b.count(t, "/nodes", `["and",["~","certname","^plan"],["subquery","reports",["=","type","any"]]]`), 1)
		for q, want := range map[string]int{
			``: 90, `["=","type","plan"]`: 1, `["=","type","any"]`: 91, `["and",["=","type","any"],["=","environment","special"]]`: 2,
			`["=","noop",true]`:                                   len(b.rows(t, "/reports", "query", `["and",["not",["=","noop",false]],["null?","noop",false]]`)),
			`["=","transaction_uuid","no uuid"]`:                  0,
			`["subquery","producers",["~","name","."]]`:           89,
			`["subquery","events",["=","resource_title","a\nb"]]`: 1,
			`["=","latest_report?",true]`:                         36,
			// The status of one report is null, and no status is such a word.
			`["not",["in","status",["array",["no such word"]]]]`: 89,
			`["not",["in","status",["array",[]]]]`:               90,
		} {
			if got := b.count(t, "/reports", q); got != want {
				t.Errorf("%s: %d reports, want %d", q, got, want)
			}
		}
		row := b.rows(t, "/reports", "query", `["=","certname","special.example.com"]`)[0]
		hash := row["hash"].(string)
		if len(row) != 24 {
			t.Errorf("%d keys, want 24", len(row))
		}
		events := row["resource_events"].(map[string]any)
		wantEqual(t, "href", events["href"], "/store/query/v4/reports/"+hash+"/events")
		list := events["data"].([]any)
		wantEqual(t, "events of a report", len(list), 4)
		for _, e := range list {
			if e := e.(map[string]any); e["resource_title"] == "a\nb" {
				wantEqual(t, "event", rowText(t, e), `{"containing_class":"Über","containment_path":["Stage[main]","Über","Special[a]"],"corrective_change":null,"file":null,"line":null,`+
					`"message":"nïcode ÄÖ 'quoted' \"x\" \\ ☃ 𝄞","name":"n","new_value":8,"old_value":{"a":null,"b":[1,2.5]},"property":"p","resource_title":"a\nb","resource_type":"Special","status":"success","timestamp":"2026-03-20T10:01:00.123+00:00"}`)
			}
		}
		wantEqual(t, "logs", len(row["logs"].(map[string]any)["data"].([]any)), 1)
		wantEqual(t, "metrics", b.get("/reports/"+hash+"/metrics").body, `[{"category":"time","name":"total","value":1.5}]`)
		wantEqual(t, "logs of a report", len(b.rows(t, "/reports/"+hash+"/logs")), 1)
		wantEqual(t, "children", len(b.rows(t, "/reports/"+hash+"/events", "query", `["=","line",7]`)), 2)
		wantEqual(t, "environment", len(b.rows(t, "/environments/special/events")), 8)
		wantEqual(t, "environment", len(b.rows(t, "/environments/special/reports")), 1)
		wantEqual(t, "projected", rowText(t, b.rows(t, "/reports", "query", `["extract",["logs","type"],["=","hash","`+hash+`"]]`)[0]),
			`{"logs":{"data":[{"file":null,"level":"info","line":null,"message":"hello","source":"x","tags":["a"],"time":"2026-03-20T10:00:00.000Z"}],"href":"/store/query/v4/reports/`+hash+`/logs"},"type":"agent"}`)
	})
}

func TestNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		b.submit(t, "deactivate node", 3, []byte(`{"certname":"special.example.com","producer_timestamp":"2026-03-25T00:00:00Z"}`))
		b.submit(t, "deactivate node", 3, []byte(`{"certname":"web01.example.com","producer_timestamp":"2026-03-10T00:00:00Z"}`)) // older than the purge limit
		for _, c := range []struct {
			path, query string
			want        int
		}{
			{"/nodes", ``, 34},
			{"/nodes", `["=","node_state","inactive"]`, 1},
			{"/nodes", `["=","node_state","any"]`, 36},
			{"/nodes", `["=",["node","active"],false]`, 1},
			{"/nodes", `["not",["=","node_state","active"]]`, 2},
			{"/nodes", `["not",["=","node_state","inactive"]]`, 35},
			{"/nodes", `["=","report_environment","production"]`, len(b.rows(t, "/nodes", "query", `["subquery","environments",["=","name","production"]]`))},
			{"/events", `["=","certname","special.example.com"]`, 4},
			{"/events", `["and",["=",["node","active"],true],["=","certname","special.example.com"]]`, 0},
			{"", `events { certname = "special.example.com" }`, 0},
			{"", `events { certname = "special.example.com" and node_state = "any" }`, 4},
			{"", `events { certname = "special.example.com" and nodes { node_state = "inactive" } }`, 4},
			{"", `events { certname = "special.example.com" and certname in nodes[certname] { node_state = "any" } }`, 4},
			{"", `["from","events",["and",["=","certname","special.example.com"],["not",["subquery","facts",["=",["node","active"],true]]]]]`, 4},
			{"", `["from","events",["and",["=","certname","special.example.com"],["not",["subquery","facts",["=",["fact","active"],true]]]]]`, 0},
			{"", `["from","events",["and",["=","certname","special.example.com"],["subquery","reports",["not",["=",["node","active"],true]]]]]`, 4},
			{"/nodes", `["in","certname",["extract","certname",["select_nodes",["=","node_state","inactive"]]]]`, 1},
			{"/nodes", `["subquery","events",["and",["=","certname","special.example.com"],["=","node_state","any"]]]`, 1},
			{"/nodes", `["subquery","events",["=","certname","special.example.com"]]`, 0},
			// Nodes without a report have no environment that a pattern could match.
			{"/nodes", `["not",["~","facts_environment","."]]`, 34},
			{"/nodes", `["not",["~","report_environment","^special$"]]`, 34},
			{"", `["from","events",["=","certname","special.example.com"]]`, 0},
			{"", `environments { }`, 5},
			{"/nodes", `["=",["fact","kernel"],"Linux"]`, 0},
			{"/nodes", `["not",["~",["fact","kernel"],"^L"]]`, 34},
			{"/reports", `["or",["<",["fact","uptime_days"],10],["=","certname","special.example.com"]]`, 1},
			{"/environments", ``, 5},
		} {
			if got := b.count(t, c.path, c.query); got != c.want {
				t.Errorf("%s %s: %d rows, want %d", c.path, c.query, got, c.want)
			}
		}
		row := b.rows(t, "/nodes", "query", `["=","node_state","inactive"]`)[0]
		wantEqual(t, "deactivated", row["deactivated"], any("2026-03-25T00:00:00.000Z"))
		wantEqual(t, "report_timestamp", row["report_timestamp"], any("2026-03-20T10:05:00.000Z"))
	})
}

func TestDistinctResources(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		later := strings.NewReplacer("2026-03-20T", "2026-03-21T", `"status":"failure"`, `"status":"success"`).Replace(specialReport)
		b.submit(t, "store report", 8, []byte(later))
		ask := func(clause, flag, start, end string) int {
			return len(b.rows(t, "/events", "query", `["and",["=","certname","special.example.com"],`+clause+`]`,
				"distinct_resources", flag, "distinct_start_time", start, "distinct_end_time", end))
		}
		const all, failure = `["null?","certname",false]`, `["=","status","failure"]`
		wantEqual(t, "youngest", ask(all, "true", "2026-03-20", "2026-03-22"), 4)
		wantEqual(t, "first day", ask(failure, "true", "2026-03-20", "2026-03-21"), 1)
		wantEqual(t, "the query comes after", ask(failure, "", "2026-03-20", "2026-03-22"), 0)
		wantEqual(t, "off", ask(all, "false", "2026-03-20", "2026-03-22"), 8)
		wantEqual(t, "backwards", ask(all, "true", "2026-03-22", "2026-03-20"), 0)
		wantEqual(t, "not of a null", ask(`["not",["=","property","p"]]`, "true", "2026-03-20", "2026-03-22"), 2)
		wantEqual(t, "unlike a null", ask(`["!=","property","p"]`, "true", "2026-03-20", "2026-03-22"), 2)
		wantEqual(t, "not of null", ask(`["not",["=","property",null]]`, "true", "2026-03-20", "2026-03-22"), 2)
		wantEqual(t, "not in a list", ask(`["not",["in","property",["array",["q","p"]]]]`, "true", "2026-03-20", "2026-03-22"), 2)
		wantEqual(t, "not of what is never shown", ask(`["not",["=","corrective_change",true]]`, "true", "2026-03-20", "2026-03-22"), 4)
		wantEqual(t, "not of a number", ask(`["not",["=","line",7]]`, "true", "2026-03-20", "2026-03-22"), 2)
		wantEqual(t, "not of a path", ask(`["not",["=","containment_path","a b"]]`, "true", "2026-03-20", "2026-03-22"), 3)
		wantEqual(t, "not of a null, switched off", ask(`["not",["=","property","q"]]`, "false", "2026-03-20", "2026-03-22"), 4)
		wantEqual(t, "latest before", ask(`["=","latest_report?",false]`, "true", "2026-03-20", "2026-03-22"), 4)
		a := b.get("/events", "distinct_resources", "true", "distinct_start_time", "2026-03-20", "distinct_end_time", "2026-03-22", "limit", "1", "include_total", "true")
		wantEqual(t, "total", a.header.Get("X-Records"), "4")
		wantEqual(t, "counts", b.get("/event-counts", "summarize_by", "certname", "distinct_resources", "true", "distinct_start_time", "2026-03-20", "distinct_end_time", "2026-03-22").body,
			`[{"subject_type":"certname","subject":{"title":"special.example.com"},"failures":0,"noops":0,"skips":1,"successes":2}]`)
	})
}

func TestCounts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		const sel = `["=","certname","special.example.com"]`
		for _, c := range []struct {
			pairs []string
			want  string
		}{
			{[]string{"summarize_by", "certname"}, `[{"subject_type":"certname","subject":{"title":"special.example.com"},"failures":1,"noops":0,"skips":1,"successes":1}]`},
			{[]string{"summarize_by", "containing_class", "order_by", `[{"field":"containing_class","order":"desc"}]`, "limit", "1"}, `[{"subject_type":"containing_class","subject":{"title":null},"failures":1,"noops":0,"skips":0,"successes":0}]`},
			{[]string{"summarize_by", "resource", "counts_filter", `[">","failures",0.5]`}, `[{"subject_type":"resource","subject":{"type":"Special","title":"d"},"failures":1,"noops":0,"skips":0,"successes":0}]`},
			{[]string{"summarize_by", "certname", "count_by", "certname"}, `[{"subject_type":"certname","subject":{"title":"special.example.com"},"failures":1,"noops":0,"skips":1,"successes":1}]`},
			{[]string{"summarize_by", "certname", "counts_filter", `[]`, "offset", "1"}, `[]`},
		} {
			if a := b.get("/event-counts", append(c.pairs, "query", sel)...); a.body != c.want {
				t.Errorf("%q\ngot  %s\nwant %s", c.pairs, a.body, c.want)
			}
		}
		a := b.get("/event-counts", "summarize_by", "resource", "query", sel, "limit", "2", "include_total", "true")
		wantEqual(t, "total", a.header.Get("X-Records"), "4")
		wantEqual(t, "aggregates", b.get("/aggregate-event-counts", "summarize_by", "resource,certname", "query", sel).body,
			`[{"summarize_by":"resource","failures":1,"noops":0,"skips":1,"successes":1,"total":4},{"summarize_by":"certname","failures":1,"noops":0,"skips":1,"successes":1,"total":1}]`)
	})
}

func TestPQL(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		const sel = `certname = 'special.example.com'`
		for q, want := range map[string]string{
			`events[resource_title]{ ` + sel + ` and line = 7 order by resource_title desc }`:                              `[{"resource_title":"c"},{"resource_title":"b"}]`,
			`events[resource_title]{ ` + sel + ` order by line, resource_title limit 1 offset 1 }`:                         `[{"resource_title":"c"}]`,
			`events[count(), status]{ ` + sel + ` and status in ['strange', "x"] group by status }`:                        `[{"count":1,"status":"strange"}]`,
			`events[status]{ ` + sel + ` and property != 'q' and line is not null }`:                                       `[{"status":"strange"}]`,
			`events[resource_title]{ ` + sel + ` and property is null and ! (line < 1000) }`:                               `[{"resource_title":"d"}]`,
			`events[resource_title]{ ` + sel + ` and (resource_title ~ '^[cd]$' and resource_title !~ "c") }`:              `[{"resource_title":"d"}]`,
			`events[resource_title]{ ` + sel + ` and reports { noop is null } and latest_report? = true and line = 1000 }`: `[{"resource_title":"d"}]`,
			`events[count()]{ [certname, report] in reports[certname, hash]{ environment = 'special' } }`:                  `[{"count":4}]`,
			`reports[certname]{ events { status = 'strange' } }`:                                                           `[{"certname":"special.example.com"}]`,
			`events[count()]{ message = 'nïcode ÄÖ \'quoted\' "x" \ ☃ 𝄞' }`:                                                `[{"count":1}]`,
			`events[resource_title]{ ` + sel + ` and resource_title = "a\nb" }`:                                            `[{"resource_title":"a\nb"}]`,
			`events[resource_title]{ ` + sel + ` and resource_title = 'a\nb' }`:                                            `[]`,
			`events[count()]{ message = "n\u00efcode \u00c4\u00D6 'quoted' \"x\" \\ \u2603 \ud834\udd1e" }`:                `[{"count":1}]`,
			`events[count()]{ message ~ "^n\\w+\scode|\d \/ \\\\ " or message ~ 'n\w+code' }`:                              `[{"count":1}]`,
			`nodes[certname]{ certname ~ '^special\.' }`:                                                                   `[{"certname":"special.example.com"}]`,
			`events[to_string(timestamp, 'YYYY')]{ ` + sel + ` and line = 1000 }`:                                          `[{"to_string":"2026"}]`,
			`events[resource_title]{ ` + sel + ` and timestamp >= '2026-03-20T10:04:00Z' limit 5}`:                         `[{"resource_title":"d"}]`,
		} {
			if a := b.get("", "query", q); a.body != want {
				t.Errorf("%s\ngot  %d %s\nwant %s", q, a.status, a.body, want)
			}
		}
		wantEqual(t, "all fields", len(b.rows(t, "", "query", `events { `+sel+` }`)[0]), 21)
		wantEqual(t, "no clause", len(b.rows(t, "", "query", `events{}`)), 2333)
	})
}

// TestEmptyClauses checks that empty clauses have no effect.
func TestEmptyClauses(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite).load(t, special...)
	for _, pairs := range [][]string{
		{"query", ""},
		{"query", " "},
		{"query", "[]"},
		{"query", "null"},
		{"order_by", ""},
		{"order_by", "null"},
		{"order_by", "[]"},
		{"limit", "2147483647"},
		{"offset", "0"},
		{"distinct_resources", "false", "distinct_start_time", "2026", "distinct_end_time", "2027"},
		{"query", `["extract",[],["or",["=","latest_report?",true],["=","latest_report?",false]]]`},
		{"query", `["=","node_state","ANY"]`},
	} {
		if a := b.get("/events", append(pairs, "include_total", "true")...); a.status != 200 || a.header.Get("X-Records") != "2333" {
			t.Errorf("%q: %d %s rows %.200s", pairs, a.status, a.header.Get("X-Records"), a.body)
		}
	}
	for _, include := range []string{"", "TRUE", "1", "yes", "false"} {
		if a := b.get("/events", "query", `["=","line",1000]`, "include_total", include); a.status != 200 || a.header.Get("X-Records") != "" {
			t.Errorf("include_total=%s: %d %q", include, a.status, a.header)
		}
	}
	for _, r := range []*http.Request{request("/events", "query", `["=","line",1000]`), request("/nodes"), request("/aggregate-event-counts", "summarize_by", "certname")} {
		a := b.call(r)
		wantEqual(t, "Vary", a.header.Get("Vary"), "Accept-Encoding, User-Agent")
		wantEqual(t, "Content-Type", a.header.Get("Content-Type"), "application/json;charset=utf-8")
	}
}
