package operation

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// clusterNode returns a node with the shipped Caddyfile of a cluster, which may reach models on this machine.
func clusterNode(t *testing.T, dsn, redis string) *e2e.Gateway {
	t.Helper()
	text, err := os.ReadFile(e2e.Repo("caddyfiles/cluster/node.caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	port := e2e.FreePort(t)
	config := e2e.Swap(t, string(text), "admin-{$TOLLGATE_PORT:8081}.sock", "admin.sock")
	config = e2e.Swap(t, config, "\ttollgate {\n", "\ttollgate {\n\t\tallow_networks 127.0.0.0/8\n")
	return &e2e.Gateway{
		Node: e2e.NewNode(t, config, "TOLLGATE_PORT="+port, "TOLLGATE_DSN="+dsn, "TOLLGATE_REDIS_URL="+redis, "TOLLGATE_MASTER_KEY="+e2e.MasterKey),
		Base: "http://127.0.0.1:" + port, Config: config,
	}
}

// TestRollingRestart restarts three nodes behind a load balancer, one after the other, under load. No request fails.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	pg, redis := testenv.Postgres(t), testenv.Redis(t)
	nodes := make([]*e2e.Gateway, 0, 3)
	addresses := make([]string, 0, 3)
	for range 3 {
		n := clusterNode(t, pg.DSN(), redis.URL())
		n.Start()
		n.Ready()
		nodes, addresses = append(nodes, n), append(addresses, strings.TrimPrefix(n.Base, "http://"))
	}
	port := e2e.FreePort(t)
	balancer := e2e.NewNode(t, e2e.Shipped(t, "cluster"), "TOLLGATE_DOMAIN=http://127.0.0.1:"+port, "TOLLGATE_NODES="+strings.Join(addresses, " "))
	balancer.Start()
	base := "http://127.0.0.1:" + port
	key := e2e.AddUser(t, e2e.Administration(t, pg.DSN()), "ada", up, e2e.Script("text", "word ", "repeat", "5", "chunk_delay", "20ms"))
	load := e2e.StartLoad(base, key, 3, 20*time.Millisecond)
	good := func(o e2e.Outcome) bool { return o.Err == nil && o.Status == http.StatusOK }
	load.Await(t, e2e.WaitLimit, "a request succeeds", time.Time{}, good)
	for i, n := range nodes {
		if err := n.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		e2e.Eventually(t, e2e.WaitLimit, "the node is not ready any more", func() error {
			if a := e2e.Get(t, e2e.Client, n.Base+"/readyz", ""); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"node":"unavailable"`) {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
		// The node still serves, since the load balancer has not noticed yet.
		for path, want := range map[string]int{"/livez": http.StatusOK, "/health": http.StatusServiceUnavailable, "/providers": http.StatusOK} {
			if a := e2e.Get(t, e2e.Client, n.Base+path, ""); a.Status != want {
				t.Errorf("node %d that stops: %s: %d %s", i+1, path, a.Status, a.Body)
			}
		}
		n.AwaitExit()
		n.Start()
		n.Ready()
		balancer.AwaitLogTimes(i+1, "host is up")
		load.Await(t, e2e.WaitLimit, "a request succeeds", time.Now(), good)
	}
	load.Stop()
	for _, o := range load.Failed() {
		t.Errorf("a request failed: %+v", o)
	}
	t.Logf("%d requests succeeded", len(load.Succeeded()))
	balancer.Stop()
	for _, n := range nodes { // all at once, since each serves on for its shutdown_delay
		if err := n.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		n.AwaitExit()
	}
}

// TestNodeWithAnotherKey checks that a node with another master key does not start, and that a node that could not
// reach the database at its start refuses to work once it can. The other nodes are not affected.
func TestNodeWithAnotherKey(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	pg := testenv.NewPostgres(t)
	good, bad := e2e.Clustered(t, pg.DSN(), ""), e2e.Clustered(t, pg.DSN(), "")
	another := base64.StdEncoding.EncodeToString([]byte("another key of thirty-two bytes!"))
	bad.Env = append(bad.Env, "TOLLGATE_MASTER_KEY="+another)
	good.Start()
	good.Healthy()
	key := e2e.AddUser(t, e2e.Administration(t, pg.DSN()), "ada", up, e2e.Script("text", "ok"))
	e2e.Ask(t.Context(), good.Base, key, e2e.Prompt("keychain-high", false)).Text(t)
	if msg := bad.RefusesToStart(); !strings.Contains(msg, "the keyring does not open the stored secrets of gateway: configure the master key that encrypted them") {
		t.Errorf("it says:\n%s", msg)
	}

	token := strings.TrimSpace(bad.Tool("keychain", "token", "ada"))
	pg.Stop()
	bad.Start()
	pg.Start()
	good.Healthy()
	bad.AwaitLog(`"level":"error"`, "secrets are neither encrypted nor decrypted", "configure the master key")
	before := len(good.Logs.String())
	e2e.Ask(t.Context(), bad.Base, key, e2e.Prompt("keychain-high", false)).Refused(t, http.StatusServiceUnavailable, "overloaded")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bad.Base+"/users/ada/provider-keys", strings.NewReader(`{"provider":"groq","api_key":"gsk_0123456789"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := e2e.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a provider key: %d", response.StatusCode)
	}
	for _, path := range []string{"/health", "/readyz"} {
		if a := e2e.Get(t, e2e.Client, bad.Base+path, ""); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"keyring":"unavailable"`) || !strings.Contains(a.Body, `"database":"ok"`) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if got := e2e.Ask(t.Context(), good.Base, key, e2e.Prompt("keychain-high", false)).Text(t); got != "ok" {
		t.Errorf("the good node: %q", got)
	}
	for line := range strings.Lines(good.Logs.String()[before:]) {
		if strings.Contains(line, `"level":"error"`) || strings.Contains(line, `"level":"warn"`) {
			t.Errorf("the good node says: %s", line)
		}
	}
	bad.Stop()
	good.Stop()
}
