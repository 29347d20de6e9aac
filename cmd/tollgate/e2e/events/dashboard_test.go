package events

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// systemPython is the Python interpreter for which Debian packages its libraries.
const systemPython = "/usr/bin/python3"

// TestEventsDashboard checks queries with the library that dashboards use to query their store, with a certificate. The
// library always sends a password too, even if it has none.
func TestEventsDashboard(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "Agents")
	n := newSecureEvents(t, ca, "alias /pdb", "submit certname puppet.example.com", "read certname dash.example.com")
	puppet := ca.client("puppet.example.com", ca)
	lately := int(time.Since(time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)).Minutes()) - 5 // events are kept for 14 days
	for _, name := range []string{"web01.example.com", "db01.example.com"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.base+e2e.Submission, bytes.NewReader(e2e.AgentRunAt(name, lately)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if a := e2e.Read(puppet.Do(request)); a.Err != nil || a.Status != http.StatusOK { //nolint:bodyclose // read does
			t.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
		}
	}
	ask := func(name string) (answer string, stderr string) {
		t.Helper()
		certificate, key := ca.issue(name)
		for file, text := range map[string][]byte{name + ".pem": certificate, name + ".key": key} {
			if err := os.WriteFile(n.Path(file), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), systemPython, "testdata/dashboard.py",
			n.base[strings.LastIndex(n.base, ":")+1:], n.Path("ca.pem"), n.Path(name+".key"), n.Path(name+".pem"))
		cmd.Env = e2e.Environment(t.TempDir())
		var errors strings.Builder
		cmd.Stderr = &errors
		out, _ := cmd.Output() // the output shows whether it succeeded
		return string(out), errors.String()
	}
	text, stderr := ask("dash.example.com")
	var got, want any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("python3-pypuppetdb is missing (make deps installs it), or: %v\n%s", err, stderr)
	}
	if err := json.Unmarshal([]byte(`{
		"version": "7.12.0",
		"nodes": {"db01.example.com": "changed", "web01.example.com": "changed"},
		"changed": ["db01.example.com", "web01.example.com"],
		"report": {"node": "web01.example.com", "status": "changed", "environment": "production", "run": "0:00:09", "logs": 0},
		"events": [
			["File", "/srv/web01.example.com", "success", "created web01.example.com"],
			["File", "/srv/web01.example.com", "success", "created web01.example.com"],
			["File", "/srv/web01.example.com", "success", "created web01.example.com"]],
		"filtered": 6,
		"counts": [3, 0, 0, 0],
		"aggregate": [2],
		"grouped": [{"status": "success", "count": 6}],
		"environments": ["production"],
		"unkept": [0, 0, 0, 0, 0, 0, 0]
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the library gets %s", text)
	}
	if text, stderr = ask("intruder.example.com"); text != "" || !strings.Contains(stderr, "403 Client Error") {
		t.Errorf("a certificate without rights: %s %s", text, stderr)
	}
}
