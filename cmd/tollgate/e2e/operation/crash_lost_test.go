package operation

import (
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestDatabaseRemoved checks that the server and the command line notice within seconds that a database file was
// removed, and use a file that takes its place.
func TestDatabaseRemoved(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "ok"))
	e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", false)).Text(t)
	files, err := os.ReadDir(g.Path("data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "tollgate.db") {
			if err := os.Remove(g.Path("data", f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.AwaitLog(`"level":"error"`, "database unavailable", "removed or replaced")
	if h := e2e.Get(t, e2e.Client, g.Base+"/health", ""); h.Status != http.StatusServiceUnavailable || !strings.Contains(h.Body, `"database":"unavailable"`) {
		t.Errorf("health: %d %s", h.Status, h.Body)
	}
	e2e.Ask(t.Context(), g.Base, "ak-never-seen-before", e2e.Prompt("keychain-high", false)).Refused(t, 503, "overloaded")
	if _, err := os.Stat(g.Path("data", "tollgate.db")); err == nil {
		t.Error("an empty database has replaced the removed file")
	}
	other := strings.Fields(g.Tool("keychain", "users", "add", "eve"))
	g.Healthy()
	g.AwaitLog("database is back")
	for _, word := range other {
		if strings.HasPrefix(word, "ak-") {
			key = word
		}
	}
	e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("nobody/knows", false)).Refused(t, 404, "model_not_found")
	g.Stop()
}

// TestKeyLost checks that the gateway reports at its start, and not with the first request that needs a secret, that
// the master key of the database is missing.
func TestKeyLost(t *testing.T) {
	t.Parallel()
	g := e2e.NewGateway(t, "")
	g.User("ada", e2e.NewUpstream(t))
	add := func() {
		t.Helper()
		if _, err := g.AddProviderKey(t.Context(), "ada", "openai", "sk-0123456789-abcdefghijklmnop", "", func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	add()
	g.Stop()
	file := g.Path("data", "tollgate.key")
	original, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if msg := g.RefusesToStart(); !strings.Contains(msg, "the key file "+file+" that decrypts them is missing: restore it from your copy") {
		t.Errorf("it says:\n%s", msg)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("another key was made")
	}

	wrong := base64.StdEncoding.EncodeToString([]byte("another key of thirty-two bytes!"))
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	if msg := g.RefusesToStart(); !strings.Contains(msg, "the keyring does not open the stored secrets of gateway: configure the master key that encrypted them") {
		t.Errorf("it says:\n%s", msg)
	}

	if err := os.WriteFile(file, original, 0o600); err != nil {
		t.Fatal(err)
	}
	g.Start()
	g.Healthy()
	if h := e2e.Get(t, e2e.Client, g.Base+"/health", ""); !strings.Contains(h.Body, `"keyring":"ok"`) {
		t.Errorf("health: %s", h.Body)
	}
	g.Stop()

	// The master key is lost for good. The database adopts another key, and the sealed secrets are lost.
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Tool("keyring", "adopt")
	g.Start()
	g.Healthy()
	g.Stop()
}

// TestBudgetAlone checks that a site that only counts requests needs neither a database nor a key.
func TestBudgetAlone(t *testing.T) {
	t.Parallel()
	port := e2e.FreePort(t)
	n := e2e.NewNode(t, "{\n\tadmin unix/data/admin.sock\n\tpersist_config off\n\tstorage file_system data/caddy\n}\n"+
		"http://127.0.0.1:"+port+" {\n\tbudget {\n\t\tlimit 1\n\t}\n\trespond ok\n}\n")
	n.Start()
	for _, want := range []int{200, 429} {
		if a := e2e.Get(t, e2e.Client, "http://127.0.0.1:"+port+"/", ""); a.Status != want {
			t.Errorf("status %d, want %d", a.Status, want)
		}
	}
	n.Load(strings.Replace(string(mustRead(t, n.Path("Caddyfile"))), "respond ok", "respond fine", 1))
	if a := e2e.Get(t, e2e.Client, "http://127.0.0.1:"+port+"/", ""); a.Status != 429 {
		t.Errorf("after a reload: status %d", a.Status)
	}
	n.Stop()
	files, err := os.ReadDir(n.Path("data"))
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
