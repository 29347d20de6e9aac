package main

import (
	"bufio"
	"encoding/json"
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
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// long is a model whose answer takes about two seconds.
var long = script("text", "word ", "repeat", "40", "chunk_delay", "50ms")

// TestReload: a stream goes on to its end over reloads with the same and with
// other settings, is in the usage log, and budgets keep their counts.
func TestReload(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	key := g.user("ada", up, long, script("text", "short"))
	limit := int64(10)
	limited, err := g.CreateKey(t.Context(), "ada", keychain.KeyOptions{Label: "limited", RateLimitPerMinute: &limit})
	if err != nil {
		t.Fatal(err)
	}
	awayFromMinuteEnd()
	for range 4 {
		ask(t.Context(), g.base, limited.Key, prompt("own/2", false)).text(t)
	}

	first, err := open(t.Context(), g.base, key, prompt("own/1", true)) //nolint:bodyclose // closed in the loop below
	if err != nil {
		t.Fatal(err)
	}
	begun, seen := firstEvent(t, first)
	g.tool("reload", "--force", "--config", "Caddyfile", "--address", "unix/"+g.path("data", "admin.sock"))
	g.healthy()

	second, err := open(t.Context(), g.base, key, prompt("own/1", true)) //nolint:bodyclose // closed in the loop below
	if err != nil {
		t.Fatal(err)
	}
	begun2, seen2 := firstEvent(t, second)
	changed := swap(t, g.config, "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tmax_body 1KB\n\t\tcascade {\n\t\t\tidle 20s\n\t\t\tdefault_tier high\n\t\t}\n\t}\n")
	g.configure(changed)
	g.tool("reload", "--config", "Caddyfile", "--address", "unix/"+g.path("data", "admin.sock"))
	g.healthy()

	// The new settings hold: 1 KB of body, unknown names go to a tier.
	ask(t.Context(), g.base, key, prompt("own/2", false)+strings.Repeat(" ", 2000)).refused(t, 413, "request_too_large")
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
		text, last := streamed(t, s.seen+string(rest))
		if last != "[DONE]" || text != strings.Repeat("word ", 40) {
			t.Errorf("stream %d ends in %q with %q", i, last, text)
		}
		if u := g.awaitUsage(s.resp.Header.Get("X-Request-Id")); u.status != 200 || u.code != "" || u.output == 0 {
			t.Errorf("stream %d: usage %+v", i, u)
		}
	}
	a := ask(t.Context(), g.base, limited.Key, prompt("own/2", false))
	if got := a.header.Get("X-Ratelimit-Remaining-Requests"); a.text(t) != "short" || got != "5" {
		t.Errorf("after the reloads %s of 10 requests remain, want 5", got)
	}
	// A configuration that does not hold changes nothing.
	if _, err := g.admin(http.MethodPost, "/load", "text/caddyfile", swap(t, changed, "idle 20s", "idle never")); err == nil {
		t.Error("a broken configuration is loaded")
	}
	if got := ask(t.Context(), g.base, key, prompt("own/2", true)).text(t); got != "short" {
		t.Errorf("after a refused reload: %q", got)
	}
}

// awayFromMinuteEnd keeps a count out of two windows.
func awayFromMinuteEnd() {
	if now := time.Now(); now.Second() >= 54 {
		time.Sleep(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
	}
}

// TestReloadUnderLoad: over twenty reloads, half of them with other settings,
// every request that reaches the gateway is answered to its end and recorded.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	key := g.user("ada", up, script("text", "one two three four five", "chunk_delay", "10ms"))
	load := startLoad(g.base, key, 6, 0)
	other := swap(t, g.config, "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tidle 40s\n\t\t}\n\t}\n")
	for i := range 20 {
		config := g.config
		if i%2 == 0 {
			config = other
		}
		g.load(config)
		time.Sleep(30 * time.Millisecond) // let requests come to each of them
	}
	load.stop()
	ids := load.succeeded()
	if len(load.failed()) > 0 || len(ids) < 20 {
		failed := load.failed()
		t.Errorf("%d requests succeeded, %d did not, such as %v", len(ids), len(failed), failed[:min(3, len(failed))])
	}
	eventually(t, waitLimit, "all records are in the usage log", func() error { return missing(g.usage(), ids) })
	g.stop()
	// Nothing was begun and not brought to its end.
	if n := len(g.usage()); n != len(ids) {
		t.Errorf("%d requests are in the usage log, %d were answered", n, len(ids))
	}
}

func missing(log map[string]usage, ids []string) error {
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

// load is a number of clients that ask without a pause.
type load struct {
	done    chan struct{}
	clients sync.WaitGroup
	mu      sync.Mutex
	answers []outcome
}

func (o outcome) String() string { return fmt.Sprintf("%d %s %v", o.status, o.code, o.err) }

type outcome struct {
	at     time.Time // of the end
	id     string
	status int
	code   string
	err    error
}

// oneShot opens a connection for each request.
var oneShot = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

// startLoad asks for keychain-high, every other time streamed. Every other
// client opens a connection for each request. As SDKs do, all of them send a
// request again when its connection is closed before any answer: a server of
// net/http that is told to shut down does that to requests which it has not
// begun to handle, and the kernel to connections which it has not accepted.
func startLoad(base, key string, clients int, pause time.Duration) *load {
	l := &load{done: make(chan struct{})}
	for c := range clients {
		l.clients.Go(func() {
			for i := c; ; i++ {
				select {
				case <-l.done:
					return
				default:
				}
				via := client
				if c%2 == 0 {
					via = oneShot
				}
				resp, err := openVia(backgroundContext, via, base, key, prompt("keychain-high", i%2 == 0)) //nolint:bodyclose // read does
				for again := 1; err != nil && again <= 5; again++ {
					time.Sleep(time.Duration(again) * 50 * time.Millisecond)
					resp, err = openVia(backgroundContext, via, base, key, prompt("keychain-high", i%2 == 0)) //nolint:bodyclose // read does
				}
				a := read(resp, err)
				o := outcome{at: time.Now(), status: a.status, err: a.err}
				if a.err == nil {
					o.id = a.header.Get("X-Request-Id")
					if i%2 == 0 && a.status == 200 && !strings.HasSuffix(a.body, "data: [DONE]\n\n") {
						o.err = errors.New("the stream has no end")
					}
					var f failure
					if a.status != 200 && json.Unmarshal([]byte(a.body), &f) == nil && f.Error.Code != nil {
						o.code = *f.Error.Code
					}
				}
				l.mu.Lock()
				l.answers = append(l.answers, o)
				l.mu.Unlock()
				if pause > 0 {
					time.Sleep(pause)
				}
			}
		})
	}
	return l
}

func (l *load) stop() {
	close(l.done)
	l.clients.Wait()
}

// outcomes are those that pass want, as they came.
func (l *load) outcomes(want func(outcome) bool) []outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.answers), func(o outcome) bool { return !want(o) })
}

func (l *load) failed() []outcome {
	return l.outcomes(func(o outcome) bool { return o.err != nil || o.status != 200 })
}

func (l *load) succeeded() []string {
	good := l.outcomes(func(o outcome) bool { return o.err == nil && o.status == 200 })
	ids := make([]string, 0, len(good))
	for _, o := range good {
		ids = append(ids, o.id)
	}
	return ids
}

// await waits until an answer that came after since passes want.
func (l *load) await(t *testing.T, limit time.Duration, what string, since time.Time, want func(outcome) bool) {
	t.Helper()
	eventually(t, limit, what, func() error {
		if len(l.outcomes(func(o outcome) bool { return o.at.After(since) && want(o) })) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
}

// TestDrain: told to end, the gateway lets a running stream end, takes no new
// connections, writes what was used and exits with 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	key := g.user("ada", up, long)
	resp, err := open(t.Context(), g.base, key, prompt("keychain-high", true))
	if err != nil {
		t.Fatal(err)
	}
	begun, seen := firstEvent(t, resp)
	told := time.Now()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, waitLimit, "new connections are refused", func() error {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
		resp, err := c.Get(g.base + "/health") //nolint:noctx // a loopback probe
		if err != nil {
			return nil
		}
		_ = resp.Body.Close()
		return errors.New("one was taken")
	})
	if time.Since(told) > 1500*time.Millisecond {
		t.Errorf("new connections were taken for %s", time.Since(told))
	}
	rest, err := io.ReadAll(begun)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatalf("the stream breaks: %v", err)
	}
	if text, last := streamed(t, seen+string(rest)); last != "[DONE]" || text != strings.Repeat("word ", 40) {
		t.Errorf("the stream ends in %q with %q", last, text)
	}
	g.awaitExit()
	if took := time.Since(told); took > 15*time.Second {
		t.Errorf("the exit took %s, longer than the stream", took)
	}
	if u, ok := g.usage()[resp.Header.Get("X-Request-Id")]; !ok || u.status != 200 || u.output == 0 {
		t.Errorf("usage %t %+v", ok, u)
	}
}

// TestDrainLimit: streams that do not end are cut when grace_period is over: their
// clients are told in the stream, and what they used is in the log and charged.
func TestDrainLimit(t *testing.T) {
	t.Parallel()
	const words = 20 // that a client has got before the end
	up := newUpstream(t)
	redis := testenv.NewRedis(t)
	g := newGateway(t, "",
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
	key := g.user("ada", up, script("text", "word ", "repeat", "10000", "chunk_delay", "20ms"), script("fault", "hang"))
	type stream struct {
		surface
		resp *http.Response
		rest *bufio.Reader
	}
	streams := make([]stream, 0, len(surfaces))
	for _, s := range surfaces {
		resp := s.open(t, g.base, key) //nolint:bodyclose // closed in the loop below
		begun := bufio.NewReader(resp.Body)
		for seen := 0; seen < words; {
			line, err := begun.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			seen += strings.Count(line, "word ")
		}
		streams = append(streams, stream{s, resp, begun})
	}
	// One that is not streamed has not got anything yet.
	whole := make(chan *answer)
	go func() { whole <- ask(backgroundContext, g.base, key, prompt("own/2", false)) }()
	if err := up.awaitRequests(t.Context(), int64(len(surfaces)+1)); err != nil {
		t.Fatal(err)
	}
	told := time.Now()
	g.stop()
	if took := time.Since(told); took < 900*time.Millisecond || took > 10*time.Second {
		t.Errorf("the exit took %s with a grace period of 1s", took)
	}
	if a := <-whole; a.err != nil || a.status < 500 {
		t.Errorf("not streamed: %d %v %s", a.status, a.err, a.body)
	} else {
		a.failure(t)
	}
	log := g.usage()
	var used int64
	for _, s := range streams {
		rest, err := io.ReadAll(s.rest)
		_ = s.resp.Body.Close()
		last := lastEvent(string(rest))
		if err != nil || !gjson.Get(last, map[string]string{"chat": "error.message", "messages": "error.message", "responses": "response.error.message"}[s.name]).Exists() {
			t.Errorf("%s ends in %q, %v", s.name, last, err)
		}
		u, ok := log[s.resp.Header.Get("X-Request-Id")]
		if !ok || u.status != 200 || u.code == "" || u.output < words {
			t.Errorf("%s: usage %t %+v", s.name, ok, u)
		}
	}
	for _, u := range log {
		used += u.input + u.output
	}
	if len(log) != len(streams)+1 {
		t.Errorf("%d requests are in the log, %d were sent", len(log), len(streams)+1)
	}
	g.start()
	g.healthy()
	remaining, err := strconv.ParseInt(get(t, client, g.base+"/health", "").header.Get("X-RateLimit-Remaining"), 10, 64)
	if charged := 1_000_000 - remaining; err != nil || charged != used {
		t.Errorf("%d tokens were charged, %d used (%v)", charged, used, err)
	}
	g.stop()
}

// open begins a stream.
func (s surface) open(t *testing.T, base, key string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+s.path, strings.NewReader(s.body("keychain-high", true, "Hi")))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", s.name, resp.Status)
	}
	return resp
}

// lastEvent is the data of the last event of a stream that is not [DONE].
func lastEvent(body string) (last string) {
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			last = data
		}
	}
	return last
}

// TestDrainAfterReload: a stream of a configuration that was replaced, with
// another database, has all of the grace period, and what it used is in its log.
func TestDrainAfterReload(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "", "grace_period 30s", "grace_period 5s")
	key := g.user("ada", up, script("text", "word ", "repeat", "10000", "chunk_delay", "50ms"), long)
	cut := surfaces[0].open(t, g.base, key)
	ends, err := open(t.Context(), g.base, key, prompt("own/2", true)) //nolint:bodyclose // read does
	if err != nil {
		t.Fatal(err)
	}
	g.load(swap(t, g.config, "database sqlite data/tollgate.db", "database sqlite data/other.db"))
	g.stop()
	rest, err := io.ReadAll(cut.Body)
	_ = cut.Body.Close()
	if last := lastEvent(string(rest)); err != nil || !gjson.Get(last, "error.message").Exists() {
		t.Errorf("the long stream ends in %q, %v", last, err)
	}
	if text := read(ends, nil).text(t); text != strings.Repeat("word ", 40) {
		t.Errorf("the short stream has %q", text)
	}
	log := g.usage()
	for name, resp := range map[string]*http.Response{"long": cut, "short": ends} {
		if u, ok := log[resp.Header.Get("X-Request-Id")]; !ok || u.output == 0 {
			t.Errorf("%s: usage %t %+v", name, ok, u)
		}
	}
}

// TestCrash: killed in the middle of writes, the gateway starts again, and
// what it had acknowledged is there: keys always, usage but for the records
// that may wait in memory.
func TestCrash(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	key := g.user("ada", up, script("text", "ok"))
	const writing = 2 * time.Second // what the write itself may take here, beside the other writers
	for round := range 3 {
		load := startLoad(g.base, key, 4, time.Millisecond)
		var mu sync.Mutex
		var made []string
		var ended atomic.Bool
		var writers sync.WaitGroup
		for range 2 {
			writers.Go(func() {
				var own []*keychain.NewKey
				for !ended.Load() {
					k, err := g.CreateKey(backgroundContext, "ada", keychain.KeyOptions{})
					if err != nil {
						t.Errorf("a key during the crash: %v", err)
						return
					}
					mu.Lock()
					made = append(made, k.Key)
					mu.Unlock()
					if own = append(own, k); len(own) <= 100 { // a user can have a thousand at most
						continue
					}
					mu.Lock()
					made = slices.DeleteFunc(made, func(key string) bool { return key == own[0].Key })
					mu.Unlock()
					if err := g.RevokeKey(backgroundContext, "ada", own[0].ID); err != nil {
						t.Errorf("revoking a key during the crash: %v", err)
						return
					}
					own = own[1:]
				}
			})
		}
		writers.Go(func() {
			k := g.cliKey()
			mu.Lock()
			made = append(made, k)
			mu.Unlock()
		})
		load.await(t, waitLimit, "a request succeeds", time.Time{}, func(o outcome) bool { return o.status == 200 })
		time.Sleep(keychain.FlushInterval + writing + time.Duration(300+300*round)*time.Millisecond) // three different moments of a flush
		killed := time.Now()
		g.kill()
		load.stop()
		ended.Store(true)
		writers.Wait()
		g.start()
		g.healthy()

		for _, k := range []string{key, made[0], made[len(made)/2], made[len(made)-1]} {
			ask(t.Context(), g.base, k, prompt("keychain-high", false)).text(t)
		}
		keys, err := g.Keys(t.Context(), "ada")
		if err != nil || len(keys) < len(made)+1 {
			t.Errorf("round %d: %d keys of %d are there (%v)", round, len(keys), len(made)+1, err)
		}
		var due []string
		for _, o := range load.outcomes(func(o outcome) bool { return o.err == nil && o.status == 200 }) {
			if killed.Sub(o.at) > keychain.FlushInterval+writing {
				due = append(due, o.id)
			}
		}
		if err := missing(g.usage(), due); err != nil || len(due) == 0 {
			t.Errorf("round %d: %d records are due: %v", round, len(due), err)
		}
		if got := g.integrity(); got != "ok" {
			t.Errorf("round %d: the database is %s", round, got)
		}
	}
	g.stop()
}
