package operation

import (
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestDatabaseOutage checks that while PostgreSQL is down requests get a 503 with the code overloaded and a
// Retry-After. The gateway recovers by itself and then writes the usage of the time in between.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	pg := testenv.NewPostgres(t)
	g := e2e.Clustered(t, pg.DSN(), "")
	g.Start()
	g.Healthy()
	g.Service = e2e.Administration(t, pg.DSN())
	key := g.User("ada", up, e2e.Script("text", "ok"))
	load := e2e.StartLoad(g.Base, key, 3, 5*time.Millisecond)
	good := func(o e2e.Outcome) bool { return o.Err == nil && o.Status == 200 }
	unavailable := func(o e2e.Outcome) bool { return o.Status == 503 && o.Code == "overloaded" }
	load.Await(t, e2e.WaitLimit, "a request succeeds", time.Time{}, good)

	pg.Stop()
	stopped := time.Now() // connections end one after the other, so a success may follow a refusal
	load.Await(t, keychain.CacheTTL+5*time.Second, "a request is refused", stopped, unavailable)
	e2e.Ask(t.Context(), g.Base, "ak-never-seen-before", e2e.Prompt("keychain-high", false)).Refused(t, 503, "overloaded")
	a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", true))
	if f := a.Refused(t, 503, "overloaded"); a.Header.Get("Retry-After") == "" || f.Error.Type != "server_error" ||
		strings.Contains(a.Body, "127.0.0.1") || strings.Contains(a.Body, "tollgate@") {
		t.Errorf("503: %v %s", a.Header, a.Body)
	}
	h := e2e.Get(t, e2e.Client, g.Base+"/health", "")
	if h.Status != http.StatusServiceUnavailable || !strings.Contains(h.Body, `"database":"unavailable"`) {
		t.Errorf("health: %d %s", h.Status, h.Body)
	}
	g.AwaitLog(`"level":"error"`, "database unavailable")
	if n := strings.Count(g.Logs.String(), `"msg":"database unavailable"`); n > 3 {
		t.Errorf("the outage is logged %d times", n)
	}
	// Cached values may be used for a while, but no longer.
	for _, o := range load.Outcomes(func(o e2e.Outcome) bool { return good(o) && o.At.After(stopped.Add(keychain.CacheTTL+2*time.Second)) }) {
		t.Errorf("a request succeeded %s after the database had gone", o.At.Sub(stopped))
	}

	pg.Start()
	load.Await(t, e2e.WaitLimit, "a request succeeds again", time.Now(), good)
	g.Healthy()
	g.AwaitLog("database is back")
	load.Stop()
	for _, o := range load.Failed() {
		if o.Err != nil || !unavailable(o) {
			t.Errorf("a request failed otherwise: %+v", o)
			break
		}
	}
	ids := load.Succeeded()
	e2e.Eventually(t, e2e.WaitLimit, "the usage of all requests is written", func() error {
		db, err := sql.Open("pgx", pg.DSN())
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		rows, err := db.QueryContext(t.Context(), "SELECT DISTINCT request_id FROM gateway_usage WHERE status = 200")
		if err != nil {
			return err
		}
		defer rows.Close()
		var written []string
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			written = append(written, id)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		subtract := func(list, excluded []string) []string {
			return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(excluded, id) })
		}
		if missing, unknown := subtract(ids, written), subtract(written, ids); len(missing) > 0 || len(unknown) > 0 {
			return fmt.Errorf("%d requests are missing: %q; %d were never sent: %q", len(missing), missing, len(unknown), unknown)
		}
		return nil
	})
	g.Stop()
}

// TestDatabaseDownAtStart checks that the gateway starts without its database, answers 503, and serves as soon as the
// database is available.
func TestDatabaseDownAtStart(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	pg := testenv.NewPostgres(t)
	pg.Stop()
	g := e2e.Clustered(t, pg.DSN(), "")
	g.Start()
	e2e.Ask(t.Context(), g.Base, "ak-some-key", e2e.Prompt("keychain-high", false)).Refused(t, 503, "overloaded")
	if a := e2e.Get(t, e2e.Client, g.Base+"/providers", ""); a.Status != 200 {
		t.Errorf("a request that needs no database: %d %s", a.Status, a.Body)
	}
	g.AwaitLog("database unavailable")
	pg.Start()
	g.Healthy()
	g.Service = e2e.Administration(t, pg.DSN())
	key := g.User("ada", up, e2e.Script("text", "ok"))
	if got := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", true)).Text(t); got != "ok" {
		t.Errorf("text %q", got)
	}
	pg.Stop()
	// An unavailable database does not block the exit.
	start := time.Now()
	g.Stop()
	if took := time.Since(start); took > 25*time.Second {
		t.Errorf("the exit took %s", took)
	}
	pg.Start()
}

// TestCountersOutage checks that while Redis is down requests with a budget are refused with a 503 and other requests
// are served, and that all are served when Redis is back.
func TestCountersOutage(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	redis := testenv.NewRedis(t)
	g := e2e.Clustered(t, "", redis.URL())
	g.Start()
	g.Healthy()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: g.Path("data", "tollgate.db")}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	g.Service = e2e.OpenKeychain(t, db, e2e.Master(t))
	unlimited := g.User("ada", up, e2e.Script("text", "ok"))
	limit := int64(100_000)
	key, err := g.CreateKey(t.Context(), "ada", keychain.KeyOptions{Label: "limited", Limits: keychain.Limits{RateLimitPerMinute: &limit}})
	if err != nil {
		t.Fatal(err)
	}
	load := e2e.StartLoad(g.Base, key.Key, 3, 5*time.Millisecond)
	good := func(o e2e.Outcome) bool { return o.Err == nil && o.Status == 200 }
	unavailable := func(o e2e.Outcome) bool { return o.Status == 503 && o.Code == "overloaded" }
	load.Await(t, e2e.WaitLimit, "a request succeeds", time.Time{}, good)
	redis.Stop()
	stopped := time.Now()
	load.Await(t, e2e.WaitLimit, "a request is refused", stopped, unavailable)
	a := e2e.Ask(t.Context(), g.Base, key.Key, e2e.Prompt("keychain-high", false))
	a.Refused(t, 503, "overloaded")
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("503: headers %v", a.Header)
	}
	if got := e2e.Ask(t.Context(), g.Base, unlimited, e2e.Prompt("keychain-high", false)).Text(t); got != "ok" {
		t.Errorf("a key without a limit: %q", got)
	}
	redis.Start()
	load.Await(t, e2e.WaitLimit, "a request succeeds again", time.Now(), good)
	load.Stop()
	for _, o := range load.Failed() {
		if o.Err != nil || !unavailable(o) {
			t.Errorf("a request failed otherwise: %+v", o)
			break
		}
	}
	g.AwaitLog(`"level":"warn"`, "counters are unreachable")
	g.AwaitLog("counters are reachable again")
	g.Stop()
}

// TestTwoNodes checks that two processes that share PostgreSQL and Redis share one budget, and that a key that is
// revoked ends on both within five seconds.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	pg, redis := testenv.NewPostgres(t), testenv.NewRedis(t)
	nodes := []*e2e.Gateway{e2e.Clustered(t, pg.DSN(), redis.URL()), e2e.Clustered(t, pg.DSN(), redis.URL())}
	for _, n := range nodes {
		n.Start()
	}
	for _, n := range nodes {
		n.Healthy()
	}
	service := e2e.Administration(t, pg.DSN())
	e2e.AddUser(t, service, "ada", up, e2e.Script("text", "ok"))
	limit := int64(60)
	key, err := service.CreateKey(t.Context(), "ada", keychain.KeyOptions{Label: "shared", Limits: keychain.Limits{RateLimitPerMinute: &limit}})
	if err != nil {
		t.Fatal(err)
	}
	e2e.AwayFromMinuteEnd()
	var admitted, refused atomic.Int64
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			for i := range 15 {
				a := e2e.Ask(t.Context(), nodes[(c+i)%2].Base, key.Key, e2e.Prompt("keychain-high", i%2 == 0))
				switch a.Status {
				case http.StatusOK:
					admitted.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
					if a.Header.Get("Retry-After") == "" || a.Header.Get("X-Ratelimit-Limit-Requests") != "60" {
						t.Errorf("429: headers %v", a.Header)
					}
				default:
					t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
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
		e2e.Ask(t.Context(), n.Base, free.Key, e2e.Prompt("keychain-high", false)).Text(t)
	}
	nodes[0].Tool("keychain", "keys", "revoke", free.ID, "--user", "ada")
	revoked := time.Now()
	for i, n := range nodes {
		e2e.Eventually(t, keychain.CacheTTL+30*time.Second, fmt.Sprintf("node %d refuses the revoked key", i+1), func() error {
			if a := e2e.Ask(t.Context(), n.Base, free.Key, e2e.Prompt("keychain-high", false)); a.Status != http.StatusUnauthorized {
				return fmt.Errorf("%s after the revocation: status %d", time.Since(revoked), a.Status)
			}
			return nil
		})
		e2e.Ask(t.Context(), n.Base, free.Key, e2e.Prompt("keychain-high", false)).Refused(t, 401, "invalid_api_key")
	}
	for _, n := range nodes {
		n.Stop()
	}
}
