package events

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// agent is Puppet with the report processor and the queries that it has for its usual store, in folders of the test.
type agent struct {
	t   *testing.T
	dir string
}

// puppetLimit bounds a single run of Puppet, which starts slowly.
const puppetLimit = 2 * time.Minute

// newAgent creates the folders of an agent that uses the store at base. The agent presents a certificate for name.
func newAgent(t *testing.T, ca *authority, name, base string) *agent {
	t.Helper()
	if _, err := exec.LookPath("puppet"); err != nil {
		t.Fatalf("Debian's puppet-agent and puppet-terminus-puppetdb are missing; make deps installs them: %v", err)
	}
	dir := t.TempDir()
	certificate, key := ca.issue(name)
	a := &agent{t, dir}
	for path, text := range map[string]string{
		"conf/puppetdb.conf": "[main]\nserver_urls = " + base + "\n",
		// The certificate authority of the test has no revocation list.
		"conf/puppet.conf":                   "[main]\ncertname = " + name + "\ncertificate_revocation = false\nreports = store,puppetdb\n",
		"ssl/certs/ca.pem":                   string(ca.pem),
		"ssl/certs/" + name + ".pem":         string(certificate),
		"ssl/private_keys/" + name + ".pem":  string(key),
		"code/environments/production/.keep": "",
	} {
		a.write(path, text)
	}
	return a
}

func (a *agent) write(path, text string) {
	a.t.Helper()
	path = filepath.Join(a.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// run runs a command of Puppet and returns its output.
func (a *agent) run(args ...string) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), puppetLimit)
	defer cancel()
	for _, folder := range []string{"conf", "code", "var", "ssl", "log", "run", "public"} {
		args = append(args, "--"+folder+"dir="+filepath.Join(a.dir, folder))
	}
	cmd := exec.CommandContext(ctx, "puppet", append(args, "--color=false")...)
	cmd.Dir = a.dir
	cmd.Env = append(e2e.Environment(a.dir), "LANG=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if exit := cmd.ProcessState; err != nil && (exit == nil || !slices.Contains([]int{1, 2, 4, 6}, exit.ExitCode())) {
		a.t.Fatalf("puppet %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// apply applies a manifest on behalf of a node and reports it, like the server of the node's agent.
func (a *agent) apply(node, manifest string, options ...string) string {
	a.t.Helper()
	a.write("site.pp", strings.ReplaceAll(manifest, "TARGET", filepath.Join(a.dir, "target")))
	return a.run(append([]string{"apply", "site.pp", "--node_name_value=" + node}, options...)...)
}

const firstManifest = `
class demo::files {
  file { 'TARGET': ensure => directory }
  file { 'TARGET/motd': ensure => file, content => "größe\n", mode => '0640' }
}
class demo::service {
  exec { 'broken': command => '/bin/false' }
  -> file { 'TARGET/after': ensure => file }
  exec { 'told': command => '/bin/true', refreshonly => true, subscribe => File['TARGET/motd'] }
}
class { 'demo::files': } -> class { 'demo::service': }
file { 'TARGET/later': ensure => file, noop => true }
`

const secondManifest = `
class demo::files {
  file { 'TARGET': ensure => directory }
  file { 'TARGET/motd': ensure => file, content => "TEXT\n", mode => '0640' }
}
class { 'demo::files': }
`

// TestEventsAgent checks that a real agent can submit its runs with its built-in client code and its certificate, at
// the path that is built into that code. The stored events, reports and logs, and the answers to its queries, are those
// of its runs.
func TestEventsAgent(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "Agents")
	n := newSecureEvents(t, ca, "alias /pdb", "submit certname puppet.example.com", "read certname puppet.example.com")
	puppet := newAgent(t, ca, "puppet.example.com", n.base)
	version := strings.TrimSpace(puppet.run("--version"))
	reader := ca.client("puppet.example.com", ca)
	rows := func(path, query string) (list []map[string]any) {
		t.Helper()
		if query != "" {
			path += "?query=" + url.QueryEscape(query)
		}
		a := e2e.Get(t, reader, n.base+path, "")
		if a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), &list) != nil {
			t.Fatalf("%s %s: %d %s", path, query, a.Status, a.Body)
		}
		return list
	}
	const node = "web01.example.com"
	target := filepath.Join(puppet.dir, "target")
	latest := func() map[string]any {
		t.Helper()
		list := rows("/pdb/query/v4/nodes", `["=","certname","`+node+`"]`)
		if len(list) != 1 {
			t.Fatalf("nodes: %v", list)
		}
		return list[0]
	}
	submitted := func(out string) {
		t.Helper()
		if strings.Contains(out, "Report processor failed") || strings.Contains(out, "Failed to") {
			t.Fatalf("the report was not accepted:\n%s", out)
		}
	}

	out := puppet.apply(node, firstManifest)
	submitted(out)
	// The stored events are compared with the log of the agent.
	if !strings.Contains(out, "'/bin/false' returned 1 instead of one of [0]") {
		t.Errorf("the run:\n%s", out)
	}
	type event struct{ status, resource, property, oldValue, newValue, message, class string }
	text := func(v any) string {
		s, _ := v.(string)
		return strings.ReplaceAll(s, target, "TARGET")
	}
	seen := func(query string) map[string]event {
		t.Helper()
		found := make(map[string]event)
		for _, row := range rows("/pdb/query/v4/events", query) {
			e := event{
				text(row["status"]), text(row["resource_type"]) + "[" + text(row["resource_title"]) + "]", text(row["property"]),
				text(row["old_value"]), text(row["new_value"]), text(row["message"]), text(row["containing_class"]),
			}
			found[e.status+" "+e.resource+" "+e.property] = e
			if row["certname"] != node || row["environment"] != "production" || row["corrective_change"] != nil {
				t.Errorf("event %v", row)
			}
			if path, _ := row["containment_path"].([]any); len(path) < 2 || path[0] != "Stage[main]" {
				t.Errorf("containment path of %v", row)
			}
			if file, _ := row["file"].(string); filepath.Base(file) != "site.pp" || row["line"] == nil {
				t.Errorf("position of %v", row)
			}
		}
		return found
	}
	want := map[string]event{}
	for _, e := range []event{
		{"success", "File[TARGET]", "ensure", "absent", "directory", "created", "Demo::Files"},
		{"success", "File[TARGET/motd]", "ensure", "absent", "file", "defined content as '{sha256}9d9bb27396bae7ffa8a5b3e9dd7c5ef1c0ff6fbe9bc0b1a1d0ba95ab5b26b3e6'", "Demo::Files"},
		{"failure", "Exec[broken]", "returns", "notrun", `["0"]`, "change from 'notrun' to ['0'] failed: '/bin/false' returned 1 instead of one of [0]", "Demo::Service"},
		{"skipped", "File[TARGET/after]", "", "", "", "", "Demo::Service"},
		{"success", "Exec[told]", "", "", "", "Triggered 'refresh' from 1 event", "Demo::Service"},
		{"noop", "File[TARGET/later]", "ensure", "absent", "file", "current_value 'absent', should be 'file' (noop)", "Main"},
	} {
		want[e.status+" "+e.resource+" "+e.property] = e
	}
	compare := func(name string, got, want map[string]event) {
		t.Helper()
		for key, e := range got {
			if strings.HasPrefix(e.message, "defined content as '{sha256}") && len(e.message) == len("defined content as '{sha256}'")+64 {
				e.message = want[key].message // the test does not compare digests
			}
			got[key] = e
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: events\n%v\nwant\n%v", name, got, want)
		}
	}
	compare("first run", seen(`["=","certname","`+node+`"]`), want)
	compare("latest", seen(`["=","latest_report?",true]`), want)
	first := latest()
	if first["latest_report_status"] != "failed" || first["latest_report_noop"] != false || first["latest_report_noop_pending"] != true {
		t.Errorf("node %v", first)
	}
	report := rows("/store/query/v4/reports", `["=","hash","`+first["latest_report_hash"].(string)+`"]`)[0]
	if report["producer"] != node && report["producer"] != "puppet.example.com" || report["puppet_version"] != version || report["type"] != "agent" || report["status"] != "failed" {
		t.Errorf("report %v", report)
	}
	logs := rows("/pdb/query/v4/reports/"+first["latest_report_hash"].(string)+"/logs", "")
	if i := slices.IndexFunc(logs, func(l map[string]any) bool {
		return l["level"] == "err" && l["source"] == "/Stage[main]/Demo::Service/Exec[broken]/returns"
	}); i < 0 {
		t.Errorf("logs %v", logs)
	}
	metrics := rows("/pdb/query/v4/reports/"+first["latest_report_hash"].(string)+"/metrics", "")
	if i := slices.IndexFunc(metrics, func(m map[string]any) bool {
		return m["category"] == "events" && m["name"] == "failure" && m["value"] == 1.0
	}); i < 0 {
		t.Errorf("metrics %v", metrics)
	}

	// A run with changes, a run without changes, and a run that only reports pending changes.
	change := strings.ReplaceAll(secondManifest, "TEXT", "second")
	submitted(puppet.apply(node, change))
	if state := latest(); state["latest_report_status"] != "changed" || state["latest_report_hash"] == first["latest_report_hash"] {
		t.Errorf("after a change: %v", state)
	}
	submitted(puppet.apply(node, change))
	if state := latest(); state["latest_report_status"] != "unchanged" {
		t.Errorf("after an unchanged run: %v", state)
	}
	if list := rows("/pdb/query/v4/events", `["=","latest_report?",true]`); len(list) != 0 {
		t.Errorf("an unchanged run has the events %v", list)
	}
	submitted(puppet.apply(node, strings.ReplaceAll(secondManifest, "TEXT", "third"), "--noop"))
	if state := latest(); state["latest_report_status"] != "unchanged" || state["latest_report_noop"] != true || state["latest_report_noop_pending"] != true {
		t.Errorf("after a noop run: %v", state)
	}
	if list := rows("/pdb/query/v4/events", `["=","latest_report?",true]`); len(list) != 1 || list[0]["status"] != "noop" || list[0]["property"] != "content" {
		t.Errorf("a noop run has the events %v", list)
	}
	counts := rows("/pdb/query/v4", `events[status, count()]{ certname = "`+node+`" group by status order by status }`)
	got := make(map[string]any)
	for _, row := range counts {
		got[row["status"].(string)] = row["count"]
	}
	if want := map[string]any{"failure": 1.0, "noop": 2.0, "skipped": 1.0, "success": 4.0}; !maps.Equal(got, want) {
		t.Errorf("events by status %v, want %v", got, want)
	}
	if list := rows("/pdb/query/v4/reports", `["extract",["status"],["=","certname","`+node+`"]]`); len(list) != 4 {
		t.Errorf("%d reports, want 4", len(list))
	}
	linked := rows("/pdb/query/v4/reports", `["=","latest_report?",true]`)[0]["logs"].(map[string]any)
	if href, _ := linked["href"].(string); !strings.HasPrefix(href, "/pdb/query/v4/reports/") {
		t.Errorf("a link from /pdb leads to %s", href)
	}

	// The agent's built-in queries work.
	if out := puppet.run("apply", "-e", `notice(puppetdb_query("nodes[certname, latest_report_status]{ latest_report_noop = true }"))`, "--reports=none"); !strings.Contains(out, `{certname => `+node+`, latest_report_status => unchanged}`) {
		t.Errorf("puppetdb_query:\n%s", out)
	}
	if out := puppet.run("node", "status", node); !strings.Contains(out, "Currently active") {
		t.Errorf("node status:\n%s", out)
	}
	if out := puppet.run("node", "deactivate", node); !strings.Contains(out, "Submitted 'deactivate node' for "+node) {
		t.Errorf("node deactivate:\n%s", out)
	}
	if out := puppet.run("node", "status", node); !strings.Contains(out, "Deactivated at ") {
		t.Errorf("node status after that:\n%s", out)
	}
	if list := rows("/pdb/query/v4/nodes", ""); len(list) != 0 {
		t.Errorf("active nodes: %v", list)
	}
	if out := puppet.run("node", "status", "nobody.example.com"); !strings.Contains(out, "Failed to find '/pdb/query/v4/nodes/nobody.example.com'") {
		t.Errorf("node status of nobody:\n%s", out)
	}
	submitted(puppet.apply(node, change))
	if state := latest(); state["deactivated"] != nil || state["latest_report_status"] != "unchanged" {
		t.Errorf("a run after the deactivation: %v", state)
	}

	// Another certificate of the same authority has no access.
	intruder := newAgent(t, ca, "intruder.example.com", n.base)
	out = intruder.apply("web02.example.com", "notify { 'hello': }")
	if !strings.Contains(out, "[403 Forbidden]") || !strings.Contains(out, "this client may not submit commands") {
		t.Errorf("the intruder's run:\n%s", out)
	}
	if list := rows("/pdb/query/v4/reports", `["=","certname","web02.example.com"]`); len(list) != 0 {
		t.Errorf("the intruder's report is stored: %v", list)
	}
}
