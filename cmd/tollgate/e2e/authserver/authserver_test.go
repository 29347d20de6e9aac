package authserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// reloadKeys makes a server load its configuration file again.
func reloadKeys(n *e2e.Node) error {
	return n.Change(func() error {
		cmd := exec.CommandContext(n.T.Context(), e2e.Binary, "reload", "--config", "config.yaml", "--adapter", "authserver", "--address", "unix/"+n.Path("data", "admin.sock"))
		cmd.Dir, cmd.Env = n.Dir, n.Env
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.New(string(out))
		}
		return nil
	})
}

// TestAuthserverLocked checks that a lockout survives a change of a setting that is unrelated to lockouts.
func TestAuthserverLocked(t *testing.T) {
	t.Parallel()
	n, public, _ := e2e.NewAuthserver(t, "server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}\nadmin: {address: ':ADMIN'}\nrate_limit: {auth_fail_max: 2}\n")
	e2e.AnswersWith(t, public+"/ready", http.StatusOK)
	for _, want := range []int{http.StatusUnprocessableEntity, http.StatusUnprocessableEntity, http.StatusTooManyRequests} {
		if got := guess(t, public); got != want {
			t.Fatalf("a wrong password: %d, want %d", got, want)
		}
	}
	text, err := os.ReadFile(n.Path("config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n.WriteKeys(string(text) + "dcr: {mode: admin_only}\n")
	if err := reloadKeys(n); err != nil {
		t.Fatal(err)
	}
	if a := e2e.Do(t, e2e.Client, http.MethodPost, public+"/oauth/register", "", "{}", "Content-Type", "application/json"); a.Status != http.StatusForbidden {
		t.Fatalf("the key has not changed: %d %s", a.Status, a.Body)
	}
	if got := guess(t, public); got != http.StatusTooManyRequests {
		t.Errorf("after a reload: %d", got)
	}
	n.Stop()
}

// TestAuthserverAlone checks that a server needs nothing but its configuration file, that a reload applies a changed
// file, and that an invalid file changes nothing.
func TestAuthserverAlone(t *testing.T) {
	t.Parallel()
	const text = "server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}\nadmin: {address: ':ADMIN'}\n"
	n, public, admin := e2e.NewAuthserver(t, text)
	if a := e2e.AnswersWith(t, public+"/health", http.StatusOK); !strings.Contains(a.Body, `"db":"ok"`) {
		t.Errorf("health: %s", a.Body)
	}
	if a := e2e.Get(t, e2e.Client, public+"/nothing", ""); a.Status != http.StatusNotFound || a.Header.Get("Content-Type") != "application/json" || !strings.Contains(a.Body, `"error":"invalid_request"`) {
		t.Errorf("an unknown path: %d %v %s", a.Status, a.Header, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, admin+"/nothing", ""); a.Status != http.StatusNotFound || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("an unknown path of the administration: %d %v %s", a.Status, a.Header, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, admin+"/metrics", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, "process_cpu_seconds_total") {
		t.Errorf("metrics: %d", a.Status)
	}
	if a := e2e.Get(t, e2e.Client, public+"/metrics", ""); a.Status != http.StatusNotFound {
		t.Errorf("metrics on the public listener: %d", a.Status)
	}
	if info, err := os.Stat(n.Path("data", "authserver.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the database: %v %v", info, err)
	}
	if config, err := n.Admin(http.MethodGet, "/config/apps/http/servers", "", ""); err != nil || !strings.Contains(config, `"localhost:`) {
		t.Errorf("the administration listens to others: %v %s", err, config)
	}

	reload := func() error { return reloadKeys(n) }
	config, err := os.ReadFile(n.Path("config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n.WriteKeys(string(config) + "dcr: {mode: closed}\nwhat: 1\n")
	if err := reload(); err == nil || !strings.Contains(err.Error(), "dcr.mode (AUTHSERVER_DCR_MODE)") || !strings.Contains(err.Error(), "what: there is no such key") {
		t.Errorf("a reload with faults: %v", err)
	}
	e2e.AnswersWith(t, admin+"/metrics", http.StatusOK)
	n.WriteKeys(string(config) + "observability: {metrics: {provider: none}}\n")
	if err := reload(); err != nil {
		t.Fatal(err)
	}
	e2e.AnswersWith(t, admin+"/metrics", http.StatusNotFound)
	e2e.AnswersWith(t, public+"/ready", http.StatusOK)
	n.Stop()
}

// TestAuthserverCheck checks that the command prints all faults at once with exit status 1, or the effective settings
// without secrets.
func TestAuthserverCheck(t *testing.T) {
	t.Parallel()
	n := e2e.NewNode(t, "", "AUTHSERVER_SESSION_SECRET=hunter2", "AUTHSERVER_SERVER_READ_TIMEOUT=30")
	run := func(env []string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), e2e.Binary, append([]string{"authserver", "check"}, args...)...)
		cmd.Dir, cmd.Env = n.Dir, append(slices.Clip(n.Env), env...)
		out, _ := cmd.Output()
		return string(out), cmd.ProcessState.ExitCode()
	}
	n.WriteKeys("server: {issuer: 'https://as.example'}\nwhat: 1\n")
	out, code := run(nil, "--config", "config.yaml")
	want := `admin.api_key (AUTHSERVER_ADMIN_API_KEY): required when admin is enabled and server.issuer is not localhost
server.read_timeout (AUTHSERVER_SERVER_READ_TIMEOUT): "30" is not a duration with a unit, such as 30s, 15m or 24h
what: there is no such key (line 2)
`
	if out != want || code != 1 {
		t.Errorf("exit status %d, %s", code, out)
	}
	var answer struct {
		Faults, Warnings []string
		Keys             map[string]string
	}
	if out, code = run(nil, "--config", "config.yaml", "--json"); code != 1 || json.Unmarshal([]byte(out), &answer) != nil || len(answer.Faults) != 3 {
		t.Errorf("as JSON: exit status %d, %s", code, out)
	}
	good := []string{"AUTHSERVER_SERVER_READ_TIMEOUT="}
	if out, code = run(good); code != 0 || strings.Contains(out, "hunter2") || !strings.Contains(out, "session.secret: (set)\n") {
		t.Errorf("exit status %d, %s", code, out)
	}
	answer.Keys = nil
	if out, code = run(good, "--json"); code != 0 || json.Unmarshal([]byte(out), &answer) != nil || answer.Keys["server.address"] != ":9000" || len(answer.Warnings) == 0 {
		t.Errorf("as JSON: exit status %d, %s", code, out)
	}
	n.WriteKeys("clients: [{client_id: a}, {client_id: b, redirect_uris: ['javascript:x']}]\nresources: [{slug: A, uri: 'https://a.example'}]\n")
	if out, code = run(good, "--config", "config.yaml"); code != 1 || strings.Count(out, "\n") != 3 || !strings.Contains(out, `clients[1] "b": `) || !strings.Contains(out, "resources[0]: ") {
		t.Errorf("seeds: exit status %d, %s", code, out)
	}
	if out, code = run(good, "--config", "nowhere.yaml"); code != 1 || out != "" {
		t.Errorf("a file that is not there: exit status %d, %s", code, out)
	}
}

// TestAuthserverShipped checks that the shipped example serves, with its administration.
func TestAuthserverShipped(t *testing.T) {
	t.Parallel()
	port, admin := e2e.FreePort(t), e2e.FreePort(t)
	keys, err := os.ReadFile(e2e.Repo("caddyfiles/authserver/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := e2e.Shipped(t, "authserver", "{$TOLLGATE_DOMAIN:localhost}", "http://localhost:"+port, ":9001", ":"+admin)
	n := e2e.NewNode(t, config, "AUTHSERVER_SERVER_ISSUER=http://localhost:"+port, "TOLLGATE_AUTHSERVER_KEYS=config.yaml")
	n.WriteKeys(string(keys))
	n.Start()
	e2e.AnswersWith(t, "http://localhost:"+port+"/health", http.StatusOK)
	e2e.AnswersWith(t, "http://localhost:"+admin+"/metrics", http.StatusOK)
	if a := e2e.Get(t, e2e.Client, "http://localhost:"+port+"/nothing", ""); a.Status != http.StatusNotFound || !strings.Contains(a.Body, "there is nothing at this address") {
		t.Errorf("nothing: %d %s", a.Status, a.Body)
	}
	n.Stop()
}
