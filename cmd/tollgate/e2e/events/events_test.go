package events

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// eventsNode is a node with the shipped Caddyfile for run events.
type eventsNode struct {
	*e2e.Node
	base, config string
}

func newEvents(t *testing.T, dsn string) *eventsNode {
	t.Helper()
	port := e2e.FreePort(t)
	replace := []string{
		"{$TOLLGATE_DOMAIN:localhost}", "http://127.0.0.1:" + port,
		"\t\tresource_events_ttl 14d\n\t\treport_ttl 14d\n", "\t\tresource_events_ttl 36500d\n\t\treport_ttl 36500d\n",
	}
	if dsn != "" {
		replace = append(replace, "\t\tdatabase sqlite data/tollgate.db\n", "\t\tdatabase sqlite data/tollgate.db\n\t\tdatabase events postgres {env.TOLLGATE_DSN}\n")
	}
	config := e2e.Shipped(t, "events", replace...)
	n := &eventsNode{Node: e2e.NewNode(t, config, "TOLLGATE_DSN="+dsn), base: "http://127.0.0.1:" + port, config: config}
	n.Start()
	n.healthy()
	return n
}

func (n *eventsNode) healthy() {
	n.T.Helper()
	e2e.Eventually(n.T, e2e.StartLimit, "the database is there", func() error {
		status, body, err := n.request(http.MethodGet, "/store/status/v1/simple", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
}

func (n *eventsNode) request(method, path string, body []byte, header ...string) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(e2e.BackgroundContext, method, n.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
		// With this header, the client may repeat the request if the server has just closed an idle connection.
		request.Header.Set("Idempotency-Key", "report")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	resp, err := e2e.Client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	read, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(read), err
}

// rows returns the rows that answer a query.
func (n *eventsNode) rows(path, query string) []map[string]any {
	n.T.Helper()
	if query != "" {
		path += "?query=" + url.QueryEscape(query)
	}
	status, body, err := n.request(http.MethodGet, path, nil)
	var rows []map[string]any
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &rows) != nil {
		n.T.Fatalf("%s: %d %s %v", query, status, body, err)
	}
	return rows
}

// agentRun returns a report of a node with three events.
func agentRun(certname string) []byte { return e2e.AgentRunAt(certname, 0) }

// sent is a submitted run.
type sent struct {
	certname string
	minutes  int
}

func (s sent) report() []byte { return e2e.AgentRunAt(s.certname, s.minutes) }

// submitters send reports of new runs until they are stopped, and record which reports were acknowledged and which
// refused.
type submitters struct {
	again        bool // requests without an answer are sent again, as during a reload
	stop         chan struct{}
	work         sync.WaitGroup
	mu           sync.Mutex
	acknowledged []sent
	failed       []sent
	refusals     []string
	broken       []error // the errors of requests without an answer
}

// submit starts the given number of workers, each with a few nodes that no other worker has.
func (n *eventsNode) submit(workers int, retry bool) *submitters {
	s := &submitters{stop: make(chan struct{}), again: retry}
	for w := range workers {
		s.work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-s.stop:
					return
				default:
				}
				run := sent{fmt.Sprintf("node-%d-%d.example.com", w, i%5), i}
				status, body, err := n.request(http.MethodPost, e2e.Submission, run.report())
				if s.again && e2e.Unanswered(err) {
					status, body, err = n.request(http.MethodPost, e2e.Submission, run.report())
				}
				s.mu.Lock()
				if err == nil && status == http.StatusOK {
					s.acknowledged = append(s.acknowledged, run)
				} else {
					s.failed = append(s.failed, run)
					if err == nil {
						s.refusals = append(s.refusals, fmt.Sprint(status, " ", body))
					} else {
						s.broken = append(s.broken, err)
					}
				}
				disconnected := err != nil
				s.mu.Unlock()
				if disconnected {
					return
				}
			}
		})
	}
	return s
}

func (s *submitters) await(t *testing.T, n int) {
	t.Helper()
	e2e.Eventually(t, e2e.WaitLimit, "reports are acknowledged", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.acknowledged) < n {
			return fmt.Errorf("%d of %d, refused %v", len(s.acknowledged), n, s.refusals)
		}
		return nil
	})
}

// count returns how many reports have been acknowledged.
func (s *submitters) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acknowledged)
}

// verify compares the stored reports with the acknowledged ones: each acknowledged report is stored once and whole, and
// the latest report of each node is the youngest that is stored. It returns how many reports are stored.
func (n *eventsNode) verify(acknowledged []sent) int {
	n.T.Helper()
	type stored struct {
		certname, at string
		events       float64
	}
	byHash := make(map[string]*stored)
	for _, row := range n.rows("/store/query/v4/reports", `["extract",["hash","certname","producer_timestamp"]]`) {
		byHash[row["hash"].(string)] = &stored{row["certname"].(string), row["producer_timestamp"].(string), 0}
	}
	for _, row := range n.rows("/store/query/v4/events", `["extract",["report",["function","count"]],["group_by","report"]]`) {
		if s := byHash[row["report"].(string)]; s != nil {
			s.events = row["count"].(float64)
		} else {
			n.T.Errorf("events of the report %v, which is not there", row["report"])
		}
	}
	runs, youngest := make(map[string]int), make(map[string]string)
	for _, s := range byHash {
		if s.events != 3 {
			n.T.Errorf("%s has %v events of %s", s.certname, s.events, s.at)
		}
		runs[s.certname+s.at]++
		youngest[s.certname] = max(youngest[s.certname], s.at)
	}
	for _, s := range acknowledged {
		stamp := time.Date(2026, 3, 2, 10, s.minutes, 10, 0, time.UTC).Format("2006-01-02T15:04:05.000Z")
		if runs[s.certname+stamp] != 1 {
			n.T.Errorf("%s of %s was acknowledged and is stored %d times", s.certname, stamp, runs[s.certname+stamp])
		}
	}
	latest := n.rows("/store/query/v4/events", `["extract",["report",["function","count"]],["=","latest_report?",true],["group_by","report"]]`)
	for _, row := range latest {
		if s := byHash[row["report"].(string)]; s == nil || row["count"] != 3.0 || youngest[s.certname] != s.at {
			n.T.Errorf("latest report %v of %+v", row, s)
		}
	}
	if nodes := n.rows("/store/query/v4/nodes", ""); len(latest) != len(youngest) || len(nodes) != len(youngest) {
		n.T.Errorf("%d latest reports and %d nodes, want %d", len(latest), len(nodes), len(youngest))
	}
	return len(byHash)
}

// TestEventsKilled checks that a server that is killed while reports come in has stored every report that it
// acknowledged, whole, and accepts the other reports when they are sent again.
func TestEventsKilled(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dsn := ""
			if engine == "postgres" {
				dsn = testenv.Postgres(t).DSN()
			}
			n := newEvents(t, dsn)
			s := n.submit(8, false)
			s.await(t, 400)
			n.Kill()
			s.work.Wait()
			if len(s.refusals) > 0 {
				t.Errorf("refused: %q", s.refusals[:1])
			}

			n.Start()
			n.healthy()
			if stored, limit := n.verify(s.acknowledged), len(s.acknowledged)+len(s.failed); stored > limit {
				t.Errorf("%d reports, at most %d were sent", stored, limit)
			}
			for _, run := range append(s.failed, s.acknowledged[:20]...) {
				if status, body, err := n.request(http.MethodPost, e2e.Submission, run.report()); err != nil || status != http.StatusOK {
					t.Errorf("again: %d %s %v", status, body, err)
				}
			}
			if stored, all := n.verify(append(s.failed, s.acknowledged...)), len(s.acknowledged)+len(s.failed); stored != all {
				t.Errorf("%d reports, want %d", stored, all)
			}
			if dsn == "" {
				if verdict := n.Integrity(); verdict != "ok" {
					t.Errorf("integrity: %s", verdict)
				}
			}
		})
	}
}

// TestEventsStopped checks that a server that is stopped completes the requests that have begun, so that afterwards
// exactly the acknowledged reports are stored.
func TestEventsStopped(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	s := n.submit(8, false)
	s.await(t, 200)
	n.Stop()
	s.work.Wait()
	if len(s.refusals) > 0 {
		t.Errorf("refused: %q", s.refusals[:1])
	}
	n.Start()
	n.healthy()
	if stored := n.verify(s.acknowledged); stored != len(s.acknowledged) {
		t.Errorf("%d reports are stored, %d were acknowledged", stored, len(s.acknowledged))
	}
}

// TestEventsReload checks that reloads during submissions, with the same and with other settings, refuse no submission.
func TestEventsReload(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	s := n.submit(4, true)
	s.await(t, 20)
	for i := range 6 {
		config := n.config
		if i%2 == 0 {
			config = strings.Replace(config, "report_ttl 36500d", "report_ttl 36400d", 1)
		}
		n.Load(config)
		s.await(t, 20*(i+2))
	}
	close(s.stop)
	s.work.Wait()
	if len(s.failed) > 0 {
		t.Errorf("%d reports failed: %q %v", len(s.failed), s.refusals, s.broken)
	}
	if stored := n.verify(s.acknowledged); stored != len(s.acknowledged) {
		t.Errorf("%d reports are stored, %d were acknowledged", stored, len(s.acknowledged))
	}
	n.Stop()
}

// TestEventsAreCut checks that a reload with a shorter retention deletes older events, and that a refused reload
// deletes nothing.
func TestEventsAreCut(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	if status, text, err := n.request(http.MethodPost, e2e.Submission, agentRun("a.example.com")); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s %v", status, text, err)
	}
	left := func() string {
		t.Helper()
		_, text, err := n.request(http.MethodGet, `/store/query/v4/events?query=["extract",[["function","count"]]]`, nil)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	shorter := e2e.Swap(t, n.config, "resource_events_ttl 36500d", "resource_events_ttl 1d")
	refused := shorter + "\nhttp://" + listener.Addr().String() + " {\n\trespond ok\n}\n"
	if _, err := n.Admin(http.MethodPost, "/load", "text/caddyfile", refused); err == nil {
		t.Fatal("a port that is in use was no obstacle")
	}
	for range 20 {
		if got := left(); got != `[{"count":3}]` {
			t.Fatalf("a configuration that is refused leaves %s", got)
		}
	}
	n.Load(shorter)
	e2e.Eventually(t, e2e.WaitLimit, "the events are gone", func() error {
		metrics, err := n.Admin(http.MethodGet, "/metrics", "", "")
		_, job, _ := strings.Cut(metrics, `tollgate_run_events_job_done_total{job="purge"} `)
		job, _, _ = strings.Cut(job, "\n")
		if got := left(); err == nil && (got != `[{"count":0}]` || job == "" || job == "0") {
			err = fmt.Errorf("%s are left, %q counted", got, job)
		}
		return err
	})
}

// TestEventsAccess checks which clients have access with the shipped file, by default, and by the rules of each right.
func TestEventsAccess(t *testing.T) {
	t.Parallel()
	const (
		events  = "/store/query/v4/events"
		forward = "X-Forwarded-For"
	)
	n := newEvents(t, "")
	check := func(name string, want int, method, path string, header ...string) {
		t.Helper()
		var body []byte
		if method == http.MethodPost {
			body = agentRun("a.example.com")
		}
		status, text, err := n.request(method, path, body, header...)
		if err != nil || status != want || want != http.StatusOK && !strings.HasPrefix(text, `{"error":"`) {
			t.Errorf("%s: %d %s %v, want %d", name, status, text, err, want)
		}
	}
	check("read on this machine", 200, http.MethodGet, events)
	check("submit on this machine", 200, http.MethodPost, e2e.Submission)
	check("read through a proxy", 403, http.MethodGet, events, forward, "192.0.2.1")
	check("submit through a proxy", 403, http.MethodPost, e2e.Submission, forward, "192.0.2.1")
	check("submit through a proxy that tells its name alone", 403, http.MethodPost, e2e.Submission, "Via", "1.1 front")
	check("bad token", 401, http.MethodGet, events, "Authorization", "Bearer x")
	check("unknown path", 404, http.MethodGet, "/store/query/v5/events")

	token := "Bearer " + strings.TrimSpace(n.Tool("keychain", "token", "ada"))
	n.Load(strings.Replace(n.config, "\t\t# read user", "\t\tread user ada", 1))
	check("read as a user", 200, http.MethodGet, events, forward, "192.0.2.1", "Authorization", token)
	check("submit as that user", 200, http.MethodPost, e2e.Submission, "Authorization", token)
	check("submit as that user through a proxy", 403, http.MethodPost, e2e.Submission, forward, "192.0.2.1", "Authorization", token)
	check("read without a token", 403, http.MethodGet, events)
	n.Load(strings.Replace(n.config, "\t\t# read user", "\t\tread user bert", 1))
	check("read as another user", 403, http.MethodGet, events, "Authorization", token)
	unsaid := strings.Replace(n.config, "\t\tsubmit loopback\n", "", 1)
	n.Load(unsaid)
	check("submit on this machine, of which no line says so", 403, http.MethodPost, e2e.Submission)
	check("submit as a user", 200, http.MethodPost, e2e.Submission, forward, "192.0.2.1", "Authorization", token)
	n.Load(strings.Replace(unsaid, "\t\t# submit certname puppet.example.com", "\t\tsubmit certname puppet.example.com\n\t\tread any", 1))
	check("submit without a certificate", 403, http.MethodPost, e2e.Submission)
	check("submit as a user who is not named", 403, http.MethodPost, e2e.Submission, "Authorization", token)
	check("read by anybody", 200, http.MethodGet, events, forward, "192.0.2.1")
}

// attempt runs a command that may fail.
func (n *eventsNode) attempt(args ...string) (stdout, stderr string, err error) {
	n.T.Helper()
	ctx, cancel := context.WithTimeout(n.T.Context(), e2e.StartLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, e2e.Binary, args...)
	cmd.Dir, cmd.Env = n.Dir, n.Env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// TestEventsCommands checks the commands for importing reports, generating nodes, and listing rejected commands.
func TestEventsCommands(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	if err := os.Mkdir(n.Path("reports"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(n.Path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("reports/a.json", agentRun("a.example.com"))
	write("reports/b.json", agentRun("b.example.com"))
	write("reports/README.md", []byte("no report"))
	var done struct{ Stored, Rejected int }
	answer := func(args ...string) {
		t.Helper()
		if err := json.Unmarshal([]byte(n.Tool(append(args, "--json")...)), &done); err != nil {
			t.Fatal(err)
		}
	}
	answer("events", "import", "reports")
	if done.Stored != 2 || done.Rejected != 0 {
		t.Errorf("import: %+v", done)
	}
	if rows := n.rows("/store/query/v4/reports", `["extract","certname"]`); len(rows) != 2 {
		t.Errorf("%v", rows)
	}
	answer("events", "generate", "--nodes", "5", "--runs", "3", "reports")
	if done.Stored != 15 {
		t.Errorf("generate: %+v", done)
	}
	rows := n.rows("/store/query/v4/nodes", `["~","certname","^node00000[0-4].example.com$"]`)
	if len(rows) != 5 {
		t.Errorf("%d nodes, want 5", len(rows))
	}
	for _, row := range rows {
		stamp, err := time.Parse(time.RFC3339, fmt.Sprint(row["report_timestamp"]))
		if err != nil || time.Since(stamp) > 2*time.Hour {
			t.Errorf("%v %v", row, err)
		}
	}
	if status, _, err := n.request(http.MethodPost, e2e.Submission, []byte(`{"certname":7}`)); status != http.StatusOK {
		t.Errorf("%d %v", status, err)
	}
	list := n.Tool("events", "rejected", "list")
	if !strings.Contains(list, "certname: a string is expected") {
		t.Errorf("rejected: %s", list)
	}
	if text := n.Tool("events", "rejected", "show", "1"); text != "{\"certname\":7}\n" {
		t.Errorf("show: %q", text)
	}

	// Bad files do not prevent the import of the other files, and do not change the list of rejected commands.
	write("reports/0.json.gz", []byte(gzipped(t, agentRun("c.example.com")))[:100])
	write("reports/1.json", []byte("{}"))
	write("reports/z.json", agentRun("z.example.com"))
	stdout, stderr, err := n.attempt("events", "import", "reports", "--json")
	var bad struct{ Stored, Rejected, Unreadable int }
	if decoded := json.Unmarshal([]byte(stdout), &bad); err == nil || decoded != nil || bad.Stored != 3 || bad.Rejected != 1 || bad.Unreadable != 1 {
		t.Errorf("import: %+v %v\n%s%s", bad, err, stdout, stderr)
	}
	for _, want := range []string{"reading reports/0.json.gz: unexpected EOF", "reports/1.json is rejected: report: certname is missing"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
	if _, stderr, err := n.attempt("events", "import", "--version", "9", "reports"); err == nil || !strings.Contains(stderr, "--version is 9, must be from 5 to 8") {
		t.Errorf("%v %s", err, stderr)
	}
	if second := n.Tool("events", "rejected", "list"); second != list {
		t.Errorf("rejected: %s", second)
	}
}
