package events

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func gzipped(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestEventsBadCommands checks that the sender of an invalid submission gets a description of the fault, and that
// nothing is stored. Faults that appear only in the payload are kept in the list of rejected commands.
func TestEventsBadCommands(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	n.Load(strings.Replace(n.config, "\t\t# read user", "\t\tmax_body 1MB", 1))
	const target = "/store/cmd/v1?command=store_report&version=8&certname=x"
	good := string(agentRun("x"))
	invalid := func(certname, detail string) string {
		return `{"error":"Command \"store report\" for certname \"` + certname + `\" is invalid. ` + detail + `"}`
	}
	bomb := gzipped(t, bytes.Repeat([]byte(" "), 32<<20))
	for _, c := range []struct {
		name, path, body string
		header           []string
		status           int
		want             string // the body, or its beginning followed by …
	}{
		{"no certname", "/store/cmd/v1?command=store_report&version=8", good, nil, 400, invalid("", "Command is missing required parameters: certname.")},
		{"unknown parameter", target + "&foo=1", good, nil, 400, invalid("x", "Command has invalid parameters: foo.")},
		{"empty certname", "/store/cmd/v1?command=store_report&version=8&certname=", good, nil, 400, invalid("", "Certname must be a non-empty string.")},
		{"unknown command", "/store/cmd/v1?command=reboot&version=8&certname=x", good, nil, 400, `{"error":"Command \"reboot\" for certname \"x\" is invalid. Command must be one of: configure expiration, deactivate node, replace catalog, replace catalog inputs, replace facts, store report."}`},
		{"foreign command", "/store/cmd/v1?command=replace_facts&version=5&certname=x", good, nil, 400, `{"error":"Command \"replace facts\" for certname \"x\" is invalid. …`},
		{"version word", "/store/cmd/v1?command=store_report&version=eight&certname=x", good, nil, 400, invalid("x", "Version must be a valid integer.")},
		{"old version", "/store/cmd/v1?command=store_report&version=4&certname=x", good, nil, 400, invalid("x", `Version 4 of command \"store report\" is retired. The minimum supported version is 5.`)},
		{"new version", "/store/cmd/v1?command=store_report&version=9&certname=x", good, nil, 400, invalid("x", `Version 9 of command \"store report\" is not known. The maximum supported version is 8.`)},
		{"bad checksum", target + "&checksum=" + strings.Repeat("0", 40), good, nil, 400, invalid("x", "The checksum is not that of the body.")},
		{"bad time", target + "&producer-timestamp=yesterday", good, nil, 400, invalid("x", "producer-timestamp must be a time such as 2026-03-02T10:27:54.161Z.")},
		{"bad wait", target + "&secondsToWaitForCompletion=-1", good, nil, 400, invalid("x", "secondsToWaitForCompletion must be a number from 0 to 600.")},
		{"text", target, good, []string{"Content-Type", "text/plain"}, 415, "content type text/plain not supported"},
		{"form", target, good, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "content type application/x-www-form-urlencoded not supported"},
		{"brotli", target, good, []string{"Content-Encoding", "br"}, 415, "content encoding br not supported"},
		{"accept", target, good, []string{"Accept", "text/html"}, 406, "must accept application/json"},
		{"no gzip", target, good, []string{"Content-Encoding", "gzip"}, 400, `{"error":"The body could not be read: it is not gzip"}`},
		{"cut gzip", target, gzipped(t, []byte(good))[:200], []string{"Content-Encoding", "gzip"}, 400, `{"error":"The body could not be read: it ends too early or is damaged"}`},
		{"gzip bomb", target, bomb, []string{"Content-Encoding", "gzip"}, 413, "Command size exceeds max-command-size"},
		{"gzip bomb, small as said", target, bomb, []string{"Content-Encoding", "gzip", "X-Uncompressed-Length", "100000"}, 400, `{"error":"The body could not be read: it is longer than X-Uncompressed-Length says"}`},
		{"large", target, strings.Repeat(" ", 2<<20), nil, 413, "Command size exceeds max-command-size"},
		{"large as said", target, good, []string{"X-Uncompressed-Length", "2000000"}, 413, "Command size exceeds max-command-size"},
		{"older form, no JSON", "/store/cmd/v1", "hello", nil, 400, `{"error":"the command cannot be read: an object is expected at byte 0"}`},
		{"older form, not UTF-8", "/store/cmd/v1", "{\"command\":\"\xff\"}", nil, 400, `{"error":"the command is not UTF-8"}`},
		{"older form, no version", "/store/cmd/v1", `{"command":"store report","certname":"x","payload":` + good + `}`, nil, 400, invalid("x", "Command is missing required parameters: version.")},
		{"older form, two values", "/store/cmd/v1", `{"command":"store report","version":8,"payload":` + good + `} {}`, nil, 400, `{"error":"the command cannot be read: …`},
	} {
		a := e2e.Do(t, e2e.Client, http.MethodPost, n.base+c.path, "", c.body, append([]string{"Content-Type", "application/json"}, c.header...)...)
		beginning, cut := strings.CutSuffix(c.want, "…")
		if a.Status != c.status || a.Body != c.want && (!cut || !strings.HasPrefix(a.Body, beginning)) {
			t.Errorf("%s: %d %s, want %d %s", c.name, a.Status, a.Body, c.status, c.want)
		}
		if kind := a.Header.Get("Content-Type"); strings.HasPrefix(a.Body, "{") != strings.HasPrefix(kind, "application/json") {
			t.Errorf("%s: type %s of %s", c.name, kind, a.Body)
		}
	}
	for method, status := range map[string]int{"GET": 405, "PUT": 405, "DELETE": 405} {
		if a := e2e.Do(t, e2e.Client, method, n.base+target, "", ""); a.Status != status || a.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d %v", method, a.Status, a.Header)
		}
	}
	if status, text := n.halfClosed(target, good, len(good)+1); status != http.StatusBadRequest {
		t.Errorf("a report without its end: %d %s", status, text)
	}

	// Submissions that are accepted but cannot be stored.
	rejected := 0
	for name, body := range map[string]string{
		"empty": "", "no JSON": "hello", "list": "[]", "cut": good[:len(good)/2], "not UTF-8": strings.Replace(good, "created", "\xff", 1),
		"unknown member": strings.Replace(good, `"noop":`, `"colour":"red","noop":`, 1), "member twice": strings.Replace(good, `"noop":`, `"status":"failed","noop":`, 1),
		"no certname": strings.Replace(good, `"certname":"x",`, "", 1), "number for text": strings.Replace(good, `"environment":"production"`, `"environment":7`, 1),
		"bad time": strings.Replace(good, `"start_time":"2026`, `"start_time":"today`, 1), "no resources": strings.Replace(good, `"resources":[{`, `"resources":{"a":[{`, 1),
		"deep":      strings.Replace(good, `"new_value":"file"`, `"new_value":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000), 1),
		"long name": strings.Replace(good, `"certname":"x"`, `"certname":"`+strings.Repeat("x", 5000)+`"`, 1),
	} {
		rejected += 2
		a := e2e.Do(t, e2e.Client, http.MethodPost, n.base+target, "", body, "Content-Type", "application/json")
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		a = e2e.Do(t, e2e.Client, http.MethodPost, n.base+target+"&secondsToWaitForCompletion=60", "", body, "Content-Type", "application/json")
		var reply struct {
			Processed bool
			TimedOut  bool `json:"timed_out"`
			Error     string
		}
		if a.Status != http.StatusServiceUnavailable || json.Unmarshal([]byte(a.Body), &reply) != nil || !reply.Processed || reply.TimedOut || reply.Error == "" {
			t.Errorf("%s, waiting: %d %s", name, a.Status, a.Body)
		}
	}
	var list []struct{ Reason string }
	if err := json.Unmarshal([]byte(n.Tool("events", "rejected", "list", "--json")), &list); err != nil || len(list) != rejected {
		t.Errorf("%d are rejected, want %d: %v", len(list), rejected, err)
	}
	for _, entity := range []string{"events", "reports", "nodes", "environments"} {
		if rows := n.rows("/store/query/v4/"+entity, ""); len(rows) != 0 {
			t.Errorf("%s: %v", entity, rows)
		}
	}
	if status, body, err := n.request(http.MethodPost, target, []byte(good)); err != nil || status != http.StatusOK {
		t.Errorf("a valid report: %d %s %v", status, body, err)
	}
	// An acknowledgement always has a body, even for a client that has closed its side.
	if status, text := n.halfClosed(target, good, len(good)); status != http.StatusOK || !strings.Contains(text, `"uuid"`) {
		t.Errorf("a client that has closed its side: %d %s", status, text)
	}
	if rows := n.rows("/store/query/v4/events", ""); len(rows) != 3 {
		t.Errorf("%d events of a valid report", len(rows))
	}
}

// halfClosed sends a report as a client that closes its side and then reads. length is the declared length of the body.
func (n *eventsNode) halfClosed(target, body string, length int) (status int, text string) {
	n.T.Helper()
	conn, err := new(net.Dialer).DialContext(n.T.Context(), "tcp", strings.TrimPrefix(n.base, "http://"))
	if err != nil {
		n.T.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(e2e.WaitLimit))
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target, length, body); err != nil {
		n.T.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		n.T.Fatal(err)
	}
	a := e2e.Read(http.ReadResponse(bufio.NewReader(conn), nil)) //nolint:bodyclose // read does
	if a.Err != nil {
		n.T.Fatal(a.Err)
	}
	return a.Status, a.Body
}

// TestEventsBadQueries checks that an invalid query gets a status and an error text, and never an internal error.
func TestEventsBadQueries(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	if status, body, err := n.request(http.MethodPost, e2e.Submission, agentRun("a.example.com")); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, body, err)
	}
	const events = "/store/query/v4/events?"
	query := func(text string) string { return events + "query=" + url.QueryEscape(text) }
	deep := strings.Repeat(`["not",`, 2000) + `["=","line",1]` + strings.Repeat("]", 2000)
	for _, c := range []struct {
		path   string
		status int
		want   string // … stands for the rest
	}{
		{events + "foo=1", 400, "Unsupported query parameter 'foo'"},
		{events + "Query=[]", 400, "Unsupported query parameter 'Query'"},
		{events + "query=[]&query=[]", 400, "Query parameter 'query' is given more than once"},
		{query(`["=","certname"`), 400, "Json parse error at line 1, column …"},
		{query(`[] x`), 400, "Json parse error at line 1, column …"},
		{query(`{}`), 400, "the query must be a JSON array, not …"},
		{query(`events { }`), 400, "Json parse error at line 1, column …"},
		{query(`["=","certname"]`), 400, "= requires exactly two arguments"},
		{query(`["=","nope",1]`), 400, "'nope' is not a queryable object for events. Known queryable objects are 'certname', 'configuration_version', …"},
		{query(`["foo","certname","a"]`), 400, `["foo" …`},
		{query(`["AND",["=","line",1]]`), 400, "…"},
		{query(`["and"]`), 400, "'and' takes at least one argument, but none were supplied"},
		{query(`["and",[]]`), 400, "[] is not well-formed: queries must contain at least one operator"},
		{query(`["not",["=","line",1],["=","line",2]]`), 400, "'not' takes exactly one argument, but 2 were supplied"},
		{query(`["<","certname","a"]`), 400, "Query operators >,>=,<,<= are not allowed on field certname"},
		{query(`["~>","certname",["a"]]`), 400, "Query operator ~> is not allowed on field certname"},
		{query(`["=","line","5"]`), 400, `Argument "5" is incompatible with numeric field "line".`},
		{query(`["=","certname",5]`), 400, "…"},
		{query(`["=","timestamp","now"]`), 400, "'now' is not a valid timestamp value"},
		{query(`["=","timestamp","2026-02-30"]`), 400, "'2026-02-30' is not a valid timestamp value"},
		{query(`["null?","line",1]`), 400, "…"},
		{query(`["~","certname","(a"]`), 400, "ERROR: invalid regular expression: parentheses () not balanced"},
		{query(`["~","certname","*a"]`), 400, "ERROR: invalid regular expression: quantifier operand invalid"},
		{query(`["~","certname","[a"]`), 400, "ERROR: invalid regular expression: brackets [] not balanced"},
		{query(`["~","timestamp","a"]`), 400, "regex not supported on field timestamp"},
		{query(`["in","certname",["array","a"]]`), 400, "Operator array requires a vector argument"},
		{query(`["in","certname",["extract","certname",["select_widgets",["=","certname","a"]]]]`), 400, "Unsupported subquery `select_widgets`"},
		{query(`["extract",["nope"]]`), 400, "Can't extract unknown 'events' field 'nope'. Acceptable fields are …"},
		{query(`["extract",["status"],["group_by","certname"]]`), 400, "…"},
		{query(`["subquery","widgets",["=","certname","a"]]`), 400, "…"},
		{query("[\"=\",\"certname\",\"\x00\"]"), 400, "…"},
		{query("[\"=\",\"certname\",\"\xff\"]"), 400, "…"},
		{events + "query=%zz", 400, "…"},
		{events + "limit=0", 400, "Illegal value '0' for :limit; expected a positive non-zero integer."},
		{events + "limit=2147483648", 400, "Illegal value '2147483648' for :limit; expected a positive non-zero integer."},
		{events + "offset=-1", 400, "Illegal value '-1' for :offset; expected a non-negative integer."},
		{events + "order_by=x", 400, "Illegal value 'x' for :order_by; expected a JSON array of maps."},
		{events + "order_by=" + url.QueryEscape(`[{"field":"nope"}]`), 400, "Unrecognized column 'nope' specified in :order_by; Supported columns are …"},
		{events + "distinct_resources=true", 400, "'distinct_resources' query parameter requires accompanying parameters 'distinct_start_time' and 'distinct_end_time'"},
		{events + "distinct_start_time=2026&distinct_end_time=2027", 400, "'distinct_resources' query parameter must accompany parameters 'distinct_start_time' and 'distinct_end_time'"},
		{"/store/query/v4/event-counts", 400, "Missing required query parameter 'summarize_by'"},
		{"/store/query/v4/event-counts?summarize_by=file", 400, "Unsupported value for 'summarize_by': 'file'"},
		{"/store/query/v4/aggregate-event-counts?summarize_by=certname&limit=1", 400, "Unsupported query parameter 'limit'"},
		{"/store/query/v4", 400, "Missing required query parameter 'query'"},
		{"/store/query/v4?query=" + url.QueryEscape(`["from","widgets"]`), 400, "Invalid entity 'widgets' in query"},
		{"/store/query/v4?query=" + url.QueryEscape(`["=","certname","a"]`), 400, "Your initial query must be of the form: [\"from\",<entity>,(<optional-query>)]. Check your query and try again."},
		{"/store/query/v4?query=" + url.QueryEscape("events { certname = }"), 400, "PQL parse error at line 1, column …"},
		{"/store/query/v4/reports/xyz/logs", 404, `{"error":"No information is known about report xyz"}`},
		{"/store/query/v4/environments/nowhere/events", 404, `{"error":"No information is known about environment nowhere"}`},
		{"/store/query/v4/widgets", 404, "…"},
	} {
		a := e2e.Get(t, e2e.Client, n.base+c.path, "")
		beginning, cut := strings.CutSuffix(c.want, "…")
		if a.Status != c.status || a.Body == "" || a.Body != c.want && (!cut || !strings.HasPrefix(a.Body, beginning)) {
			t.Errorf("%.200s: %d %.300s, want %d %s", c.path, a.Status, a.Body, c.status, c.want)
		}
		if strings.Contains(a.Body, "SQL") || strings.Contains(a.Body, "run_events") {
			t.Errorf("%.200s reveals internal details: %s", c.path, a.Body)
		}
	}
	for _, c := range []struct {
		method, body string
		header       []string
		status       int
		want         string
	}{
		{"POST", "certname=x", []string{"Content-Type", "text/plain"}, 415, "content type text/plain not supported"},
		{"POST", "[]", nil, 400, "…"},
		{"POST", `{"query":[]`, nil, 400, "Json parse error at line 1, column …"},
		{"POST", `{"foo":1}`, nil, 400, "Unsupported query parameter 'foo'"},
		{"POST", `{"limit":"many"}`, nil, 400, "Illegal value 'many' for :limit; expected a positive non-zero integer."},
		{"POST", `{"order_by":"[]"}`, nil, 400, "…"},
		{"POST", strings.Repeat(" ", 4<<20), nil, 413, "…"},
		{"POST", `{"query":` + deep + `}`, nil, 400, "…"},
		{"POST", `{"query":["or"` + strings.Repeat(`,["~","message","x"]`, 20_000) + `]}`, nil, 400, "…"},
		{"POST", "{\"query\":[\"=\",\"certname\",\"\xff\"]}", nil, 400, "…"},
		{"PUT", "{}", nil, 405, "…"},
		{"GET", "", []string{"Accept", "text/html"}, 406, "must accept application/json"},
	} {
		a := e2e.Do(t, e2e.Client, c.method, n.base+"/store/query/v4/events", "", c.body, append([]string{"Content-Type", "application/json"}, c.header...)...)
		beginning, cut := strings.CutSuffix(c.want, "…")
		if a.Status != c.status || a.Body == "" || a.Body != c.want && (!cut || !strings.HasPrefix(a.Body, beginning)) {
			t.Errorf("%s %.80s: %d %.300s, want %d %s", c.method, c.body, a.Status, a.Body, c.status, c.want)
		}
	}
	if n.Logged(`"level":"error"`) {
		t.Error("a bad query is logged as a failure of the server")
	}
	if rows := n.rows("/store/query/v4/events", ""); len(rows) != 3 {
		t.Errorf("%d events", len(rows))
	}
}
