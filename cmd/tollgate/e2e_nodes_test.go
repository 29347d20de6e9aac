package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// clusterNode is a node with the shipped file of the cluster. It may reach models on
// this machine.
func clusterNode(t *testing.T, dsn, redis string) *gateway {
	t.Helper()
	text, err := os.ReadFile("../../caddyfiles/cluster/node.caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	config := swap(t, string(text), "admin-{$TOLLGATE_PORT:8081}.sock", "admin.sock")
	config = swap(t, config, "\ttollgate {\n", "\ttollgate {\n\t\tallow_networks 127.0.0.0/8\n")
	return &gateway{
		node: newNode(t, config, "TOLLGATE_PORT="+port, "TOLLGATE_DSN="+dsn, "TOLLGATE_REDIS_URL="+redis, "TOLLGATE_MASTER_KEY="+masterKey),
		base: "http://127.0.0.1:" + port, config: config,
	}
}

// ready waits until the node says so.
func (g *gateway) ready() {
	g.t.Helper()
	eventually(g.t, startLimit, "the node is ready", func() error {
		if a := get(g.t, client, g.base+"/readyz", ""); a.status != http.StatusOK {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
}

// TestRollingRestart restarts three nodes behind a balancer, one after the other,
// while requests come: none fails.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	pg, redis := testenv.Postgres(t), testenv.Redis(t)
	nodes := make([]*gateway, 0, 3)
	addresses := make([]string, 0, 3)
	for range 3 {
		n := clusterNode(t, pg.DSN(), redis.URL())
		n.start()
		n.ready()
		nodes, addresses = append(nodes, n), append(addresses, strings.TrimPrefix(n.base, "http://"))
	}
	port := freePort(t)
	balancer := newNode(t, shipped(t, "cluster"), "TOLLGATE_DOMAIN=http://127.0.0.1:"+port, "TOLLGATE_NODES="+strings.Join(addresses, " "))
	balancer.start()
	base := "http://127.0.0.1:" + port
	key := addUser(t, administration(t, pg.DSN()), "ada", up, script("text", "word ", "repeat", "5", "chunk_delay", "20ms"))
	load := startLoad(base, key, 3, 20*time.Millisecond)
	good := func(o outcome) bool { return o.err == nil && o.status == http.StatusOK }
	load.await(t, waitLimit, "a request succeeds", time.Time{}, good)
	for i, n := range nodes {
		if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		eventually(t, waitLimit, "the node is not ready any more", func() error {
			if a := get(t, client, n.base+"/readyz", ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"node":"unavailable"`) {
				return fmt.Errorf("%d %s", a.status, a.body)
			}
			return nil
		})
		// It serves on: the balancer has not noticed yet.
		for path, want := range map[string]int{"/livez": http.StatusOK, "/health": http.StatusServiceUnavailable, "/providers": http.StatusOK} {
			if a := get(t, client, n.base+path, ""); a.status != want {
				t.Errorf("node %d that stops: %s: %d %s", i+1, path, a.status, a.body)
			}
		}
		n.awaitExit()
		n.start()
		n.ready()
		balancer.awaitLogTimes(i+1, "host is up")
		load.await(t, waitLimit, "a request succeeds", time.Now(), good)
	}
	load.stop()
	for _, o := range load.failed() {
		t.Errorf("a request failed: %+v", o)
	}
	t.Logf("%d requests succeeded", len(load.succeeded()))
	balancer.stop()
	for _, n := range nodes {
		n.stop()
	}
}

// awaitLogTimes waits until a log line is there so many times.
func (n *node) awaitLogTimes(times int, line string) {
	n.t.Helper()
	eventually(n.t, waitLimit, fmt.Sprintf("%d times %q in the log", times, line), func() error {
		if got := strings.Count(n.logs.String(), `"msg":"`+line+`"`); got < times {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
}

// TestNodeWithAnotherKey: a node with another master key does not start, and one that
// could not ask the database at its start does nothing once it can. The others do not
// notice.
func TestNodeWithAnotherKey(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	pg := testenv.NewPostgres(t)
	good, bad := clustered(t, pg.DSN(), ""), clustered(t, pg.DSN(), "")
	another := base64.StdEncoding.EncodeToString([]byte("another key of thirty-two bytes!"))
	bad.env = append(bad.env, "TOLLGATE_MASTER_KEY="+another)
	good.start()
	good.healthy()
	key := addUser(t, administration(t, pg.DSN()), "ada", up, script("text", "ok"))
	ask(t.Context(), good.base, key, prompt("keychain-high", false)).text(t)
	if said := bad.refusesToStart(); !strings.Contains(said, "the keyring does not open the stored secrets of gateway: give it the master key that sealed them") {
		t.Errorf("it says:\n%s", said)
	}

	token := strings.TrimSpace(bad.tool("keychain", "token", "ada"))
	pg.Stop()
	bad.start()
	pg.Start()
	good.healthy()
	bad.awaitLog(`"level":"error"`, "secrets are neither sealed nor opened", "give it the master key")
	before := len(good.logs.String())
	ask(t.Context(), bad.base, key, prompt("keychain-high", false)).refused(t, http.StatusServiceUnavailable, "overloaded")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bad.base+"/users/ada/provider-keys", strings.NewReader(`{"provider":"groq","api_key":"gsk_0123456789"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a provider key: %d", response.StatusCode)
	}
	for _, path := range []string{"/health", "/readyz"} {
		if a := get(t, client, bad.base+path, ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"keyring":"unavailable"`) || !strings.Contains(a.body, `"database":"ok"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if got := ask(t.Context(), good.base, key, prompt("keychain-high", false)).text(t); got != "ok" {
		t.Errorf("the good node: %q", got)
	}
	for line := range strings.Lines(good.logs.String()[before:]) {
		if strings.Contains(line, `"level":"error"`) || strings.Contains(line, `"level":"warn"`) {
			t.Errorf("the good node says: %s", line)
		}
	}
	bad.stop()
	good.stop()
}

// TestHealthOfServices: each service says that it lives, and when it is ready.
func TestHealthOfServices(t *testing.T) {
	t.Parallel()
	redis := testenv.NewRedis(t)
	ports := map[string]string{"tollgate gateway": "", "tollgate board": "", "tollgate events": "", "health\n\trespond served": ""}
	config := "{\n\tadmin unix/data/admin.sock\n\tpersist_config off\n\tstorage file_system data/caddy\n\ttollgate {\n\t\tcounters redis " + redis.URL() +
		"\n\t\tdatabase board sqlite data/board.db\n\t}\n}\n"
	for service := range ports {
		ports[service] = freePort(t)
		config += "http://127.0.0.1:" + ports[service] + " {\n\t" + service + "\n}\n"
	}
	n := newNode(t, config).start()
	check := func(path string, status int, parts ...string) {
		t.Helper()
		for service, port := range ports {
			eventually(t, waitLimit, service+path, func() error {
				a := get(t, client, "http://127.0.0.1:"+port+path, "")
				for _, part := range parts {
					if !strings.Contains(a.body, part) {
						return fmt.Errorf("%s: %d %s", service, a.status, a.body)
					}
				}
				if a.status != status {
					return fmt.Errorf("%s: %d %s", service, a.status, a.body)
				}
				return nil
			})
		}
	}
	check("/livez", http.StatusOK, `"status":"ok"`)
	check("/readyz", http.StatusOK, `"status":"ok"`, `"database":"ok"`, `"counters":"ok"`, `"node":"ok"`)
	if a := get(t, client, "http://127.0.0.1:"+ports["health\n\trespond served"]+"/readyz", ""); !strings.Contains(a.body, `"database/board":"ok"`) || !strings.Contains(a.body, `"keyring":"ok"`) {
		t.Errorf("all of the configuration: %s", a.body)
	}
	redis.Stop()
	check("/readyz", http.StatusServiceUnavailable, `"status":"unavailable"`, `"database":"ok"`, `"counters":"unavailable"`)
	check("/livez", http.StatusOK, `"status":"ok"`)
	if a := get(t, client, "http://127.0.0.1:"+ports["tollgate gateway"]+"/health", ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"counters":"unavailable"`) {
		t.Errorf("health: %d %s", a.status, a.body)
	}
	redis.Start()
	check("/readyz", http.StatusOK, `"counters":"ok"`)
	n.stop()
}
