package cascade

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

var everybody = []string{"alpha", "beta", "gamma"}

// failedList returns provider:status:code of the failed attempts.
func (e *outcome) failedList() string {
	list := make([]string, 0, len(e.Failed))
	for _, a := range e.Failed {
		list = append(list, fmt.Sprintf("%s:%d:%s", a.Provider, a.Status, a.Code))
	}
	return strings.Join(list, " ")
}

func TestReply(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	r.alpha.addSteps(reply(200, completion("hi")))
	e := r.ask("keychain-low", `"max_tokens":7,"user":"u"`)
	e.wantAnswer(t, "alpha/a-low", "hi")
	want := strings.Replace(completion("hi"), `"model":"up"`, `"model":"keychain-low"`, 1)
	if e.body != want {
		t.Errorf("body %s\nwant %s", e.body, want)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Content-Length": fmt.Sprint(len(want)),
		"X-Gateway-Provider": "alpha", "X-Gateway-Model": "a-low", "X-Gateway-Tier": "low", "X-Gateway-Attempts": "1",
	} {
		if got := e.header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	u := e.Usage
	if e.Estimated || u.Prompt != 11 || u.Completion != 5 || u.CacheRead != 3 || e.Tier != catalog.Low || e.Attempts != 1 {
		t.Errorf("result %+v", e.Result)
	}
	got := r.alpha.requests()[0]
	if got.path != "/v1/chat/completions" || got.key != "key-alpha-1" || got.body != `{"model":"a-low","stream":false,"max_completion_tokens":7,"user":"u",`+helloMessages+`}` {
		t.Errorf("the upstream got %+v", got)
	}
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("Accept") != "application/json" || got.header.Get("User-Agent") != "Tollgate" || len(got.header["X-Idempotency-Key"]) != 0 {
		t.Errorf("the upstream got headers %v", got.header)
	}
}

func TestShapesByProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	more := `"user":"u","seed":1,"temperature":0.5,"tool_choice":"required","max_completion_tokens":5,"stream_options":{"include_usage":false},"messages":[{"role":"developer","content":"d"}]`
	for _, c := range []struct{ model, body, dropped string }{
		{
			"alpha/a-low", `{"model":"a-low","stream":true,"user":"u","seed":1,"temperature":0.5,"tool_choice":"required","max_completion_tokens":5,"stream_options":{"include_usage":true},"messages":[{"role":"developer","content":"d"}]}`,
			"",
		},
		{
			"alpha/a-high", `{"model":"a-high","stream":true,"user":"u","seed":1,"tool_choice":"required","max_completion_tokens":5,"stream_options":{"include_usage":true},"messages":[{"role":"developer","content":"d"}]}`,
			"temperature",
		},
		{
			"beta/b-low", `{"model":"b-low","stream":true,"random_seed":1,"temperature":0.5,"tool_choice":"any","max_tokens":5,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"d"}]}`,
			"user",
		},
		{
			"gamma/g-low", `{"model":"g-low","stream":true,"user":"u","seed":1,"temperature":0.5,"tool_choice":"required","max_tokens":5,"messages":[{"role":"system","content":"d"}]}`,
			"stream_options",
		},
	} {
		u := map[byte]*upstream{'a': r.alpha, 'b': r.beta, 'g': r.gamma}[c.model[0]]
		u.addSteps(answers("hi"))
		e := r.askStream(c.model, more)
		e.wantAnswer(t, c.model, "hi")
		calls := u.requests()
		got := calls[len(calls)-1]
		if got.body != c.body {
			t.Errorf("%s got %s\nwant %s", c.model, got.body, c.body)
		}
		if got.header.Get("Accept") != "text/event-stream" {
			t.Errorf("%s: Accept %q", c.model, got.header.Get("Accept"))
		}
		if d := e.header.Get("X-Gateway-Dropped-Params"); d != c.dropped {
			t.Errorf("%s: dropped %q, want %q", c.model, d, c.dropped)
		}
	}
	got := r.gamma.requests()[0]
	if got.header.Get("X-Api-Key") != "key-gamma-1" || got.header.Get("Authorization") != "" || got.header.Get("X-Extra") != "1" {
		t.Errorf("gamma got headers %v", got.header)
	}
}

// TestFailover checks the effects of an upstream's answer on the request, on the next request, and on the health table.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		first  step
		failed string
		// again means that the next request tries alpha again, and that alpha may answer it.
		again bool
	}{
		{"500", refusal(500, "oops", "m"), "alpha:500:oops", true},
		{"500, a web page", reply(500, "<html>", "Content-Type", "text/html"), "alpha:500:internal_server_error", true},
		{"503", refusal(503, "busy", "m"), "alpha:503:busy", true},
		{"408", refusal(408, "", "m"), "alpha:408:t", true},
		{"429", refusal(429, "rate_limit_exceeded", "m"), "alpha:429:rate_limit_exceeded", false},
		{"402", refusal(402, "", "m"), "alpha:402:t", false},
		{"401", refusal(401, "invalid_api_key", "m"), "alpha:401:invalid_api_key", false},
		{"403, region", refusal(403, "", "not in your region"), "alpha:403:t", true},
		{"404", refusal(404, "model_not_found", "m"), "alpha:404:model_not_found", false},
		{"400, policy", refusal(400, "content_filter", "m"), "alpha:400:content_filter", true},
		{"400", refusal(400, "", "m"), "alpha:400:invalid_value", true},
		{"200, an error", reply(200, `{"error":{"message":"m","code":"x"}}`), "alpha:200:x", true},
		{"200, empty choices", reply(200, `{"id":"x","choices":[]}`), "alpha:200:empty_answer", true},
		{"200, hollow choices", reply(200, `{"choices":[{"message":{}}]}`), "alpha:200:empty_answer", true},
		{"200, a web page", reply(200, "<html>", "Content-Type", "text/html; charset=utf-8"), "alpha:200:html_answer", true},
		{"200, a web page that says it is JSON", reply(200, "<html>"), "alpha:200:broken_answer", true},
		{"200, nothing", reply(200, ""), "alpha:200:broken_answer", true},
		{"200, half of it", reply(200, completion("hi")[:50]), "alpha:200:broken_answer", true},
		{"200, less than promised", reply(200, completion("hi"), "Content-Length", "5000"), "alpha:200:connection_error", true},
		{"200, more than is read", reply(200, "", "Content-Length", fmt.Sprint(maxReply+1)), "alpha:200:broken_answer", true},
		{"200, endless", endlessJSON, "alpha:200:broken_answer", true},
		{"200, no gzip", reply(200, completion("hi"), "Content-Encoding", "gzip"), "alpha:200:broken_answer", true},
		{"200, half a gzip", reply(200, "\x1f\x8b", "Content-Encoding", "gzip"), "alpha:200:connection_error", true},
		{"200, a broken gzip", reply(200, gzipWithBadSize(completion("hi")), "Content-Encoding", "gzip"), "alpha:200:broken_answer", true},
		{"200, a gzip of too much", reply(200, gzipText(strings.Repeat(" ", maxReply)+completion("hi")), "Content-Encoding", "gzip"), "alpha:200:broken_answer", true},
		{"200, another encoding", reply(200, completion("hi"), "Content-Encoding", "br"), "alpha:200:unsupported_encoding", true},
		{"400, a gzip", reply(400, gzipText(`{"error":{"message":"m","code":"content_filter"}}`), "Content-Encoding", "gzip"), "alpha:400:content_filter", true},
		{"401, another encoding", reply(401, "xx", "Content-Encoding", "br"), "alpha:401:unauthorized", false},
		{"204", reply(204, ""), "alpha:204:no_content", true},
		{"dropped", drop, "alpha:0:connection_error", true},
		{"dropped in the body", inOrder(stream(`{"choices"`), drop), "alpha:200:connection_error", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}})
			r.alpha.addSteps(c.first)
			r.beta.addSteps(reply(200, completion("from beta")))
			e := r.ask("keychain-low")
			e.wantAnswer(t, "beta/b-low", "from beta")
			if e.failedList() != c.failed || e.Attempts != 2 || e.header.Get("X-Gateway-Attempts") != "2" {
				t.Errorf("failed %s in %d attempts, want %s", e.failedList(), e.Attempts, c.failed)
			}
			if c.again {
				r.alpha.addSteps(reply(200, completion("from alpha")))
				r.ask("keychain-low").wantAnswer(t, "alpha/a-low", "from alpha")
				return
			}
			r.beta.addSteps(reply(200, completion("beta again")))
			e = r.ask("keychain-low")
			e.wantAnswer(t, "beta/b-low", "beta again")
			if e.Attempts != 1 {
				t.Errorf("the next request made %d attempts: %s", e.Attempts, e.failedList())
			}
			r.alpha.wantScriptDone(t)
		})
	}
}

func endlessJSON(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	piece := []byte(strings.Repeat(" ", 1<<20))
	for r.Context().Err() == nil {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

func TestFailedAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	slow := func(w http.ResponseWriter, req *http.Request) {
		r.clock.advance(1234 * time.Millisecond)
		refusal(500, "first_code", "the key sk-abcdefghijklmnop failed "+strings.Repeat("ü", 300))(w, req)
	}
	r.alpha.addSteps(slow)
	r.beta.addSteps(drop)
	r.gamma.addSteps(refusal(502, "", "key-gamma-1 is no good key"))
	e := r.ask("keychain-low")
	e.wantError(t, 502, "all_providers_failed")
	if e.err.Message != "All providers failed" || e.err.NoRetry {
		t.Errorf("%+v", e.err)
	}
	got := e.err.FailedAttempts
	if len(got) != 3 {
		t.Fatalf("failed attempts %+v", got)
	}
	a := got[0]
	if a.Provider != "alpha" || a.Model != "a-low" || a.Status != 500 || a.Code != "first_code" || a.LatencyMS != 1234 ||
		!strings.HasPrefix(a.Message, "the key *** failed ü") || len(a.Message) > 200 {
		t.Errorf("first %+v", a)
	}
	if b := got[1]; b.Provider != "beta" || b.Model != "b-low" || b.Status != 0 || b.Code != "connection_error" || strings.Contains(b.Message, "127.0.0.1") {
		t.Errorf("second %+v", b)
	}
	if g := got[2]; g.Message != "*** is no good key" {
		t.Errorf("the error contains the key: %+v", g)
	}

	r = newRig(t, setup{keys: []string{"alpha"}, options: Options{HideAttempts: true}})
	r.alpha.addSteps(refusal(500, "", "m"))
	e = r.ask("keychain-low")
	if len(e.err.FailedAttempts) != 0 || len(e.Failed) != 1 {
		t.Errorf("hidden: %+v, logged: %+v", e.err.FailedAttempts, e.Failed)
	}
}

// TestSecretsStayInside checks that keys which a provider repeats in an error are masked, even if they do not look like
// keys.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	r.engine.Logger = zap.New(core)
	r.alpha.addSteps(refusal(400, "key-alpha-1", "bad key-alpha-1", "X-Key", "key-alpha-1"))
	r.beta.addSteps(refusal(400, "key-beta-1", "bad key-beta-1"))
	e := r.ask("keychain-low")
	e.wantError(t, 400, "***")
	shown := fmt.Sprintf("%+v %+v", *e.err, e.Result)
	for _, entry := range logs.All() {
		text, err := json.Marshal(entry.ContextMap())
		if err != nil {
			t.Fatal(err)
		}
		shown += entry.Message + string(text)
	}
	if logs.Len() != 2 || strings.Contains(shown, "key-alpha-1") || strings.Contains(shown, "key-beta-1") {
		t.Errorf("the errors and the log contain %s", shown)
	}
}

func TestClientMistakes(t *testing.T) {
	t.Parallel()
	bad := reply(400, `{"error":{"message":"tools[0] is wrong","type":"invalid_request_error","code":"invalid_type","param":"tools[0]"}}`)
	t.Run("two providers agree", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: everybody})
		r.alpha.addSteps(bad)
		r.beta.addSteps(refusal(422, "", "other words"))
		e := r.ask("keychain-high") // alpha has more models, and gamma is left out too
		e.wantError(t, 400, "invalid_type")
		if e.err.Message != "tools[0] is wrong" || e.err.Param != "tools[0]" || e.err.Type != "invalid_request_error" || !e.err.NoRetry || e.Attempts != 2 || len(e.err.FailedAttempts) != 2 {
			t.Errorf("%+v after %d attempts", e.err, e.Attempts)
		}
	})
	t.Run("one provider only", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(bad)
		e := r.ask("keychain-high")
		e.wantError(t, 400, "invalid_type")
		if e.Attempts != 1 {
			t.Errorf("%d attempts, though another model of the provider will not help", e.Attempts)
		}
	})
	t.Run("no code", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(reply(422, `{"detail":"no"}`))
		r.ask("keychain-low").wantError(t, 400, "invalid_value")
	})
	t.Run("the other provider takes it", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: everybody})
		r.alpha.addSteps(bad)
		r.beta.addSteps(reply(200, completion("hi")))
		r.ask("keychain-low").wantAnswer(t, "beta/b-low", "hi")
	})
	t.Run("the other provider fails otherwise", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: everybody})
		r.alpha.addSteps(bad)
		r.beta.addSteps(refusal(500, "", "m"))
		r.gamma.addSteps(bad)
		e := r.ask("keychain-low")
		e.wantError(t, 400, "invalid_type")
	})
	t.Run("it says nothing about health", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		for range 5 {
			r.alpha.addSteps(bad)
			r.ask("keychain-low").wantError(t, 400, "invalid_type")
		}
		if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); state.Status != Untested {
			t.Errorf("alpha is %+v", state)
		}
	})
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	model := func(provider, id string, window int) string {
		return fmt.Sprintf(`{"provider":%q,"id":%q,"tiers":["low"],"context_window":%d}`, provider, id, window)
	}
	models := strings.Join([]string{model("alpha", "mid", 2000), model("alpha", "small", 1000), model("beta", "same", 2000), model("beta", "large", 3000), model("gamma", "unknown", 0)}, ",")
	tooLongAnswer := refusal(400, "context_length_exceeded", "maximum context length")
	r := newRig(t, setup{keys: everybody, models: models})
	r.alpha.addSteps(tooLongAnswer)
	r.beta.addSteps(tooLongAnswer)
	r.gamma.addSteps(reply(200, completion("hi")))
	e := r.ask("keychain-low")
	e.wantAnswer(t, "gamma/unknown", "hi")
	if e.Attempts != 3 || e.Failed[0].Model != "mid" || e.Failed[1].Model != "large" {
		t.Errorf("attempts %+v", e.Failed)
	}
	r.alpha.addSteps(tooLongAnswer)
	r.beta.addSteps(tooLongAnswer)
	r.gamma.addSteps(tooLongAnswer)
	e = r.ask("keychain-low")
	e.wantError(t, 400, "context_length_exceeded")
	if !strings.HasPrefix(e.err.Message, "prompt is too long") || !e.err.NoRetry || len(e.err.FailedAttempts) != 3 {
		t.Errorf("%+v", e.err)
	}
	for _, p := range everybody {
		if state := r.engine.Memory.Health.Provider(p, r.account.UserID); state.Status == CoolingDown {
			t.Errorf("%s is %+v", p, state)
		}
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	refused := refusal(400, "content_policy_violation", "no")
	r := newRig(t, setup{keys: []string{"alpha", "beta"}, options: Options{StopOnPolicy: true}})
	r.alpha.addSteps(refused)
	e := r.ask("keychain-low")
	e.wantError(t, 400, "content_policy_violation")
	if !e.err.NoRetry || e.Attempts != 1 {
		t.Errorf("%+v after %d attempts", e.err, e.Attempts)
	}
	r = newRig(t, setup{keys: []string{"alpha", "beta"}})
	r.alpha.addSteps(refused)
	r.beta.addSteps(refused)
	e = r.ask("keychain-low")
	e.wantError(t, 400, "content_policy_violation")
	if e.Attempts != 2 {
		t.Errorf("%d attempts", e.Attempts)
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "alpha", "alpha", "beta", "beta"}})
	r.alpha.defaultStep = reply(200, completion("hi"))
	const conversations = 60 // enough that each key gets its share
	for n := range conversations {
		r.ask("keychain-low", messagesAbout(n)).wantAnswer(t, "alpha/a-low", "hi")
	}
	keys := r.alpha.keys()
	for n := 1; n <= 3; n++ {
		key := fmt.Sprint("key-alpha-", n)
		if got := countOf(keys, key); got < 4 {
			t.Errorf("%s was used %d times of %d: %v", key, got, conversations, keys)
		}
	}
	// Keys also rotate when each request fails over to another provider with several keys.
	r.alpha.defaultStep = refusal(403, "", "not in your region")
	r.beta.defaultStep = reply(200, completion("hi"))
	for n := range conversations {
		r.ask("keychain-low", messagesAbout(conversations+n)).wantAnswer(t, "beta/b-low", "hi")
	}
	if keys := r.beta.keys(); countOf(keys, "key-beta-1") < 10 || countOf(keys, "key-beta-2") < 10 {
		t.Errorf("keys of the second provider: %v", keys)
	}
	if keys := r.alpha.keys()[conversations:]; countOf(keys, "key-alpha-1") < 4 || countOf(keys, "key-alpha-2") < 4 {
		t.Errorf("keys of the first provider: %v", keys)
	}
}

func countOf(list []string, item string) (n int) {
	for _, s := range list {
		if s == item {
			n++
		}
	}
	return n
}

func TestKeyLevelFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		first  step
		status Status
		reason string
		scope  string // what is blocked: the key, or one model with the key
		ends   time.Duration
	}{
		{"401", refusal(401, "", "m"), InvalidKey, "", "key", longCooldown},
		{"403", refusal(403, "", "invalid key"), InvalidKey, "", "key", longCooldown},
		{"402", refusal(402, "", "m"), NoCredit, "", "key", longCooldown},
		{"429, no quota", refusal(429, "insufficient_quota", "m"), NoCredit, "", "key", longCooldown},
		{"429", refusal(429, "", "m"), CoolingDown, ReasonRateLimited, "model", defaultReset},
		{"429, wait", refusal(429, "", "m", "Retry-After", "20"), CoolingDown, ReasonRateLimited, "model", 20 * time.Second},
		{"429, wait for long", refusal(429, "", "m", "Retry-After", "100000"), CoolingDown, ReasonRateLimited, "model", time.Hour},
		{"402, wait", refusal(402, "", "m", "Retry-After", "20"), CoolingDown, ReasonRateLimited, "model", 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "alpha", "beta"}})
			ok := reply(200, completion("hi"))
			r.alpha.addSteps(c.first, ok)
			e := r.ask("keychain-low")
			e.wantAnswer(t, "alpha/a-low", "hi") // the other key is tried before the next provider
			if e.Attempts != 2 {
				t.Fatalf("%d attempts", e.Attempts)
			}
			keys := r.alpha.keys()
			bad, good := keys[0], keys[1]
			if bad == good {
				t.Fatal("the same key twice")
			}
			// The bad key is not used until its block ends.
			r.alpha.defaultStep = ok
			const conversations = 30 // enough that each key has some
			begun := 0
			keysFor := func(model string) []string {
				before := len(r.alpha.keys())
				for range conversations {
					begun++
					r.ask(model, messagesAbout(begun)).wantAnswer(t, model, "hi")
				}
				return r.alpha.keys()[before:]
			}
			if keys := keysFor("alpha/a-low"); countOf(keys, good) != conversations {
				t.Errorf("keys %v, the good one is %s", keys, good)
			}
			if c.scope == "model" { // other models can be asked with the key
				if keys := keysFor("alpha/a-medium"); countOf(keys, bad) == 0 || countOf(keys, good) == 0 {
					t.Errorf("keys for another model: %v", keys)
				}
			}
			id := r.keyID(bad)
			model := ""
			if c.scope == "model" {
				model = "a-low"
			}
			state := r.engine.Memory.Health.Lookup("alpha", id, model)
			if state.Status != c.status || state.Reason != c.reason || state.Until.Sub(r.clock.now()) != c.ends {
				t.Errorf("state %+v, ends in %s", state, state.Until.Sub(r.clock.now()))
			}
			r.clock.advance(c.ends)
			if keys := keysFor("alpha/a-low"); countOf(keys, bad) == 0 || countOf(keys, good) == 0 {
				t.Errorf("after the block the keys are %v", keys)
			}
		})
	}
}

// keyID returns the id of a key, given its secret.
func (r *rig) keyID(secret string) string {
	routing := r.account.RoutingFor(r.catalog, r.account.Team())
	for _, name := range routing.Entries() {
		c, _ := routing.Entry(name)
		for _, k := range c.Keys {
			if k.Secret == secret {
				return k.ID
			}
		}
	}
	r.t.Fatalf("no key %s", secret)
	return ""
}

func TestOtherFailuresKeepTheKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "alpha", "beta"}})
	r.alpha.addSteps(refusal(500, "", "m"))
	r.beta.addSteps(reply(200, completion("hi")))
	e := r.ask("keychain-low")
	e.wantAnswer(t, "beta/b-low", "hi") // another key of a broken provider does not help
	if e.Attempts != 2 {
		t.Errorf("%d attempts", e.Attempts)
	}
}

func TestUnknownModelGetsCooldown(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	r.alpha.addSteps(refusal(404, "model_not_found", "m"))
	r.beta.defaultStep = reply(200, completion("hi"))
	for range 3 {
		r.ask("keychain-low").wantAnswer(t, "beta/b-low", "hi")
	}
	if n := len(r.alpha.requests()); n != 1 {
		t.Errorf("alpha was asked %d times", n)
	}
	if state := r.engine.Memory.Health.Lookup("alpha", r.keyID("key-alpha-1"), "a-low"); state.Reason != ReasonUnknown {
		t.Errorf("state %+v", state)
	}
	r.clock.advance(longCooldown)
	r.alpha.addSteps(reply(200, completion("back")))
	r.ask("keychain-low").wantAnswer(t, "alpha/a-low", "back")
}

func TestCoolingInAdvance(t *testing.T) {
	t.Parallel()
	for name, streams := range map[string]bool{"reply": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}})
			limits := []string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "2h", "x-ratelimit-remaining-tokens", "9", "x-ratelimit-reset-tokens", "5h"}
			if streams {
				r.alpha.addSteps(func(w http.ResponseWriter, req *http.Request) {
					for i := 0; i < len(limits); i += 2 {
						w.Header().Set(limits[i], limits[i+1])
					}
					answers("hi")(w, req)
				})
			} else {
				r.alpha.addSteps(reply(200, completion("hi"), limits...))
			}
			r.send(t.Context(), "keychain-low", streams, nil).wantAnswer(t, "alpha/a-low", "hi")
			r.beta.addSteps(reply(200, completion("from beta")))
			r.ask("keychain-low").wantAnswer(t, "beta/b-low", "from beta")
			r.clock.advance(2 * time.Hour)
			r.alpha.addSteps(reply(200, completion("again")))
			r.ask("keychain-low").wantAnswer(t, "alpha/a-low", "again")
		})
	}
}

func TestAllCandidatesInCooldown(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "alpha", "beta"}, models: `{"provider":"alpha","id":"a","tiers":["low"]},{"provider":"beta","id":"b","tiers":["low"]}`})
	r.alpha.addSteps(refusal(429, "", "m", "Retry-After", "50"), refusal(429, "", "m", "Retry-After", "30"))
	r.beta.addSteps(refusal(429, "", "m", "Retry-After", "40"))
	e := r.ask("keychain-low")
	e.wantError(t, 502, "all_providers_failed")
	if e.err.RetryAfter != 30*time.Second || e.err.NoRetry || e.Attempts != 3 {
		t.Errorf("%+v after %d attempts", e.err, e.Attempts)
	}
	r.clock.advance(10 * time.Second)
	e = r.ask("keychain-low")
	e.wantError(t, 502, "all_providers_failed")
	if e.err.RetryAfter != 20*time.Second || e.err.NoRetry || e.Attempts != 0 || !strings.HasPrefix(e.err.Message, "All providers failed") {
		t.Errorf("while all cool: %+v after %d attempts", e.err, e.Attempts)
	}
	r.clock.advance(20 * time.Second)
	r.alpha.addSteps(reply(200, completion("hi")))
	e = r.ask("keychain-low")
	e.wantAnswer(t, "alpha/a", "hi")
	if keys := r.alpha.keys(); keys[2] != keys[1] {
		t.Errorf("keys %v: the second was to be free first", keys)
	}
}

// TestRetryAfterIncludesJitter checks that a client which waits for the Retry-After time gets an answer, because that
// time includes the jitter.
func TestRetryAfterIncludesJitter(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a","tiers":["low"]}`})
	r.engine.Memory.Health.jitter = func() float64 { return 0.99 }
	r.alpha.addSteps(refusal(429, "", "m", "Retry-After", "100"))
	e := r.ask("keychain-low")
	r.clock.advance(e.err.RetryAfter)
	r.alpha.addSteps(reply(200, completion("hi")))
	r.ask("keychain-low").wantAnswer(t, "alpha/a", "hi")
}

func TestNoRetryForKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		alpha   step
		beta    step
		noRetry bool
	}{
		{"both keys bad", refusal(401, "", "m"), refusal(402, "", "m"), true},
		{"one key bad, one limited", refusal(401, "", "m"), refusal(429, "", "m"), false},
		{"one key bad, one broken", refusal(401, "", "m"), refusal(500, "", "m"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}, models: `{"provider":"alpha","id":"a","tiers":["low"]},{"provider":"beta","id":"b","tiers":["low"]}`})
			r.alpha.addSteps(c.alpha)
			r.beta.addSteps(c.beta)
			e := r.ask("keychain-low")
			e.wantError(t, 502, "all_providers_failed")
			if e.err.NoRetry != c.noRetry {
				t.Errorf("%+v", e.err)
			}
			if c.name == "one key bad, one broken" {
				r.beta.addSteps(c.beta)
			}
			// The same holds when the keys are blocked already.
			e = r.ask("keychain-low")
			e.wantError(t, 502, "all_providers_failed")
			if e.err.NoRetry != c.noRetry {
				t.Errorf("the second time: %+v", e.err)
			}
		})
	}
}

func TestProviderBackoff(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	broken, ok := refusal(500, "", "m"), reply(200, completion("hi"))
	r.beta.setDefault(ok)
	r.alpha.addSteps(broken, broken)
	for range 2 {
		r.ask("keychain-low").wantAnswer(t, "beta/b-low", "hi")
	}
	// While alpha cools down, it is tried last, not left out.
	for range 3 {
		if e := r.ask("keychain-low"); e.Attempts != 1 {
			t.Errorf("%d attempts while alpha cools", e.Attempts)
		}
	}
	r.beta.setDefault(broken)
	r.alpha.addSteps(ok)
	e := r.ask("keychain-low")
	e.wantAnswer(t, "alpha/a-low", "hi")
	if e.failedList() != "beta:500:t" && e.failedList() != "beta:500:internal_server_error" {
		t.Errorf("failed: %s", e.failedList())
	}
	r.clock.advance(firstBackoff)
	r.alpha.addSteps(ok)
	if e := r.ask("keychain-low"); e.Attempts != 1 {
		t.Errorf("%d attempts afterwards", e.Attempts)
	}
}

func TestOverloadWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	r.alpha.addSteps(refusal(503, "", "m", "Retry-After", "3"))
	r.beta.defaultStep = reply(200, completion("hi"))
	r.ask("keychain-low").wantAnswer(t, "beta/b-low", "hi")
	if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); state.Reason != ReasonOverloaded || state.Until.Sub(r.clock.now()) != 3*time.Second {
		t.Errorf("state %+v", state)
	}
	r.ask("keychain-low").wantAnswer(t, "beta/b-low", "hi")
	r.clock.advance(3 * time.Second)
	r.alpha.addSteps(reply(200, completion("back")))
	r.ask("keychain-low").wantAnswer(t, "alpha/a-low", "back")
}

// TestCustomServersFailIndependently checks that failures of one user's own server do not affect other users' servers.
func TestCustomServersFailIndependently(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{})
	first, second := newUpstream(t, "one"), newUpstream(t, "two")
	r.account = newAccount(t, r.catalog, setup{custom: []keychain.CustomModel{
		{Entry: "local/one", BaseURL: first.server.URL + "/v1/", Model: "m1\u00fc", Tier: catalog.Low},
		{Entry: "local/two", BaseURL: second.server.URL, Model: "m2", Tier: catalog.Low},
	}})
	first.addSteps(refusal(500, "", "m"), refusal(500, "", "m"))
	second.defaultStep = reply(200, completion("hi"))
	for range 2 {
		r.ask("keychain-low").wantAnswer(t, "local/two", "hi")
	}
	if e := r.ask("keychain-low"); e.Attempts != 1 {
		t.Errorf("%d attempts", e.Attempts)
	}
	if got := second.requests()[0]; got.path != "/chat/completions" || got.header.Get("Authorization") != "" {
		t.Errorf("second got %+v", got)
	}
	r.clock.advance(time.Minute)
	first.addSteps(reply(200, completion("one")))
	e := r.ask("local/one")
	e.wantAnswer(t, "local/one", "one")
	if h := e.header; h.Get("X-Gateway-Model") != "m1?" || h.Get("X-Gateway-Provider") != "custom" || h.Get("X-Gateway-Tier") != "low" {
		t.Errorf("headers %v", h)
	}
}

func TestEntryWithoutFallback(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	r.beta.addSteps(refusal(500, "", "m"))
	e := r.ask("beta/b-high")
	e.wantError(t, 502, "all_providers_failed")
	if e.Tier != 0 || e.Attempts != 1 {
		t.Errorf("%+v", e.Result)
	}
	r = newRig(t, setup{keys: everybody, options: Options{EntryFallback: true}})
	r.beta.addSteps(refusal(500, "", "m"))
	r.alpha.addSteps(reply(200, completion("hi")))
	r.ask("beta/b-high").wantAnswer(t, "alpha/a-high", "hi")
}

func TestParametersAreLearned(t *testing.T) {
	t.Parallel()
	unsupported := func(param string) step {
		return reply(400, `{"error":{"message":"Unsupported parameter: '`+param+`' is not supported with this model.","code":"unsupported_parameter","param":"`+param+`"}}`)
	}
	forbidden := func(param string) step {
		return reply(422, `{"message":{"detail":[{"type":"extra_forbidden","loc":["body","`+param+`"],"msg":"Extra inputs are not permitted"}]}}`)
	}
	ok := reply(200, completion("hi"))
	for _, c := range []struct {
		name, model, more string
		streams           bool
		first             step
		sent, retried     string // part of the first body, and of the second
		without           string // part that the second body must not have
	}{
		{"new limit refused", "alpha/a-low", `"max_tokens":5`, false, unsupported("max_completion_tokens"), `"max_completion_tokens":5`, `"max_tokens":5`, "max_completion_tokens"},
		{"old limit refused", "beta/b-low", `"max_tokens":5`, false, unsupported("max_tokens"), `"max_tokens":5`, `"max_completion_tokens":5`, "max_tokens"},
		{"stream options refused", "alpha/a-low", `"n":1`, true, forbidden("stream_options"), `"stream_options"`, `"n":1`, "stream_options"},
		{"temperature refused", "alpha/a-low", `"temperature":0.5,"n":1`, false, unsupported("temperature"), `"temperature":0.5`, `"n":1`, "temperature"},
		{"effort refused", "alpha/a-low", `"reasoning_effort":"low","n":1`, false, unsupported("reasoning_effort"), `"reasoning_effort"`, `"n":1`, "reasoning_effort"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := setup{keys: []string{"alpha", "beta"}}
			if strings.Contains(c.more, "effort") { // sent only to models that know it
				set.models = `{"provider":"alpha","id":"a-low","tiers":["low"],"reasoning":true,"reasoning_efforts":["low"],` + allAbilities + `},` +
					`{"provider":"alpha","id":"a-medium","tiers":["medium"],"reasoning":true,"reasoning_efforts":["low"],` + allAbilities + `}`
			}
			r := newRig(t, set)
			u := map[byte]*upstream{'a': r.alpha, 'b': r.beta}[c.model[0]]
			good := ok
			if c.streams {
				good = answers("hi")
			}
			u.addSteps(c.first, good, good)
			e := r.send(t.Context(), c.model, c.streams, []string{c.more})
			e.wantAnswer(t, c.model, "hi")
			calls := u.requests()
			if e.Attempts != 2 || len(calls) != 2 || calls[0].key != calls[1].key {
				t.Fatalf("%d attempts", e.Attempts)
			}
			if !strings.Contains(calls[0].body, c.sent) || !strings.Contains(calls[1].body, c.retried) || strings.Contains(calls[1].body, `"`+c.without+`"`) {
				t.Errorf("sent %s\nthen %s", calls[0].body, calls[1].body)
			}
			// The next request leaves the parameter out at once. Requests to other models still have it.
			e = r.send(t.Context(), c.model, c.streams, []string{c.more})
			e.wantAnswer(t, c.model, "hi")
			if body := u.requests()[2].body; e.Attempts != 1 || strings.Contains(body, `"`+c.without+`"`) {
				t.Errorf("the next request: %d attempts, %s", e.Attempts, body)
			}
			u.addSteps(good)
			other := strings.Replace(c.model, "low", "medium", 1)
			r.send(t.Context(), other, c.streams, []string{c.more}).wantAnswer(t, other, "hi")
			if body := u.requests()[3].body; !strings.Contains(body, c.sent) {
				t.Errorf("another model got %s", body)
			}
			r.clock.advance(learnedFor)
			u.addSteps(good)
			r.send(t.Context(), c.model, c.streams, []string{c.more}).wantAnswer(t, c.model, "hi")
			if body := u.requests()[4].body; !strings.Contains(body, c.sent) {
				t.Errorf("a day later it got %s", body)
			}
		})
	}
}

// TestBadValuesAreNotLearned checks that a parameter which is refused for one client's bad value is still sent for
// others.
func TestBadValuesAreNotLearned(t *testing.T) {
	t.Parallel()
	ok := reply(200, completion("hi"))
	t.Run("limit too large", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		tooLarge := func(param string) step {
			return reply(400, `{"error":{"message":"`+param+` is too large: 99999. This model supports at most 16384 completion tokens.","code":"invalid_value","param":"`+param+`"}}`)
		}
		r.alpha.addSteps(tooLarge("max_completion_tokens"), tooLarge("max_tokens"))
		e := r.ask("alpha/a-low", `"max_tokens":99999`)
		e.wantError(t, 400, "invalid_value")
		if e.err.Param == "" || !strings.Contains(e.err.Message, "too large") {
			t.Errorf("%+v", e.err)
		}
		r.alpha.addSteps(ok)
		r.ask("alpha/a-low", `"max_tokens":5`).wantAnswer(t, "alpha/a-low", "hi")
		if body := r.alpha.requests()[2].body; !strings.Contains(body, `"max_completion_tokens":5`) {
			t.Errorf("the next request was sent as %s", body)
		}
	})
	t.Run("temperature out of range", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(reply(400, `{"error":{"message":"Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 5 ","code":"decimal_above_max_value","param":"temperature"}}`), ok, ok)
		r.ask("alpha/a-low", `"temperature":5`).wantAnswer(t, "alpha/a-low", "hi")
		r.ask("alpha/a-low", `"temperature":1`).wantAnswer(t, "alpha/a-low", "hi")
		if body := r.alpha.requests()[2].body; !strings.Contains(body, `"temperature":1`) {
			t.Errorf("the next request was sent as %s", body)
		}
	})
	t.Run("a retry that fails", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha", "beta"}})
		r.alpha.addSteps(reply(400, `{"error":{"message":"unsupported","param":"temperature"}}`), refusal(500, "", "m"))
		r.beta.addSteps(ok)
		r.ask("keychain-low", `"temperature":1`).wantAnswer(t, "beta/b-low", "hi")
		r.alpha.addSteps(ok)
		r.ask("alpha/a-low", `"temperature":1`).wantAnswer(t, "alpha/a-low", "hi")
		if body := r.alpha.requests()[2].body; !strings.Contains(body, `"temperature":1`) {
			t.Errorf("the next request was sent as %s", body)
		}
	})
}

// TestFixedRequestRefusedAgain checks that a request which is refused again after one parameter was removed is answered
// with the client's error, without a retry.
func TestFixedRequestRefusedAgain(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]step{
		"another mistake":   reply(400, `{"error":{"message":"no","code":"bad"}}`),
		"another parameter": reply(400, `{"error":{"message":"unsupported","code":"bad","param":"top_p"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha"}})
			r.alpha.addSteps(reply(400, `{"error":{"message":"unsupported","param":"temperature"}}`), second)
			e := r.ask("alpha/a-low", `"temperature":1,"top_p":1`)
			e.wantError(t, 400, "bad")
			if !e.err.NoRetry || e.Attempts != 2 {
				t.Errorf("%+v after %d attempts", e.err, e.Attempts)
			}
		})
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	models := make([]string, 0, 60)
	for i := range 60 {
		models = append(models, fmt.Sprintf(`{"provider":"alpha","id":"m%d","tiers":["low"]}`, i))
	}
	keys := slices.Repeat([]string{"alpha"}, 3)
	for name, always := range map[string]step{
		"broken": refusal(500, "", "m"), "limited": refusal(429, "", "m"), "wrong": reply(400, `{"error":{"message":"unsupported","param":"temperature"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: keys, models: strings.Join(models, ",")})
			r.alpha.defaultStep = always
			e := r.ask("keychain-low", `"temperature":1`)
			if e.err == nil || e.Attempts > maxAttempts || len(r.alpha.requests()) != e.Attempts {
				t.Errorf("%d attempts, %d requests, %v", e.Attempts, len(r.alpha.requests()), e.rawErr)
			}
		})
	}
}

// TestAttemptsAreBoundedInARetry checks that the last allowed attempt is not repeated.
func TestAttemptsAreBoundedInARetry(t *testing.T) {
	t.Parallel()
	models := make([]string, 0, maxAttempts+1)
	for i := range maxAttempts + 1 {
		models = append(models, fmt.Sprintf(`{"provider":"alpha","id":"m%d","tiers":["low"]}`, i))
	}
	for name, last := range map[string]step{
		"a refused parameter": reply(400, `{"error":{"message":"unsupported","param":"temperature"}}`), "a dead connection": drop,
	} {
		r := newRig(t, setup{keys: []string{"alpha"}, models: strings.Join(models, ",")})
		for range maxAttempts - 1 {
			r.alpha.addSteps(refusal(404, "", "m"))
		}
		r.alpha.addSteps(last)
		if e := r.ask("keychain-low", `"temperature":1`); e.err == nil || e.Attempts != maxAttempts || len(r.alpha.requests()) != maxAttempts {
			t.Errorf("%s: %d attempts, %d requests, %v", name, e.Attempts, len(r.alpha.requests()), e.rawErr)
		}
		r.alpha.wantScriptDone(t)
	}
}

func TestEstimatedUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	answerText := strings.Repeat("word ", 72) // 360 bytes, 100 tokens
	r.alpha.addSteps(reply(200, `{"choices":[{"message":{"content":"`+answerText+`"},"finish_reason":"stop"}]}`))
	e := r.ask("keychain-low")
	e.wantAnswer(t, "alpha/a-low", "word")
	if !e.Estimated || e.Usage.Completion != 100 || e.Usage.Prompt != 2 {
		t.Errorf("%+v, estimated %v", e.Usage, e.Estimated)
	}
	r.alpha.addSteps(stream(text(answerText[:180]), text(answerText[180:]), finish, doneLine))
	e = r.askStream("keychain-low", `"stream_options":{"include_usage":true}`)
	if !e.Estimated || e.Usage.Completion != 100 || e.Usage.Prompt != 2 {
		t.Errorf("stream: %+v, estimated %v", e.Usage, e.Estimated)
	}
	for bytes, want := range map[int64]int64{0: 0, 1: 1, 3: 1, 4: 2, 36: 10, 360: 100} {
		if got := wire.EstimateTokens(bytes); got != want {
			t.Errorf("%d bytes are %d tokens, want %d", bytes, got, want)
		}
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	r.alpha.addSteps(refusal(429, "", "m"))
	r.beta.addSteps(stream(role))
	r.gamma.addSteps(stream(role, text("x"), `data: {"error":{"message":"broke"}}`+"\n\n"))
	r.askStream("keychain-low")
	var got string
	for _, a := range r.observed {
		got += fmt.Sprintf("%s/%s %s %s %q %s, ", a.Provider, a.Model, a.Tier, a.Outcome, a.Cooldown, a.FirstToken)
	}
	want := `alpha/a-low low rate_limited "rate_limited" 0s, beta/b-low low transient "" 0s, gamma/g-low low transient "" 0s, `
	if got != want {
		t.Errorf("observed %s, want %s", got, want)
	}
	r.alpha.addSteps(func(w http.ResponseWriter, req *http.Request) {
		r.clock.advance(3 * time.Second)
		reply(200, completion("hi"))(w, req)
	})
	e := r.ask("alpha/a-medium")
	if a := r.observed[len(r.observed)-1]; a.Outcome != "ok" || a.FirstToken != 3*time.Second || e.FirstToken != 3*time.Second {
		t.Errorf("observed %+v, result %s", a, e.FirstToken)
	}
}
