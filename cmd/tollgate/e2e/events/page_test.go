package events

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestEventsPage runs the cases of testdata/npm/events.mjs in a headless Chromium: the dashboard with real reports, on
// a node that this machine may read and on a node whose queries need a token.
func TestEventsPage(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	n.unpack(e2e.Repo("backends/runevents/testdata/reports.tar.gz"), "reports")
	n.Tool("events", "import", "reports")
	if status, body, err := n.request(http.MethodPost, "/store/cmd/v1?command=deactivate_node&version=3&certname=x",
		[]byte(`{"certname":"gone.example.com","producer_timestamp":"`+time.Now().UTC().Format(time.RFC3339)+`"}`)); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, body, err)
	}
	// A node that has only the run of a plan, which does not count, and a node whose clock is far ahead.
	const odd = `{"certname":"odd.example.com","puppet_version":"7.23.0","report_format":12,"configuration_version":"v1","start_time":"2026-03-05T00:00:00Z",` +
		`"end_time":"2999-01-01T00:00:00Z","producer_timestamp":"2026-03-05T00:00:00Z","producer":null,"environment":"production","transaction_uuid":null,"catalog_uuid":null,` +
		`"code_id":null,"cached_catalog_status":null,"status":"changed","noop":false,"noop_pending":false,"corrective_change":null,"type":"agent","metrics":[],"logs":[],` +
		`"resources":[{"skipped":false,"timestamp":"2026-03-05T00:00:00Z","resource_type":"File","resource_title":"/a","file":null,"line":null,"containment_path":["Main"],` +
		`"events":[{"status":"success","timestamp":"2026-04-01T00:00:00Z","property":"ensure","new_value":"file","old_value":"absent","message":"created"}]}]}`
	for _, report := range []string{
		strings.ReplaceAll(odd, "odd.", "ahead."),
		strings.NewReplacer("odd.", "planned.", `"type":"agent"`, `"type":"plan"`).Replace(odd),
	} {
		if status, body, err := n.request(http.MethodPost, "/store/cmd/v1?command=store_report&version=8&certname=x&secondsToWaitForCompletion=30", []byte(report)); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, body, err)
		}
	}

	// On this node, only a user may query.
	closed := newEvents(t, "")
	closed.Load(strings.Replace(closed.config, "\t\t# read user", "\t\tread user ada\n\t\tunreported_after 90m", 1))
	token := strings.TrimSpace(closed.Tool("keychain", "token", "ada"))
	e2e.RunBrowser(t, "events.mjs", "EVENTS_URL="+n.base, "EVENTS_CLOSED_URL="+closed.base, "EVENTS_TOKEN="+token, "EVENTS_REPORT="+strings.ReplaceAll(odd, "odd.", "ahead."))
}

// unpack writes the files of an archive into a folder of the node.
func (n *eventsNode) unpack(archive, folder string) {
	n.T.Helper()
	fail := func(err error) {
		if err != nil {
			n.T.Fatal(err)
		}
	}
	f, err := os.Open(archive)
	fail(err)
	defer func() { _ = f.Close() }()
	unzip, err := gzip.NewReader(f)
	fail(err)
	fail(os.Mkdir(n.Path(folder), 0o700))
	for r := tar.NewReader(unzip); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		fail(err)
		body, err := io.ReadAll(r)
		fail(err)
		fail(os.WriteFile(n.Path(folder, filepath.Base(header.Name)), body, 0o600))
	}
}

// TestEventsPageFiles checks the files of the dashboard with plain HTTP requests, and that the dashboard hides no path
// of the API.
func TestEventsPageFiles(t *testing.T) {
	t.Parallel()
	n := newEvents(t, "")
	e2e.CheckConsole(t, n.base+"/store/", "dashboard/", "connect-src 'self';")
	for _, path := range []string{"/store/nothing", "/store/query", "/store/query/v5/events", "/store/dashboard", "/store/dashboard/nothing", "/store/dashboard/index.html", "/store/dashboard/pages/..%2fapp.js"} {
		if a := e2e.Get(t, e2e.Client, n.base+path, ""); a.Status != http.StatusNotFound {
			t.Errorf("%s: status %d, %s", path, a.Status, a.Body)
		}
	}
	if a := e2e.Get(t, e2e.Client, n.base+"/store/query/v5/events", ""); a.Body != `{"error":"there is nothing at this path"}` {
		t.Errorf("404 of the API: %s", a.Body)
	}
	if a := e2e.Do(t, e2e.Client, http.MethodPost, n.base+"/store/", "", ""); a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET" {
		t.Errorf("POST: status %d, %v", a.Status, a.Header)
	}
	still := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if a := e2e.Get(t, still, n.base+"/store", ""); a.Status != http.StatusPermanentRedirect || a.Header.Get("Location") != "store/" {
		t.Errorf("redirect: status %d, %v", a.Status, a.Header)
	}
	// The files hold no data. A visitor without the right to read can load the page, which then shows an explanation.
	for path, status := range map[string]int{
		"/store": http.StatusPermanentRedirect, "/store/": http.StatusOK, "/store/dashboard/app.js": http.StatusOK, "/store/query/v4/nodes": http.StatusForbidden,
	} {
		if a := e2e.Get(t, still, n.base+path, "", "X-Forwarded-For", "192.0.2.1"); a.Status != status {
			t.Errorf("%s without the right to read: status %d", path, a.Status)
		}
	}
}
