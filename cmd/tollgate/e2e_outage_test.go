package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// backgroundContext is that of clients which outlive the moment in which a
// test decides to stop them.
var backgroundContext = context.Background()

// cliKey makes a key with the command line, in a process of its own.
func (g *gateway) cliKey() string {
	out := g.tool("keychain", "keys", "create", "--user", "ada", "--json")
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || !strings.HasPrefix(made.Key, keychain.KeyPrefix) {
		g.t.Errorf("keys create: %v\n%s", err, out)
	}
	return made.Key
}

// integrity is what SQLite says of the whole database.
func (n *node) integrity() string {
	n.t.Helper()
	db, err := sql.Open("sqlite", "file:"+n.path("data", "tollgate.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var verdict string
	if err := db.QueryRowContext(n.t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil {
		n.t.Fatal(err)
	}
	return verdict
}

const masterKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func master(t *testing.T) []byte {
	t.Helper()
	key, err := keyring.ParseMasterKey(masterKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// clustered is a node of several: the lines of the shipped gateway Caddyfile
// for that are uncommented. dsn or redis may be empty: SQLite, memory.
func clustered(t *testing.T, dsn, redis string) *gateway {
	t.Helper()
	var replace []string
	if dsn != "" {
		replace = append(replace, "\t\tdatabase sqlite data/tollgate.db\n", "\t\tdatabase postgres {env.TOLLGATE_DSN}\n")
	}
	replace = append(replace, "\t\t# keyring aes", "\t\tkeyring aes")
	if redis != "" {
		replace = append(replace, "\t\tcounters memory\n", "\t\tcounters redis {env.TOLLGATE_REDIS_URL}\n\t\tallow_networks 127.0.0.0/8\n")
	} else {
		replace = append(replace, "\t\tcounters memory\n", "\t\tcounters memory\n\t\tallow_networks 127.0.0.0/8\n")
	}
	port := freePort(t)
	replace = append(replace, "{$TOLLGATE_DOMAIN:localhost}", "http://127.0.0.1:"+port)
	config := shipped(t, "gateway", replace...)
	return &gateway{
		node: newNode(t, config, "TOLLGATE_DSN="+dsn, "TOLLGATE_REDIS_URL="+redis, "TOLLGATE_MASTER_KEY="+masterKey),
		base: "http://127.0.0.1:" + port, config: config,
	}
}

// administration is the keychain of a PostgreSQL database, as the command
// line of a third machine has it.
func administration(t *testing.T, dsn string) *keychain.Service {
	t.Helper()
	db, err := store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return openKeychain(t, db, master(t))
}

// TestDatabaseOutage: while PostgreSQL is away requests get a 503 that says so
// and a hint when to come back; the gateway recovers by itself, and the usage
// of the time in between is written.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	pg := testenv.NewPostgres(t)
	g := clustered(t, pg.DSN(), "")
	g.start()
	g.healthy()
	g.Service = administration(t, pg.DSN())
	key := g.user("ada", up, script("text", "ok"))
	load := startLoad(g.base, key, 3, 5*time.Millisecond)
	good := func(o outcome) bool { return o.err == nil && o.status == 200 }
	unavailable := func(o outcome) bool { return o.status == 503 && o.code == "overloaded" }
	load.await(t, waitLimit, "a request succeeds", time.Time{}, good)

	down := time.Now()
	pg.Stop()
	stopped := time.Now()
	load.await(t, keychain.CacheTTL+5*time.Second, "a request is refused", down, unavailable)
	ask(t.Context(), g.base, "ak-never-seen-before", prompt("keychain-high", false)).refused(t, 503, "overloaded")
	a := ask(t.Context(), g.base, key, prompt("keychain-high", true))
	if f := a.refused(t, 503, "overloaded"); a.header.Get("Retry-After") == "" || f.Error.Type != "server_error" ||
		strings.Contains(a.body, "127.0.0.1") || strings.Contains(a.body, "tollgate@") {
		t.Errorf("503: %v %s", a.header, a.body)
	}
	h := get(t, client, g.base+"/health", "")
	if h.status != http.StatusServiceUnavailable || !strings.Contains(h.body, `"database":"unavailable"`) {
		t.Errorf("health: %d %s", h.status, h.body)
	}
	g.awaitLog(`"level":"error"`, "database unavailable")
	if n := strings.Count(g.logs.String(), `"msg":"database unavailable"`); n > 3 {
		t.Errorf("the outage is logged %d times", n)
	}
	// What was cached may be used for a while, but no longer.
	for _, o := range load.outcomes(func(o outcome) bool { return good(o) && o.at.After(stopped.Add(keychain.CacheTTL+2*time.Second)) }) {
		t.Errorf("a request succeeded %s after the database had gone", o.at.Sub(stopped))
	}

	pg.Start()
	load.await(t, waitLimit, "a request succeeds again", time.Now(), good)
	g.healthy()
	g.awaitLog("database is back")
	load.stop()
	for _, o := range load.failed() {
		if o.err != nil || !unavailable(o) {
			t.Errorf("a request failed otherwise: %+v", o)
			break
		}
	}
	ids := load.succeeded()
	eventually(t, waitLimit, "the usage of all requests is written", func() error {
		db, err := sql.Open("pgx", pg.DSN())
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(DISTINCT request_id) FROM gateway_usage WHERE status = 200").Scan(&n); err != nil {
			return err
		}
		if n != len(ids) {
			return fmt.Errorf("%d of %d", n, len(ids))
		}
		return nil
	})
	g.stop()
}

// TestDatabaseDownAtStart: the gateway starts without its database, answers
// 503, and serves as soon as the database is there.
func TestDatabaseDownAtStart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	pg := testenv.NewPostgres(t)
	pg.Stop()
	g := clustered(t, pg.DSN(), "")
	g.start()
	ask(t.Context(), g.base, "ak-some-key", prompt("keychain-high", false)).refused(t, 503, "overloaded")
	if a := get(t, client, g.base+"/providers", ""); a.status != 200 {
		t.Errorf("what needs no database: %d %s", a.status, a.body)
	}
	g.awaitLog("database unavailable")
	pg.Start()
	g.healthy()
	g.Service = administration(t, pg.DSN())
	key := g.user("ada", up, script("text", "ok"))
	if got := ask(t.Context(), g.base, key, prompt("keychain-high", true)).text(t); got != "ok" {
		t.Errorf("text %q", got)
	}
	pg.Stop()
	// An exit does not hang on a database that is away.
	told := time.Now()
	g.stop()
	if took := time.Since(told); took > 25*time.Second {
		t.Errorf("the exit took %s", took)
	}
	pg.Start()
}

// TestCountersOutage: while Redis is away what has a budget is refused with a
// 503, what has none is served, and all is well when Redis is back.
func TestCountersOutage(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	redis := testenv.NewRedis(t)
	g := clustered(t, "", redis.URL())
	g.start()
	g.healthy()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: g.path("data", "tollgate.db")}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	g.Service = openKeychain(t, db, master(t))
	unlimited := g.user("ada", up, script("text", "ok"))
	limit := int64(100_000)
	key, err := g.CreateKey(t.Context(), "ada", keychain.KeyOptions{Label: "limited", RateLimitPerMinute: &limit})
	if err != nil {
		t.Fatal(err)
	}
	load := startLoad(g.base, key.Key, 3, 5*time.Millisecond)
	good := func(o outcome) bool { return o.err == nil && o.status == 200 }
	unavailable := func(o outcome) bool { return o.status == 503 && o.code == "overloaded" }
	load.await(t, waitLimit, "a request succeeds", time.Time{}, good)
	redis.Stop()
	stopped := time.Now()
	load.await(t, waitLimit, "a request is refused", stopped, unavailable)
	a := ask(t.Context(), g.base, key.Key, prompt("keychain-high", false))
	a.refused(t, 503, "overloaded")
	if a.header.Get("Retry-After") == "" {
		t.Errorf("503: headers %v", a.header)
	}
	if got := ask(t.Context(), g.base, unlimited, prompt("keychain-high", false)).text(t); got != "ok" {
		t.Errorf("a key without a limit: %q", got)
	}
	redis.Start()
	load.await(t, waitLimit, "a request succeeds again", time.Now(), good)
	load.stop()
	for _, o := range load.failed() {
		if o.err != nil || !unavailable(o) {
			t.Errorf("a request failed otherwise: %+v", o)
			break
		}
	}
	g.awaitLog(`"level":"warn"`, "counters are unreachable")
	g.awaitLog("counters are reachable again")
	g.stop()
}

// TestTwoNodes: two processes that share PostgreSQL and Redis admit one budget
// together, and a key that is revoked ends on both within five seconds.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	pg, redis := testenv.NewPostgres(t), testenv.NewRedis(t)
	nodes := []*gateway{clustered(t, pg.DSN(), redis.URL()), clustered(t, pg.DSN(), redis.URL())}
	for _, n := range nodes {
		n.start()
	}
	for _, n := range nodes {
		n.healthy()
	}
	service := administration(t, pg.DSN())
	addUser(t, service, "ada", up, script("text", "ok"))
	limit := int64(60)
	key, err := service.CreateKey(t.Context(), "ada", keychain.KeyOptions{Label: "shared", RateLimitPerMinute: &limit})
	if err != nil {
		t.Fatal(err)
	}
	awayFromMinuteEnd()
	var admitted, refused atomic.Int64
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			for i := range 15 {
				a := ask(t.Context(), nodes[(c+i)%2].base, key.Key, prompt("keychain-high", i%2 == 0))
				switch a.status {
				case http.StatusOK:
					admitted.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
					if a.header.Get("Retry-After") == "" || a.header.Get("X-Ratelimit-Limit-Requests") != "60" {
						t.Errorf("429: headers %v", a.header)
					}
				default:
					t.Errorf("%d %s %v", a.status, a.body, a.err)
				}
			}
		})
	}
	clients.Wait()
	if admitted.Load() != limit || refused.Load() != 120-limit {
		t.Errorf("%d admitted and %d refused of 120, want %d admitted", admitted.Load(), refused.Load(), limit)
	}

	free, err := service.CreateKey(t.Context(), "ada", keychain.KeyOptions{Label: "to revoke"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		ask(t.Context(), n.base, free.Key, prompt("keychain-high", false)).text(t)
	}
	nodes[0].tool("keychain", "keys", "revoke", free.ID, "--user", "ada")
	revoked := time.Now()
	for i, n := range nodes {
		eventually(t, 5*time.Second, fmt.Sprintf("node %d refuses the revoked key", i+1), func() error {
			if a := ask(t.Context(), n.base, free.Key, prompt("keychain-high", false)); a.status != http.StatusUnauthorized {
				return fmt.Errorf("%s after the revocation: status %d", time.Since(revoked), a.status)
			}
			return nil
		})
		ask(t.Context(), n.base, free.Key, prompt("keychain-high", false)).refused(t, 401, "invalid_api_key")
	}
	for _, n := range nodes {
		n.stop()
	}
}
