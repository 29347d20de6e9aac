package main

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// refusesToStart runs the gateway, which ends at once, and returns what it said.
func (n *node) refusesToStart() string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "run", "--config", "Caddyfile")
	cmd.Dir, cmd.Env = n.dir, n.env
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); !ended || ctx.Err() != nil {
		n.t.Errorf("the gateway starts: %v", err)
	}
	return string(out)
}

// TestDatabaseRemoved: a database file that is removed is missed within seconds,
// and one that takes its place is used, by the server and the command line alike.
func TestDatabaseRemoved(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	key := g.user("ada", up, script("text", "ok"))
	ask(t.Context(), g.base, key, prompt("keychain-high", false)).text(t)
	files, err := os.ReadDir(g.path("data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "tollgate.db") {
			if err := os.Remove(g.path("data", f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.awaitLog(`"level":"error"`, "database unavailable", "removed or replaced")
	if h := get(t, client, g.base+"/health", ""); h.status != http.StatusServiceUnavailable || !strings.Contains(h.body, `"database":"unavailable"`) {
		t.Errorf("health: %d %s", h.status, h.body)
	}
	ask(t.Context(), g.base, "ak-never-seen-before", prompt("keychain-high", false)).refused(t, 503, "overloaded")
	if _, err := os.Stat(g.path("data", "tollgate.db")); err == nil {
		t.Error("an empty database has taken its place")
	}
	other := strings.Fields(g.tool("keychain", "users", "add", "eve"))
	g.healthy()
	g.awaitLog("database is back")
	for _, word := range other {
		if strings.HasPrefix(word, "ak-") {
			key = word
		}
	}
	ask(t.Context(), g.base, key, prompt("nobody/knows", false)).refused(t, 404, "model_not_found")
	g.stop()
}

// TestKeyLost: without the master key that sealed the secrets in the database the
// gateway says so when it starts, not when the first request needs one.
func TestKeyLost(t *testing.T) {
	t.Parallel()
	g := newGateway(t, "")
	g.user("ada", newUpstream(t))
	add := func() {
		t.Helper()
		if _, err := g.AddProviderKey(t.Context(), "ada", "openai", "sk-0123456789-abcdefghijklmnop", "", func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	add()
	g.stop()
	file := g.path("data", "tollgate.key")
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if said := g.refusesToStart(); !strings.Contains(said, "the key file "+file+" that opens them is gone: put it back from its copy") {
		t.Errorf("it says:\n%s", said)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("another key was made")
	}

	wrong := base64.StdEncoding.EncodeToString([]byte("another key of thirty-two bytes!"))
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := g.refusesToStart(); !strings.Contains(said, "the keyring does not open the stored secrets of gateway: give it the master key that sealed them") {
		t.Errorf("it says:\n%s", said)
	}

	if err := os.WriteFile(file, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	g.start()
	g.healthy()
	if h := get(t, client, g.base+"/health", ""); !strings.Contains(h.body, `"keyring":"ok"`) {
		t.Errorf("health: %s", h.body)
	}
	g.stop()

	// It is lost for good: another one is taken, without what was sealed.
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	g.tool("keyring", "adopt")
	g.start()
	g.healthy()
	g.stop()
}

// TestBudgetAlone: a site that only counts needs neither database nor key.
func TestBudgetAlone(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	n := newNode(t, "{\n\tadmin unix/data/admin.sock\n\tpersist_config off\n\tstorage file_system data/caddy\n}\n"+
		"http://127.0.0.1:"+port+" {\n\tbudget {\n\t\tlimit 1\n\t}\n\trespond ok\n}\n")
	n.start()
	for _, want := range []int{200, 429} {
		if a := get(t, client, "http://127.0.0.1:"+port+"/", ""); a.status != want {
			t.Errorf("status %d, want %d", a.status, want)
		}
	}
	n.load(strings.Replace(string(mustRead(t, n.path("Caddyfile"))), "respond ok", "respond fine", 1))
	if a := get(t, client, "http://127.0.0.1:"+port+"/", ""); a.status != 429 {
		t.Errorf("after a reload: status %d", a.status)
	}
	n.stop()
	files, err := os.ReadDir(n.path("data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "tollgate") {
			t.Errorf("it made %s", f.Name())
		}
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
