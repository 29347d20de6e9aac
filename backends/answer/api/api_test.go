package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// asker answers as the question says: "reason <word>" with that reason, "hang" when its
// context ends, "wait" once it may go on, "panic" not at all.
type asker struct {
	asked, forced atomic.Int32
	goOn          chan struct{} // nil: never
	claims        []api.Claim
	mu            sync.Mutex
	previous      []string // questions that questions followed
}

func (a *asker) Ask(ctx context.Context, q pipeline.Request, progress func(stage string)) api.Outcome {
	progress("retrieve")
	progress("draft")
	a.asked.Add(1)
	a.mu.Lock()
	a.previous = append(a.previous, q.Previous)
	a.mu.Unlock()
	if q.Force {
		a.forced.Add(1)
	}
	word, rest, _ := strings.Cut(q.Text, " ")
	switch word {
	case "reason":
		return api.Outcome{Reason: rest}
	case "panic":
		panic("a fault")
	case "hang", "wait":
		select {
		case <-a.goOn:
			return api.Outcome{Answer: "Revenue was $5 million."}
		case <-ctx.Done():
		}
		if context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // as it is
			return api.Outcome{Reason: pipeline.Timeout}
		}
		return api.Outcome{Reason: pipeline.Canceled}
	}
	return api.Outcome{Asked: q.Text + q.Previous, Claims: a.claims, Answer: "Revenue was $5 million [1](https://x.test/a).", References: []pipeline.Reference{{Title: "A", URL: "https://x.test/a"}}, Trace: map[string]int{"stages": 3}}
}

type rig struct {
	*api.API
	*asker
	t        *testing.T
	accounts *accounts.Accounts
	key      string
	k        answertest.Kernel
}

func newRig(t *testing.T, k answertest.Kernel, change func(o *api.Options)) *rig {
	t.Helper()
	r := &rig{asker: new(asker), t: t, k: k, accounts: accounts.New(k.Server, accounts.Options{Rate: 100})}
	o := api.Options{Kernel: k.Server, Accounts: r.accounts, Asker: r.asker, Counters: counters.NewMemory(k.Now), Source: func(_ context.Context, id string) (api.Source, bool, error) {
		return api.Source{Title: "Notes", Text: "text"}, id == "notes/7", nil
	}}
	if change != nil {
		change(&o)
	}
	r.API = api.New(o)
	t.Cleanup(r.Close)
	var err error
	if r.key, _, err = o.Accounts.Create(t.Context(), accounts.NewKey{Label: "desk"}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) do(method, path, body string, header ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.doIn(r.t.Context(), method, path, body, header...)
}

func (r *rig) doIn(ctx context.Context, method, path, body string, header ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	request.Header.Set("X-Api-Key", r.key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, request)
	checkDocumented(r.t, request, w)
	return w
}

func asks(query string) string { return fmt.Sprintf(`{"query":%q}`, query) }

// TestEnvelope checks the table of section 1.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	slow := newRig(t, answertest.SQLite(t), func(o *api.Options) { o.Deadline = 200 * time.Millisecond }) // whoever is over in time is over in less
	quotaKey, _, err := r.accounts.Create(t.Context(), accounts.NewKey{Label: "dash", Services: []string{accounts.ServiceQuota}})
	if err != nil {
		t.Fatal(err)
	}
	deep := func(lists int) string {
		return `{"query":"q","x":` + strings.Repeat("[", lists) + strings.Repeat("]", lists) + `}`
	}
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		reason             string
		result             bool
	}{
		"answered":        {body: asks("  What was revenue?  "), status: 200, result: true},
		"not investment":  {body: asks("reason NonInvestmentRelated"), status: 200, reason: "NonInvestmentRelated", result: true},
		"screener":        {body: asks("reason ShouldUseScreener"), status: 200, reason: "ShouldUseScreener", result: true},
		"filtered":        {body: asks("reason ContentFiltered"), status: 200, reason: "ContentFiltered", result: true},
		"failed":          {body: asks("reason FailedToAnswer"), status: 200, reason: "FailedToAnswer", result: true},
		"no JSON":         {body: `{"query":`, status: 400, reason: "InvalidRequest"},
		"empty":           {body: ``, status: 400, reason: "InvalidRequest"},
		"list":            {body: `["q"]`, status: 400, reason: "InvalidRequest"},
		"no query":        {body: `{}`, status: 400, reason: "InvalidRequest"},
		"twice":           {body: `{"query":"a","query":"b"}`, status: 400, reason: "InvalidRequest"},
		"wrong type":      {body: `{"query":7}`, status: 400, reason: "InvalidRequest"},
		"force type":      {body: `{"query":"q","forceAnswer":"yes"}`, status: 400, reason: "InvalidRequest"},
		"blank":           {body: asks("   "), status: 400, reason: "InvalidRequest"},
		"too long":        {body: asks(strings.Repeat("ä", 2001)), status: 400, reason: "InvalidRequest"},
		"longest":         {body: asks(strings.Repeat("ä", 2000)), status: 200, result: true},
		"deep":            {body: deep(8), status: 400, reason: "InvalidRequest"},
		"deepest":         {body: deep(7), status: 200, result: true},
		"not UTF-8":       {body: "{\"query\":\"\xff\"}", status: 400, reason: "InvalidRequest"},
		"bad key of once": {body: asks("q"), header: []string{"Idempotency-Key", strings.Repeat("k", 65)}, status: 400, reason: "InvalidRequest"},
		"no key":          {body: asks("q"), header: []string{"X-Api-Key", ""}, status: 401, reason: "Unauthorized"},
		"wrong key":       {body: asks("q"), header: []string{"X-Api-Key", r.key + "x"}, status: 401, reason: "Unauthorized"},
		"other service":   {body: asks("q"), header: []string{"X-Api-Key", quotaKey}, status: 403, reason: "Forbidden"},
		"unknown path":    {path: "/v1/answers", body: asks("q"), status: 404, reason: "NotFound"},
		"other method":    {method: "GET", status: 405, reason: "MethodNotAllowed"},
		"too large":       {body: asks(strings.Repeat("a", 17<<10)), status: 413, reason: "PayloadTooLarge"},
		"not JSON's type": {body: asks("q"), header: []string{"Content-Type", "text/plain"}, status: 415, reason: "UnsupportedMediaType"},
		"slow":            {body: asks("hang"), status: 504, reason: "Timeout"},
		"no model":        {body: asks("reason ServiceUnavailable"), status: 503, reason: "ServiceUnavailable"},
		"fault":           {body: asks("panic"), status: 500, reason: "InternalError"},
		"no answer":       {method: "GET", path: "/v1/answers/ans_x", status: 404, reason: "NotFound"},
		"no source":       {method: "GET", path: "/v1/sources/8", status: 404, reason: "NotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			method, path := c.method, c.path
			if method == "" {
				method = http.MethodPost
			}
			if path == "" {
				path = "/v1/answer"
			}
			service := r
			if c.reason == "Timeout" {
				service = slow
			}
			w := service.do(method, path, c.body, c.header...)
			body := gjson.Parse(w.Body.String())
			if w.Code != c.status || body.Get("success").Bool() != (c.reason == "") || body.Get("error").String() != c.reason || body.Get("result").IsObject() != c.result {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if !body.Get("error").Exists() || !body.Get("result").Exists() || len(body.Map()) != 3 {
				t.Errorf("not the envelope: %s", w.Body)
			}
			if c.result {
				if !regexp.MustCompile(`^ans_[0-7][0-9A-HJKMNP-TV-Z]{25}$`).MatchString(body.Get("result.id").Str) || !body.Get("result.references").IsArray() ||
					!body.Get("result.subqueries").IsArray() || body.Get("result.query").Str == "" || (body.Get("result.answer").Str != "") != (c.reason == "") {
					t.Errorf("not a result: %s", w.Body)
				}
			}
			if (w.Header().Get("X-RateLimit-Limit") == "") != (c.status == 401 || c.status == 404 && path == "/v1/answers" || c.status == 405) {
				t.Errorf("headers %v", w.Header())
			}
			if c.status == 405 && w.Header().Get("Allow") != "POST" || c.status == 503 && w.Header().Get("Retry-After") == "" {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
	quota := gjson.Parse(r.do("GET", "/v1/quota", "").Body.String()).Get("result")
	if quota.Get("used").Int() != 3 || quota.Get("pending").Int() != 0 || quota.Get("totalLimit").Int() != 1000 || quota.Get("isExceeded").Bool() ||
		quota.Get("start").Str != "2026-03-01T00:00:00Z" || quota.Get("end").Str != "2026-04-01T00:00:00Z" {
		t.Errorf("failures are charged: %s", quota)
	}
}

func TestFieldsAndForce(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	w := r.do("POST", "/v1/answer", `{"query":"q","forceAnswer":true,"model":"x","Query":"y","a,b":1}`)
	if w.Code != 200 || w.Header().Get("X-Ignored-Fields") != "model, Query" || r.forced.Load() != 1 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = r.do("GET", "/v1/sources/notes/7", "")
	if w.Code != 200 || w.Body.String() != "# Notes\n\ntext" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/markdown") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestIdempotencyKey checks that a question that is sent again is answered without work or charge, and that it waits
// while the first one is under way.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		r := newRig(t, k, nil)
		var ids sync.Map
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				w := r.doIn(context.Background(), "POST", "/v1/answer", asks("What was revenue?"), "Idempotency-Key", "k1")
				if w.Code != 200 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				ids.Store(gjson.Get(w.Body.String(), "result.id").Str, w.Body.String())
			})
		}
		all.Wait()
		count := 0
		ids.Range(func(any, any) bool { count++; return true })
		if count != 1 || r.asked.Load() != 1 {
			t.Errorf("%d answers of %d questions", count, r.asked.Load())
		}
		if w := r.do("POST", "/v1/answer", asks("Another?"), "Idempotency-Key", "k1"); w.Code != 400 {
			t.Errorf("another body: %d %s", w.Code, w.Body)
		}
		if used := gjson.Get(r.do("GET", "/v1/quota", "").Body.String(), "result.used").Int(); used != 1 {
			t.Errorf("%d are charged", used)
		}
		// With respond-async, a repeated request gets the outcome if it is known already.
		if w := r.do("POST", "/v1/answer", asks("What was revenue?"), "Idempotency-Key", "k1", "Prefer", "respond-async"); w.Code != 200 || !gjson.Get(w.Body.String(), "success").Bool() {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		// A fault is not kept.
		for range 2 {
			if w := r.do("POST", "/v1/answer", asks("panic"), "Idempotency-Key", "k2"); w.Code != 500 {
				t.Errorf("%d", w.Code)
			}
		}
		if r.asked.Load() != 3 {
			t.Errorf("asked %d times", r.asked.Load())
		}
	})
}

// TestDisconnect checks that a client that leaves is not charged, unless an Idempotency-Key says that it will
// fetch the answer.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		r.doIn(ctx, "POST", "/v1/answer", asks("hang"))
		close(ended)
	}()
	for r.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	leave()
	<-ended
	quota := func() gjson.Result { return gjson.Parse(r.do("GET", "/v1/quota", "").Body.String()).Get("result") }
	for quota().Get("pending").Int() != 0 {
		time.Sleep(time.Millisecond)
	}
	if q := quota(); q.Get("used").Int() != 0 {
		t.Errorf("charged: %s", q)
	}
}

// TestDisconnectWithIdempotencyKey checks that a client that has left after sending an Idempotency-Key finds the answer,
// and is charged once.
func TestDisconnectWithIdempotencyKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	r.goOn = make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		r.doIn(ctx, "POST", "/v1/answer", asks("wait"), "Idempotency-Key", "k")
		close(ended)
	}()
	for r.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	leave()
	<-ended
	close(r.goOn)
	if w := r.do("POST", "/v1/answer", asks("wait"), "Idempotency-Key", "k"); w.Code != 200 || !gjson.Get(w.Body.String(), "success").Bool() {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if q := gjson.Get(r.do("GET", "/v1/quota", "").Body.String(), "result"); r.asked.Load() != 1 || q.Get("used").Int() != 1 || q.Get("pending").Int() != 0 {
		t.Errorf("asked %d times, %s", r.asked.Load(), q)
	}
}

// TestClose checks that closing the service ends the questions that are under way, which are not charged.
func TestClose(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	w := make(chan *httptest.ResponseRecorder, 1)
	go func() { w <- r.doIn(t.Context(), "POST", "/v1/answer", asks("hang")) }()
	for r.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	r.Close()
	if w := <-w; w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if q := gjson.Get(r.do("GET", "/v1/quota", "").Body.String(), "result"); q.Get("used").Int() != 0 || q.Get("pending").Int() != 0 {
		t.Error(q)
	}
}

// TestLocation checks that the location of a later answer begins with the base URL.
func TestLocation(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), func(o *api.Options) { o.BaseURL = "https://a.example/answers" })
	w := r.do("POST", "/v1/answer", asks("What was revenue?"), "Prefer", "respond-async")
	if want := "https://a.example/answers/v1/answers/" + gjson.Get(w.Body.String(), "result.id").Str; w.Header().Get("Location") != want {
		t.Errorf("%d %v, want %s", w.Code, w.Header(), want)
	}
}

func TestAsync(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	w := r.do("POST", "/v1/answer", asks("What was revenue?"), "Prefer", "wait=1, respond-async")
	location := w.Header().Get("Location")
	if w.Code != 202 || gjson.Get(w.Body.String(), "result.status").Str != "pending" || !strings.HasSuffix(location, gjson.Get(w.Body.String(), "result.id").Str) {
		t.Fatalf("%d %s %s", w.Code, location, w.Body)
	}
	var got gjson.Result
	for got.Get("result.status").Str != "done" {
		got = gjson.Parse(r.do("GET", location, "").Body.String())
		time.Sleep(time.Millisecond)
	}
	if !got.Get("success").Bool() || got.Get("result.answer").Str == "" || got.Get("result.query").Str != "What was revenue?" {
		t.Error(got)
	}
	// The outcome of a question without an answer can be read too.
	failed := r.do("POST", "/v1/answer", asks("reason Timeout"), "Prefer", "respond-async").Header().Get("Location")
	for got = (gjson.Result{}); got.Get("result.status").Str != "failed"; time.Sleep(time.Millisecond) {
		w := r.do("GET", failed, "")
		if got = gjson.Parse(w.Body.String()); w.Code != 200 || got.Get("success").Bool() != (got.Get("result.status").Str == "pending") {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if got.Get("error").Str != "Timeout" || !strings.HasSuffix(failed, got.Get("result.id").Str) {
		t.Error(got)
	}
	var err error
	if r.key, _, err = r.accounts.Create(t.Context(), accounts.NewKey{Label: "other"}); err != nil {
		t.Fatal(err)
	}
	if w := r.do("GET", location, ""); w.Code != 404 {
		t.Errorf("another's answer: %d %s", w.Code, w.Body)
	}
}

// TestFullQueue checks that a full queue refuses at once, without taking anything from the rate or the quota.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), func(o *api.Options) { o.Running, o.Queued = 1, 1 })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { r.doIn(ctx, "POST", "/v1/answer", asks("hang")) })
	}
	for r.Waiting() < 2 {
		time.Sleep(time.Millisecond)
	}
	if w := r.do("POST", "/v1/answer", asks("q")); w.Code != 503 || w.Header().Get("Retry-After") == "" || w.Header().Get("X-RateLimit-Remaining") == "97" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	end()
	all.Wait()
}

// TestRepeatedRequestsAreBounded checks that repeated requests take nothing from the rate limit, and that no more of
// them can wait than questions can.
func TestRepeatedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), func(o *api.Options) { o.Running, o.Queued = 1, 1 })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	repeat := func(ctx context.Context) int {
		return r.doIn(ctx, "POST", "/v1/answer", asks("hang"), "Idempotency-Key", "k").Code
	}
	if w := r.do("POST", "/v1/answer", asks("hang"), "Idempotency-Key", "k", "Prefer", "respond-async"); w.Code != 202 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var all sync.WaitGroup
	var refused atomic.Int32
	for range 3 {
		all.Go(func() {
			if repeat(ctx) == 503 {
				refused.Add(1)
				end() // the others wait
			}
		})
	}
	all.Wait()
	if refused.Load() != 1 {
		t.Errorf("%d are refused", refused.Load())
	}
}

// TestWaitersLeave checks that a waiting request gives up its place when it has its answer.
func TestWaitersLeave(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), func(o *api.Options) { o.Running, o.Queued = 1, 1 })
	for i := range 5 {
		if w := r.do("POST", "/v1/answer", asks("What was revenue?"), "Idempotency-Key", "k"); w.Code != 200 {
			t.Errorf("%d: %d %s", i, w.Code, w.Body)
		}
	}
}

func TestRateOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), func(o *api.Options) { o.Accounts = accounts.New(o.Kernel, accounts.Options{}) })
	var accepted, limited atomic.Int32
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			switch w := r.do("POST", "/v1/answer", asks("What was revenue?")); {
			case w.Code == 200:
				accepted.Add(1)
			case w.Code == 429 && gjson.Get(w.Body.String(), "error").Str == "RateLimited" && w.Header().Get("Retry-After") == "60":
				limited.Add(1)
			default:
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	if accepted.Load() != 5 || limited.Load() != 45 {
		t.Errorf("%d accepted, %d limited", accepted.Load(), limited.Load())
	}
	r.k.Clock.Move(time.Minute)
	if w := r.do("POST", "/v1/answer", asks("q")); w.Code != 200 || w.Header().Get("RateLimit") != `"answer";r=4;t=60` || w.Header().Get("RateLimit-Policy") != `"answer";q=5;w=60` {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func FuzzBody(f *testing.F) {
	f.Add(`{"query":"What was revenue?","forceAnswer":true}`)
	f.Add(`{"query":"\ud800","x":[[[[[[[]]]]]]]}`)
	k := answertest.SQLite(f)
	accts := accounts.New(k.Server, accounts.Options{Rate: 1 << 30, Limit: accounts.Unlimited})
	key, _, err := accts.Create(f.Context(), accounts.NewKey{Label: "desk"})
	if err != nil {
		f.Fatal(err)
	}
	a := api.New(api.Options{Kernel: k.Server, Accounts: accts, Asker: new(asker), Counters: counters.NewMemory(k.Now), Deadline: time.Millisecond})
	f.Cleanup(a.Close)
	f.Fuzz(func(t *testing.T, body string) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/answer", strings.NewReader(body))
		request.Header.Set("X-Api-Key", key)
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, request)
		var e struct {
			Success *bool
			Result  *struct{ Query string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Success == nil || *e.Success != (w.Code == 200 && e.Result != nil && !strings.Contains(w.Body.String(), `"error":"`)) {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
