package query_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

const eventFields = "'certname', 'configuration_version', 'containing_class', 'containment_path', 'corrective_change', 'environment', 'file', 'latest_report?', 'line', 'message', 'name', 'new_value', 'old_value', 'property', 'report', 'report_receive_time', 'resource_title', 'resource_type', 'run_end_time', 'run_start_time', 'status', and 'timestamp'"

var extractableFields = strings.Replace(eventFields, "'latest_report?', ", "", 1)

// TestRefusals checks what is refused, and with which text. A text that ends with "…" is a prefix.
func TestRefusals(t *testing.T) {
	t.Parallel()
	q := func(s string) []string { return []string{"query", s} }
	long := strings.Repeat("a", 2000)
	for _, c := range []struct {
		path  string
		pairs []string
		want  string
	}{
		// Parameters.
		{"/events", []string{"foo", "1", "bar", "2"}, "Unsupported query parameter 'foo'"},
		{"/events", []string{"Query", "[]"}, "Unsupported query parameter 'Query'"},
		{"/events", []string{"query", "[]", "query", "[]"}, "Query parameter 'query' is given more than once"},
		{"/events", []string{"explain", "analyze"}, "Unsupported query parameter 'explain'"},
		{"/nodes", []string{"ast_only", "true"}, "Unsupported query parameter 'ast_only'"},
		{"/aggregate-event-counts", []string{"summarize_by", "certname", "limit", "1"}, "Unsupported query parameter 'limit'"},
		// JSON.
		{"/events", q(`["=","certname"`), "Json parse error at line 1, column 16:\n\n[\"=\",\"certname\"\n              ^\n\nUnexpected end-of-input: expected close marker for Array…"},
		{"/events", q(`["=","a","b"] x`), "Json parse error at line 1, column 16:\n\n…"},
		{"/events", q(`events{}`), "Json parse error at line 1, column …"},
		{"/events", q(`{}`), "the query must be a JSON array, not {}"},
		{"/events", q(`5`), "the query must be a JSON array, not 5"},
		{"/events", q(`true`), "the query must be a JSON array, not true"},
		{"/events", q(strings.Repeat("[", 100)), "Json parse error at line 1, column 65…"},
		// Operators.
		{"/events", q(`["and"]`), "'and' takes at least one argument, but none were supplied"},
		{"/events", q(`["or"]`), "'or' takes at least one argument, but none were supplied"},
		{"/events", q(`["and",[]]`), "[] is not well-formed: queries must contain at least one operator"},
		{"/events", q(`["not"]`), "'not' takes exactly one argument, but 0 were supplied"},
		{"/events", q(`["not",["=","line",1],["=","line",2]]`), "'not' takes exactly one argument, but 2 were supplied"},
		{"/events", q(`["=","certname"]`), "= requires exactly two arguments"},
		{"/events", q(`["=","certname","a","b"]`), "= requires exactly two arguments"},
		{"/events", q(`["~","certname"]`), "~ requires exactly two arguments"},
		{"/events", q(`["<","timestamp"]`), "< requires exactly two arguments"},
		{"/events", q(`["AND",["=","line",1]]`), `["AND" ["=" "line" 1]] is not well-formed: query operator 'AND' is unknown`},
		{"/events", q(`["and",["foo","certname","a"]]`), `["foo" "certname" "a"] is not well-formed: query operator 'foo' is unknown`},
		{"/events", q(`["extract","certname",["foo","certname","a"]]`), `["foo" "certname" "a"] is not well-formed: query operator 'foo' is unknown`},
		{"/events", q(`[5]`), `[5] is not well-formed: a clause must begin with an operator`},
		{"/events", q(`["and","x"]`), `"x" is not well-formed: a clause must be a list`},
		{"/events", q(`["group_by","status"]`), `["group_by" "status"] is not well-formed: 'group_by' belongs into 'extract'`},
		{"/events", q(`["and",["extract","status"]]`), `["extract" "status"] is not well-formed: 'extract' is allowed as the outermost clause only`},
		{"/events", q(`[">","resource_type","A"]`), "Query operators >,>=,<,<= are not allowed on field resource_type"},
		{"/events", q(`["<","latest_report?",true]`), "Query operators >,>=,<,<= are not allowed on field latest_report?"},
		{"/events", q(`["~>","certname",["a"]]`), "Query operator ~> is not allowed on field certname"},
		{"/events", q(`["null?","line",0]`), "null? requires true or false as its second argument, not 0"},
		{"/events", q(`["null?","line","false"]`), `null? requires true or false as its second argument, not "false"`},
		// Fields.
		{"/events", q(`["=","nope",1]`), "'nope' is not a queryable object for events. Known queryable objects are " + eventFields},
		{"/events", q(`["=","report_id",1]`), "'report_id' is not a queryable object for events. Known queryable objects are " + eventFields},
		{"/events", q(`["=",5,1]`), "'5' is not a queryable object for events. Known queryable objects are " + eventFields},
		{"/events", q(`["=",null,1]`), "'null' is not a queryable object for events. Known queryable objects are " + eventFields},
		{"/events", q(`["or",["=","x",1],["~","y","z"]]`), "'x' is not a queryable object for events. Known queryable objects are " + eventFields + "\n'y' is not a queryable object for events. Known queryable objects are " + eventFields},
		{"/events", q(`["=",["a","b"],1]`), `["=" ["a" "b"] 1] is not well-formed: the only lists in the place of a field are ["node" "active"] and ["fact" name]`},
		{"/events", q(`["=",["fact","kernel"]]`), "= requires exactly two arguments"},
		{"/nodes", q(`["~",["fact","kernel"],"("]`), "ERROR: invalid regular expression: parentheses () not balanced"},
		{"/environments", q(`["=",["fact","kernel"],"x"]`), `["=" ["fact" "kernel"] "x"] is not well-formed: a field must be a name`},
		{"/events", q(`["=","node_state","asleep"]`), "'asleep' is not a valid node_state: use 'active', 'inactive' or 'any'"},
		{"/reports", q(`["=","logs","x"]`), "'logs' is not a queryable object for reports. …"},
		// Values.
		{"/events", q(`["=","line","5"]`), `Argument "5" is incompatible with numeric field "line".`},
		{"/events", q(`["=","line",true]`), `Argument true is incompatible with numeric field "line".`},
		{"/events", q(`[">","line","5"]`), `Argument "5" is incompatible with numeric field "line".`},
		{"/events", q(`["=","certname",5]`), "Argument 5 is incompatible with field 'certname': it takes a string"},
		{"/events", q(`["=","containment_path",["a"]]`), `Argument ["a"] is incompatible with field 'containment_path': it takes a string`},
		{"/events", q(`["=","latest_report?","false"]`), `Argument "false" is incompatible with field 'latest_report?': it takes true or false`},
		{"/events", q(`["=","timestamp","now"]`), "'now' is not a valid timestamp value"},
		{"/events", q(`["=","timestamp",""]`), "'' is not a valid timestamp value"},
		{"/events", q(`["=","timestamp",null]`), "'null' is not a valid timestamp value"},
		{"/events", q(`[">","timestamp",1.5]`), "'1.5' is not a valid timestamp value"},
		{"/events", q(`["=","timestamp","2026-02-30"]`), "'2026-02-30' is not a valid timestamp value"},
		{"/events", q(`["=","certname","a\u0000b"]`), "Argument of field 'certname' holds U+0000, which no value has"},
		// Regular expressions.
		{"/events", q(`["~","certname","("]`), "ERROR: invalid regular expression: parentheses () not balanced"},
		{"/events", q(`["~","certname","((a{30}){30}){10}"]`), "ERROR: invalid regular expression: regular expression is too complex"},
		{"/events", q(`["extract",[["function","to_string","timestamp","DD\"th"]]]`), `the template "DD\"th" of to_string has an open quote`},
		{"/events", q(`["extract",[["function","to_string","timestamp","DD\u0000"]]]`), "the template of to_string holds U+0000, which no text has"},
		{"/events", q(`["~","certname",5]`), "Argument 5 is incompatible with field 'certname': it takes a string"},
		{"/events", q(`["~","latest_report?","t"]`), "regex not supported on field latest_report?"},
		{"/events", q(`["~","timestamp","t"]`), "regex not supported on field timestamp"},
		{"/events", q(`["~","line","1"]`), "regex not supported on field line"},
		{"/events", q(`["~","certname","` + long + `"]`), "a regular expression may have up to 1000 bytes"},
		// in.
		{"/events", q(`["in","certname",["array","x"]]`), "Operator array requires a vector argument"},
		{"/events", q(`["in","containment_path",["array",["x"]]]`), "Operator in...array is not supported on array types"},
		{"/events", q(`["in","latest_report?",["array",[true]]]`), "Operator in...array is not supported on field latest_report?"},
		{"/events", q(`["in","certname"]`), "in requires exactly two arguments"},
		{"/events", q(`["in","certname","x"]`), `["in" "certname" "x"] is not well-formed: 'in' takes an 'array', 'extract' or 'from' clause`},
		{"/events", q(`["in","nope",["array",[]]]`), "Can't match on unknown 'events' field 'nope' for 'in'. Acceptable fields are " + extractableFields},
		{"/events", q(`["in","certname",["extract","nope",["select_reports",["=","status","x"]]]]`), "Can't extract unknown 'reports' field 'nope'. Acceptable fields are …"},
		{"/events", q(`["in","certname",["extract","certname",["select_widgets"]]]`), "Unsupported subquery `select_widgets`"},
		{"/events", q(`["in","certname",["extract","certname",["select-reports",["=","status","x"]]]]`), "Unsupported subquery `select-reports` - did you mean `select_reports`?"},
		{"/events", q(`["in","certname",["extract","certname",["select_reports",["=","nope","x"]]]]`), "'nope' is not a queryable object for reports. …"},
		{"/events", q(`["in",["certname","report"],["extract","certname",["select_reports"]]]`), `["in" ["certname" "report"] ["extract" "certname" ["select_reports"]]] is not well-formed: the lists of fields on both sides must have the same length`},
		{"/events", q(`["in","timestamp",["extract","certname",["select_reports"]]]`), `["in" "timestamp" ["extract" "certname" ["select_reports"]]] is not well-formed: 'timestamp' and 'certname' hold values of different types`},
		{"/events", q(`["subquery","widgets",["=","a","b"]]`), "No implicit relationship for entity 'widgets' with 'events'"},
		// extract.
		{"/events", q(`["extract","nope"]`), "Can't extract unknown 'events' field 'nope'. Acceptable fields are " + extractableFields},
		{"/events", q(`["extract",["a","certname","b"]]`), "Can't extract unknown 'events' fields 'a' and 'b'. Acceptable fields are " + extractableFields},
		{"/events", q(`["extract","latest_report?"]`), "Can't extract unknown 'events' field 'latest_report?'. Acceptable fields are " + extractableFields},
		{"/events", q(`["extract",[["function","frobnicate"]]]`), `["function" "frobnicate"] is not well-formed: function 'frobnicate' is unknown`},
		{"/events", q(`["extract",[["function","avg","certname"]]]`), "function 'avg' takes a numeric field, not 'certname'"},
		{"/events", q(`["extract",[["function","sum"]]]`), `["function" "sum"] is not well-formed: function 'sum' takes 1 argument(s)`},
		{"/events", q(`["extract",[["function","count"],"status"]]`), "column 'status' must appear in the group_by clause or be used in an aggregate function"},
		{"/events", q(`["extract",[["function","count"]],["group_by"]]`), `["group_by"] is not well-formed: group_by takes at least one column`},
		{"/events", q(`["extract",[["function","count"]],["group_by","nope"]]`), `"nope" is niether a valid column name nor function name`},
		// Paging.
		{"/events", []string{"limit", "0"}, "Illegal value '0' for :limit; expected a positive non-zero integer."},
		{"/events", []string{"limit", "-1"}, "Illegal value '-1' for :limit; expected a positive non-zero integer."},
		{"/events", []string{"limit", "x"}, "Illegal value 'x' for :limit; expected a positive non-zero integer."},
		{"/events", []string{"limit", "1.5"}, "Illegal value '1.5' for :limit; expected a positive non-zero integer."},
		{"/events", []string{"limit", ""}, "Illegal value '' for :limit; expected a positive non-zero integer."},
		{"/events", []string{"limit", "2147483648"}, "Illegal value '2147483648' for :limit; expected a positive non-zero integer."},
		{"/events", []string{"offset", "-1"}, "Illegal value '-1' for :offset; expected a non-negative integer."},
		{"/events", []string{"offset", "x"}, "Illegal value 'x' for :offset; expected a non-negative integer."},
		{"/events", []string{"order_by", "nope"}, "Illegal value 'nope' for :order_by; expected a JSON array of maps."},
		{"/events", []string{"order_by", `{"field":"x"}`}, `Illegal value '{"field":"x"}' for :order_by; expected an array of maps.`},
		{"/events", []string{"order_by", `["certname"]`}, `Illegal value '["certname"]' for :order_by; expected an array of maps.`},
		{"/events", []string{"order_by", `[{"order":"asc"}]`}, `Illegal value '{:order "asc"}' in :order_by; missing required key field.`},
		{"/events", []string{"order_by", `[{"field":"certname","order":"up"}]`}, `Illegal value '{:field "certname", :order "up"}' in :order_by; 'order' must be either 'asc' or 'desc'`},
		{"/events", []string{"order_by", `[{"field":"certname","sort":"asc"}]`}, `Illegal value '{:field "certname", :sort "asc"}' in :order_by; unknown key 'sort'.`},
		{"/events", []string{"order_by", `[{"field":"nope"}]`}, "Unrecognized column 'nope' specified in :order_by; Supported columns are " + extractableFields},
		{"/events", []string{"order_by", `[{"field":"latest_report?"}]`}, "Unrecognized column 'latest_report?' specified in :order_by; Supported columns are " + extractableFields},
		{"/events", []string{"query", `["extract",[["function","count"]]]`, "order_by", `[{"field":"count"}]`}, "Unrecognized column 'count' specified in :order_by…"},
		// The order of faults.
		{"/events", []string{"query", "[", "nope", "1"}, "Unsupported query parameter 'nope'"},
		{"/events", []string{"limit", "0", "query", "["}, "Json parse error…"},
		{"/events", []string{"limit", "0", "order_by", "x"}, "Illegal value 'x' for :order_by; expected a JSON array of maps."},
		{"/events", []string{"distinct_resources", "true", "limit", "0"}, "Illegal value '0' for :limit; expected a positive non-zero integer."},
		{"/events", []string{"distinct_resources", "true", "order_by", `[{"field":"nope"}]`}, "'distinct_resources' query parameter requires…"},
		{"/events", []string{"query", `["=","x",1]`, "order_by", `[{"field":"nope"}]`}, "Unrecognized column 'nope' specified in :order_by…"},
		// distinct_resources.
		{"/events", []string{"distinct_resources", "false"}, "'distinct_resources' query parameter requires accompanying parameters 'distinct_start_time' and 'distinct_end_time'"},
		{"/events", []string{"distinct_start_time", "2026"}, "'distinct_resources' query parameter must accompany parameters 'distinct_start_time' and 'distinct_end_time'"},
		{"/events", []string{"distinct_resources", "true", "distinct_start_time", "x", "distinct_end_time", "2026"}, "query parameters 'distinct_start_time' and 'distinct_end_time' must be valid datetime strings: x 2026"},
		// Counts.
		{"/event-counts", nil, "Missing required query parameter 'summarize_by'"},
		{"/event-counts", []string{"summarize_by", "file"}, "Unsupported value for 'summarize_by': 'file'"},
		{"/event-counts", []string{"summarize_by", "certname", "count_by", "file"}, "Unsupported value for 'count_by': 'file'"},
		{"/event-counts", []string{"summarize_by", "certname", "counts_filter", `["and",[">","failures",0]]`}, `["and" [">" "failures" 0]] is not well-formed: query operator 'and' is unknown`},
		{"/event-counts", []string{"summarize_by", "certname", "counts_filter", `[">","nope",0]`}, "> operator does not support object 'nope' for event counts"},
		{"/event-counts", []string{"summarize_by", "certname", "counts_filter", `[">","failures","0"]`}, `Argument "0" is incompatible with numeric field "failures".`},
		{"/event-counts", []string{"summarize_by", "certname", "counts_filter", `[`}, "Json parse error at line 1, column 2…"},
		{"/event-counts", []string{"summarize_by", "certname", "query", `["extract","certname"]`}, `["extract" "certname"] is not well-formed: 'extract' has no place in counts`},
		{"/event-counts", []string{"summarize_by", "certname", "order_by", `[{"field":"resource_type"}]`}, "Unrecognized column 'resource_type' specified in :order_by; Supported columns are 'certname', 'failures', 'noops', 'skips', and 'successes'"},
		{"/aggregate-event-counts", []string{"summarize_by", "certname, resource"}, "Unsupported value for 'summarize_by': ' resource'"},
		// The root.
		{"", nil, "Missing required query parameter 'query'"},
		{"", q(`["=","certname","x"]`), `Your initial query must be of the form: ["from",<entity>,(<optional-query>)]. Check your query and try again.`},
		{"", q(`["from"]`), `Your initial query must be of the form: ["from",<entity>,(<optional-query>)]. Check your query and try again.`},
		{"", q(`["from","widgets"]`), "Invalid entity 'widgets' in query"},
		{"", q(`["from","events",["limit",0]]`), "Illegal value '0' for :limit; expected a positive non-zero integer."},
		{"", q(`widgets{}`), "Invalid entity 'widgets' in query"},
		{"", q(`events{ certname = }`), "PQL parse error at line 1, column 20:\n\nevents{ certname = }\n                   ^\n\nExpected one of:…"},
		{"", q("events{\n certname ? 1 }"), "PQL parse error at line 2, column 11:\n\n certname ? 1 }\n          ^\n\nExpected one of:…"},
		{"", q(`events{`), "PQL parse error at line 1, column 8:…"},
		{"", q(`events{} x`), "PQL parse error at line 1, column 10:…"},
		{"", q(`events{ limit 1 limit 2 }`), "PQL parse error at line 1, column 17:…"},
	} {
		b := refuser(t)
		a := b.get(c.path, c.pairs...)
		prefix, beginning := strings.CutSuffix(c.want, "…")
		if a.status != http.StatusBadRequest || a.body != c.want && (!beginning || !strings.HasPrefix(a.body, prefix)) {
			t.Errorf("%s %.200q\ngot  %d %.1500s\nwant %s", c.path, c.pairs, a.status, a.body, c.want)
		}
		if got := a.header.Get("Content-Type"); got != "text/plain;charset=utf-8" {
			t.Errorf("%s %q: content type %s", c.path, c.pairs, got)
		}
	}
}

// refuser returns a service that refuses queries without using its database.
func refuser(t *testing.T) *fixture {
	t.Helper()
	if refusing == nil {
		refusing = open(t, store.SQLite)
	}
	return refusing
}

var refusing *fixture

func TestHTTP(t *testing.T) {
	t.Parallel()
	b := open(t, store.SQLite).load(t, special...)
	body := func(text, kind string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/query/v4/events", strings.NewReader(text))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		return r
	}
	post := func(path, text, kind, query string) *http.Request {
		r := body(text, kind)
		if r.URL.Path = "/query/v4" + path; query != "" {
			r.URL.RawQuery = "query=" + url.QueryEscape(query)
		}
		return r
	}
	adding := func(r *http.Request, more string) *http.Request {
		r.URL.RawQuery += more
		return r
	}
	withHeader := func(r *http.Request, name, v string) *http.Request {
		r.Header.Set(name, v)
		return r
	}
	const narrow = `["=","report","0000000000000000000000000000000000000000"]`
	get := func() *http.Request { return request("/events", "query", narrow) }
	for name, c := range map[string]struct {
		r      *http.Request
		status int
		text   string
	}{
		"any":             {withHeader(get(), "Accept", "*/*"), 200, "[]"},
		"application":     {withHeader(get(), "Accept", "application/*"), 200, "[]"},
		"weighed":         {withHeader(get(), "Accept", "text/html, */*;q=0.1"), 200, "[]"},
		"html":            {withHeader(get(), "Accept", "text/html"), 406, "must accept application/json"},
		"refused":         {withHeader(get(), "Accept", "application/json;q=0"), 406, "must accept application/json"},
		"empty accept":    {withHeader(get(), "Accept", ""), 200, "[]"},
		"empty element":   {withHeader(get(), "Accept", "text/html,"), 406, "must accept application/json"},
		"before query":    {withHeader(request("/events", "query", "["), "Accept", "text/html"), 406, "must accept application/json"},
		"put":             {httptest.NewRequest(http.MethodPut, "/query/v4/events", nil), 405, "queries must be made via GET or POST"},
		"plain body":      {body("{}", "text/plain"), 415, "content type text/plain not supported"},
		"charset":         {body(`{"query":`+narrow+`}`, "application/json; charset=utf-8"), 200, "[]"},
		"text query":      {body(`{"query":"[\"=\",\"report\",\"x\"]","limit":"3","offset":0}`, "application/json"), 200, "[]"},
		"unknown key":     {body(`{"nope":1}`, "application/json"), 400, "Unsupported query parameter 'nope'"},
		"array body":      {body(`[]`, "application/json"), 400, "the body must be a JSON object with the parameters as its keys"},
		"bad body":        {body(`{"query":`, "application/json"), 400, "Json parse error at line 1, column 10:\n\n{\"query\":\n        ^\n\nUnexpected end-of-input within/between the entries of a value"},
		"large body":      {body(strings.Repeat(" ", 1<<20+1), "application/json"), 413, "the body is longer than 1048576 bytes"},
		"bad order":       {body(`{"order_by":"certname"}`, "application/json"), 400, "Illegal value 'certname' for :order_by; expected an array of maps."},
		"open string":     {httptest.NewRequest(http.MethodGet, "/query/v4/events?query=%5B%22", nil), 400, "Json parse error at line 1, column 3:\n\n[\"\n ^\n\nUnexpected end-of-input: was expecting closing quote for a string value"},
		"unknown report":  {request("/reports/abc/events"), 404, `{"error":"No information is known about report abc"}`},
		"unknown logs":    {request("/reports/0000000000000000000000000000000000000000/logs"), 404, `{"error":"No information is known about report 0000000000000000000000000000000000000000"}`},
		"unknown place":   {request("/environments/nowhere/events"), 404, `{"error":"No information is known about environment nowhere"}`},
		"zero byte":       {request("/environments/a%00b/events"), 404, "{\"error\":\"No information is known about environment a\\u0000b\"}"},
		"bad byte":        {request("/environments/a%ffb/events"), 404, "{\"error\":\"No information is known about environment a\uFFFDb\"}"},
		"absent entity":   {request("", "query", `["from","catalogs"]`), 200, "[]"},
		"nothing to sum":  {request("/events", "query", `["extract",[["function","count"],["function","max","line"],["function","avg","line"]],`+narrow+`]`), 200, `[{"count":0,"max":null,"avg":null}]`},
		"doubles":         {request("/events", "query", `["extract",[["function","avg","line"],["function","sum","line"]],["=","line",7]]`, "limit", "1"), 200, `[{"avg":7.0,"sum":14}]`},
		"no subject":      {request("/aggregate-event-counts", "summarize_by", "certname", "query", narrow), 200, `[{"summarize_by":"certname","failures":0,"noops":0,"skips":0,"successes":0,"total":0}]`},
		"inert":           {request("/events", "query", narrow, "origin", "x", "optimize_drop_unused_joins", "1", "include_facts_expiration", "true"), 200, "[]"},
		"pretty none":     {request("/events", "query", narrow, "pretty", "true"), 200, "[]"},
		"pretty":          {request("/events", "query", `["extract",["line","containment_path"],["and",["=","certname","special.example.com"],["=","resource_title","d"]]]`, "pretty", "true"), 200, "[\n  {\n    \"line\": 1000,\n    \"containment_path\": []\n  }\n]"},
		"not pretty":      {request("/environments", "query", `["=","name","special"]`, "pretty", "false"), 200, `[{"name":"special"}]`},
		"pretty body":     {body(`{"query":["extract","line",["and",["=","certname","special.example.com"],["=","line",1000]]],"pretty":true}`, "application/json"), 200, "[\n  {\n    \"line\": 1000\n  }\n]"},
		"empty body":      {post("/environments/special/events", ``, "", `["extract",[["function","count"]]]`), 200, `[{"count":4}]`},
		"empty object":    {post("/reports", `{}`, "application/json", `["extract",[["function","count"]],["=","certname","special.example.com"]]`), 200, `[{"count":1}]`},
		"no type":         {post("/events", `{}`, "", narrow), 415, "content type  not supported"},
		"null query":      {body(`{"query":null,"limit":1,"order_by":null,"offset":100000}`, "application/json"), 200, "[]"},
		"list in body":    {body(`{"query":`+narrow+`,"order_by":[{"field":"line"}],"include_total":true}`, "application/json"), 200, "[]"},
		"twice":           {post("/events", `{"query":[]}`, "application/json", narrow), 400, "Query parameter 'query' is given more than once"},
		"paging twice":    {adding(post("/events", `{"limit":1}`, "application/json", narrow), "&limit=1"), 400, "Query parameter 'limit' is given more than once"},
		"children posted": {post("/environments/special/events", `{"query":["extract","line",["=","line",1000]]}`, "application/json", ""), 200, `[{"line":1000}]`},
		"reports posted":  {post("/environments/special/reports", `{"query":["extract","certname"],"limit":"1"}`, "application/json", ""), 200, `[{"certname":"special.example.com"}]`},
		"unknown posted":  {post("/environments/nowhere/reports", `{}`, "application/json", ""), 404, `{"error":"No information is known about environment nowhere"}`},
		"root posted":     {post("", `{"query":"events[line]{ certname = 'special.example.com' and line = 1000 }"}`, "application/json", ""), 200, `[{"line":1000}]`},
		"root list":       {post("", `{"query":["from","events",["extract","line",["=","certname","special.example.com"]],["order_by",["line"]],["limit",1],["offset",2]]}`, "application/json", ""), 200, `[{"line":1000}]`},
		"root paged":      {request("", "query", `["from","events",["extract","line",["=","certname","special.example.com"]],["order_by",["line"]],["limit",1],["offset",1]]`, "limit", "2"), 200, `[{"line":7},{"line":1000}]`},
		"root unpaged":    {request("", "query", `["from","events",["extract","line",["=","certname","special.example.com"]],["order_by",["line"]],["limit",1],["offset",2]]`, "offset", "0"), 200, `[{"line":7}]`},
		"root ordered":    {request("", "query", `["from","events",["extract","line",["=","certname","special.example.com"]],["order_by",["line"]],["limit",1]]`, "order_by", `[{"field":"line","order":"desc"}]`, "offset", "1"), 200, `[{"line":1000}]`},
		"PQL paged":       {request("", "query", `events[line]{ certname = 'special.example.com' order by line limit 4 }`, "limit", "1"), 200, `[{"line":7}]`},
	} {
		if name == "doubles" {
			c.r = request("/events", "query", `["extract",[["function","avg","line"],["function","sum","line"]],["and",["=","certname","special.example.com"],["=","line",7]]]`)
		}
		a := b.call(c.r)
		if a.status != c.status || a.body != c.text {
			t.Errorf("%s: %d %s\nwant %d %s", name, a.status, a.body, c.status, c.text)
		}
	}
	a := b.call(withHeader(request("/events"), "Accept-Encoding", "gzip"))
	if a.header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(a.body, "\x1f\x8b") {
		t.Errorf("not compressed: %v", a.header)
	}
}
