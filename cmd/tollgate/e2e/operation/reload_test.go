package operation

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// long is a model whose answer takes about two seconds.
var long = e2e.Script("text", "word ", "repeat", "40", "chunk_delay", "50ms")

// TestReload checks that a stream continues to its end across reloads with the same and with other settings, that it is
// in the usage log, and that budgets keep their counts.
func TestReload(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, long, e2e.Script("text", "short"))
	limit := int64(10)
	limited, err := g.CreateKey(t.Context(), "ada", keychain.KeyOptions{Label: "limited", Limits: keychain.Limits{RateLimitPerMinute: &limit}})
	if err != nil {
		t.Fatal(err)
	}
	e2e.AwayFromMinuteEnd()
	for range 4 {
		e2e.Ask(t.Context(), g.Base, limited.Key, e2e.Prompt("own/2", false)).Text(t)
	}

	first, err := e2e.Open(t.Context(), g.Base, key, e2e.Prompt("own/1", true)) //nolint:bodyclose // closed in the loop below
	if err != nil {
		t.Fatal(err)
	}
	begun, seen := e2e.FirstEvent(t, first)
	g.Tool("reload", "--force", "--config", "Caddyfile", "--address", "unix/"+g.Path("data", "admin.sock"))
	g.Healthy()

	second, err := e2e.Open(t.Context(), g.Base, key, e2e.Prompt("own/1", true)) //nolint:bodyclose // closed in the loop below
	if err != nil {
		t.Fatal(err)
	}
	begun2, seen2 := e2e.FirstEvent(t, second)
	changed := e2e.Swap(t, g.Config, "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tmax_body 1KB\n\t\tcascade {\n\t\t\tidle 20s\n\t\t\tdefault_tier high\n\t\t}\n\t}\n")
	g.Configure(changed)
	g.Tool("reload", "--config", "Caddyfile", "--address", "unix/"+g.Path("data", "admin.sock"))
	g.Healthy()

	// The new settings apply: a body of at most 1 KB is accepted, and unknown names go to a tier.
	e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("own/2", false)+strings.Repeat(" ", 2000)).Refused(t, 413, "request_too_large")
	for i, s := range []struct {
		resp  *http.Response
		begun io.Reader
		seen  string
	}{{first, begun, seen}, {second, begun2, seen2}} {
		rest, err := io.ReadAll(s.begun)
		_ = s.resp.Body.Close()
		if err != nil {
			t.Fatalf("stream %d breaks: %v", i, err)
		}
		text, last := e2e.Streamed(t, s.seen+string(rest))
		if last != "[DONE]" || text != strings.Repeat("word ", 40) {
			t.Errorf("stream %d ends in %q with %q", i, last, text)
		}
		if u := g.AwaitUsage(s.resp.Header.Get("X-Request-Id")); u.Status != 200 || u.Code != "" || u.Output == 0 {
			t.Errorf("stream %d: usage %+v", i, u)
		}
	}
	a := e2e.Ask(t.Context(), g.Base, limited.Key, e2e.Prompt("own/2", false))
	if got := a.Header.Get("X-Ratelimit-Remaining-Requests"); a.Text(t) != "short" || got != "5" {
		t.Errorf("after the reloads %s of 10 requests remain, want 5", got)
	}
	// An invalid configuration changes nothing.
	if _, err := g.Admin(http.MethodPost, "/load", "text/caddyfile", e2e.Swap(t, changed, "idle 20s", "idle never")); err == nil {
		t.Error("a broken configuration is loaded")
	}
	if got := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("own/2", true)).Text(t); got != "short" {
		t.Errorf("after a refused reload: %q", got)
	}
}

// TestReloadUnderLoad checks that during twenty reloads, half of them with other settings, every request that reaches
// the gateway is answered completely and recorded.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "one two three four five", "chunk_delay", "10ms"))
	load := e2e.StartLoad(g.Base, key, 6, 0)
	other := e2e.Swap(t, g.Config, "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tidle 40s\n\t\t}\n\t}\n")
	for i := range 20 {
		config := g.Config
		if i%2 == 0 {
			config = other
		}
		g.Load(config)
		time.Sleep(30 * time.Millisecond) // so that each configuration gets requests
	}
	load.Stop()
	ids := load.Succeeded()
	if len(load.Failed()) > 0 || len(ids) < 20 {
		failed := load.Failed()
		t.Errorf("%d requests succeeded, %d did not, such as %v", len(ids), len(failed), failed[:min(3, len(failed))])
	}
	e2e.Eventually(t, e2e.WaitLimit, "all records are in the usage log", func() error { return missing(g.UsageLog(), ids) })
	g.Stop()
	// No request was begun without being completed.
	if n := len(g.UsageLog()); n != len(ids) {
		t.Errorf("%d requests are in the usage log, %d were answered", n, len(ids))
	}
}

func missing(log map[string]e2e.Usage, ids []string) error {
	n := 0
	for _, id := range ids {
		if _, ok := log[id]; !ok {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%d of %d requests are not there", n, len(ids))
	}
	return nil
}

// TestDrain checks that a gateway that is stopped completes a running stream, accepts no new connections, writes the
// usage and exits with 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "word ", "repeat", "40", "chunk_delay", "200ms")) // longer than the steps below take
	resp, err := e2e.Open(t.Context(), g.Base, key, e2e.Prompt("keychain-high", true))
	if err != nil {
		t.Fatal(err)
	}
	begun, seen := e2e.FirstEvent(t, resp)
	if err := g.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, e2e.WaitLimit, "new connections are refused", func() error {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
		resp, err := c.Get(g.Base + "/health") //nolint:noctx // a loopback probe
		if err != nil {
			return nil
		}
		_ = resp.Body.Close()
		return errors.New("one was taken")
	})
	if !g.Runs() {
		t.Error("the gateway has ended before its stream")
	}
	rest, err := io.ReadAll(begun)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatalf("the stream breaks: %v", err)
	}
	if text, last := e2e.Streamed(t, seen+string(rest)); last != "[DONE]" || text != strings.Repeat("word ", 40) {
		t.Errorf("the stream ends in %q with %q", last, text)
	}
	ended := time.Now()
	g.AwaitExit()
	if took := time.Since(ended); took > 20*time.Second { // less than the grace period
		t.Errorf("the exit took %s, longer than the stream", took)
	}
	if u, ok := g.UsageLog()[resp.Header.Get("X-Request-Id")]; !ok || u.Status != 200 || u.Output == 0 {
		t.Errorf("usage %t %+v", ok, u)
	}
}

// TestDrainLimit checks that streams that do not end are cut off when grace_period is over. Their clients get an error
// in the stream, and their usage is logged and charged.
func TestDrainLimit(t *testing.T) {
	t.Parallel()
	const words = 20 // each client gets so many words before the end
	up := e2e.NewUpstream(t)
	redis := testenv.NewRedis(t)
	g := e2e.NewGateway(t, "",
		"grace_period 30s", "grace_period 1s", "\t\tcounters memory\n", "\t\tcounters redis "+redis.URL()+"\n",
		"\ttollgate gateway\n", `	route {
		budget {
			name tokens
			key all
			limit 1000000
			window 1h
			cost 0 GET /health
			cost 0 POST /v1/chat/completions
			cost 0 POST /v1/messages
			cost 0 POST /v1/responses
			charge {http.cascade.total_tokens}
		}
		tollgate gateway
	}
`)
	key := g.User("ada", up, e2e.Script("text", "word ", "repeat", "10000", "chunk_delay", "20ms"), e2e.Script("fault", "hang"))
	type stream struct {
		e2e.Surface
		resp *http.Response
		rest *bufio.Reader
	}
	streams := make([]stream, 0, len(e2e.Surfaces))
	for _, s := range e2e.Surfaces {
		resp := s.Open(t, g.Base, key) //nolint:bodyclose // closed in the loop below
		begun := bufio.NewReader(resp.Body)
		for seen := 0; seen < words; {
			line, err := begun.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			seen += strings.Count(line, "word ")
		}
		streams = append(streams, stream{s, resp, begun})
	}
	// A request without streaming has not received anything yet.
	whole := make(chan *e2e.Answer)
	go func() { whole <- e2e.Ask(e2e.BackgroundContext, g.Base, key, e2e.Prompt("own/2", false)) }()
	if err := up.AwaitRequests(t.Context(), int64(len(e2e.Surfaces)+1)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	g.Stop()
	if took := time.Since(start); took < 900*time.Millisecond || took > 10*time.Second {
		t.Errorf("the exit took %s with a grace period of 1s", took)
	}
	if a := <-whole; a.Err != nil || a.Status < 500 {
		t.Errorf("not streamed: %d %v %s", a.Status, a.Err, a.Body)
	} else {
		a.Failure(t)
	}
	log := g.UsageLog()
	var used int64
	for _, s := range streams {
		rest, err := io.ReadAll(s.rest)
		_ = s.resp.Body.Close()
		last := lastEvent(string(rest))
		if err != nil || !gjson.Get(last, map[string]string{"chat": "error.message", "messages": "error.message", "responses": "response.error.message"}[s.Name]).Exists() {
			t.Errorf("%s ends in %q, %v", s.Name, last, err)
		}
		u, ok := log[s.resp.Header.Get("X-Request-Id")]
		if !ok || u.Status != 200 || u.Code == "" || u.Output < words {
			t.Errorf("%s: usage %t %+v", s.Name, ok, u)
		}
	}
	for _, u := range log {
		used += u.Input + u.Output
	}
	if len(log) != len(streams)+1 {
		t.Errorf("%d requests are in the log, %d were sent", len(log), len(streams)+1)
	}
	g.Start()
	g.Healthy()
	remaining, err := strconv.ParseInt(e2e.Get(t, e2e.Client, g.Base+"/health", "").Header.Get("X-RateLimit-Remaining"), 10, 64)
	if charged := 1_000_000 - remaining; err != nil || charged != used {
		t.Errorf("%d tokens were charged, %d used (%v)", charged, used, err)
	}
	g.Stop()
}

// lastEvent returns the data of the last event of a stream before [DONE].
func lastEvent(body string) (last string) {
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			last = data
		}
	}
	return last
}

// TestDrainAfterReload checks that a stream of a replaced configuration with another database can use the whole grace
// period, and that its usage is in the log of that database.
func TestDrainAfterReload(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "", "grace_period 30s", "grace_period 5s")
	key := g.User("ada", up, e2e.Script("text", "word ", "repeat", "10000", "chunk_delay", "50ms"), long)
	cut := e2e.Surfaces[0].Open(t, g.Base, key)
	ends, err := e2e.Open(t.Context(), g.Base, key, e2e.Prompt("own/2", true)) //nolint:bodyclose // read does
	if err != nil {
		t.Fatal(err)
	}
	g.Load(e2e.Swap(t, g.Config, "database sqlite data/tollgate.db", "database sqlite data/other.db"))
	g.Stop()
	rest, err := io.ReadAll(cut.Body)
	_ = cut.Body.Close()
	if last := lastEvent(string(rest)); err != nil || !gjson.Get(last, "error.message").Exists() {
		t.Errorf("the long stream ends in %q, %v", last, err)
	}
	if text := e2e.Read(ends, nil).Text(t); text != strings.Repeat("word ", 40) {
		t.Errorf("the short stream has %q", text)
	}
	log := g.UsageLog()
	for name, resp := range map[string]*http.Response{"long": cut, "short": ends} {
		if u, ok := log[resp.Header.Get("X-Request-Id")]; !ok || u.Output == 0 {
			t.Errorf("%s: usage %t %+v", name, ok, u)
		}
	}
}

// TestCrash checks that a gateway that was killed during writes starts again with everything that it had acknowledged:
// all keys, and all usage except for the records that may wait in memory.
func TestCrash(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "ok"))
	const writing = 2 * time.Second // the time limit for the write itself, beside other writers
	for round := range 3 {
		load := e2e.StartLoad(g.Base, key, 4, time.Millisecond)
		var mu sync.Mutex
		var newKeys []string
		var ended atomic.Bool
		var writers sync.WaitGroup
		for range 2 {
			writers.Go(func() {
				var own []*keychain.NewKey
				for !ended.Load() {
					k, err := g.CreateKey(e2e.BackgroundContext, "ada", keychain.KeyOptions{})
					if err != nil {
						t.Errorf("a key during the crash: %v", err)
						return
					}
					mu.Lock()
					newKeys = append(newKeys, k.Key)
					mu.Unlock()
					if own = append(own, k); len(own) <= 100 { // a user can have at most a thousand keys
						continue
					}
					mu.Lock()
					newKeys = slices.DeleteFunc(newKeys, func(key string) bool { return key == own[0].Key })
					mu.Unlock()
					if err := g.RevokeKey(e2e.BackgroundContext, "ada", own[0].ID); err != nil {
						t.Errorf("revoking a key during the crash: %v", err)
						return
					}
					own = own[1:]
				}
			})
		}
		writers.Go(func() {
			k := g.CliKey()
			mu.Lock()
			newKeys = append(newKeys, k)
			mu.Unlock()
		})
		load.Await(t, e2e.WaitLimit, "a request succeeds", time.Time{}, func(o e2e.Outcome) bool { return o.Status == 200 })
		time.Sleep(spending.FlushInterval + writing + time.Duration(300+300*round)*time.Millisecond) // three different moments of a flush
		killed := time.Now()
		g.Kill()
		load.Stop()
		ended.Store(true)
		writers.Wait()
		g.Start()
		g.Healthy()

		for _, k := range []string{key, newKeys[0], newKeys[len(newKeys)/2], newKeys[len(newKeys)-1]} {
			e2e.Ask(t.Context(), g.Base, k, e2e.Prompt("keychain-high", false)).Text(t)
		}
		keys, err := g.Keys(t.Context(), "ada")
		if err != nil || len(keys) < len(newKeys)+1 {
			t.Errorf("round %d: %d keys of %d are there (%v)", round, len(keys), len(newKeys)+1, err)
		}
		var due []string
		for _, o := range load.Outcomes(func(o e2e.Outcome) bool { return o.Err == nil && o.Status == 200 }) {
			if killed.Sub(o.At) > spending.FlushInterval+writing {
				due = append(due, o.ID)
			}
		}
		if err := missing(g.UsageLog(), due); err != nil || len(due) == 0 {
			t.Errorf("round %d: %d records are due: %v", round, len(due), err)
		}
		if got := g.Integrity(); got != "ok" {
			t.Errorf("round %d: the database is %s", round, got)
		}
	}
	g.Stop()
}
