package budget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// app stands in for the app tollgate.
type app struct{ store counters.Store }

func (a app) Counters() counters.Store { return a.store }

// start is a time 12.345 s into a minute.
var start = time.Date(2026, 3, 1, 10, 20, 12, 345_000_000, time.UTC)

// clock is a clock that only the test moves.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time          { return start.Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

func check(t testing.TB, h *Handler) error {
	t.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel)
	if h.app == nil {
		h.app = app{}
	}
	if err := h.Provision(ctx); err != nil {
		return err
	}
	return h.Validate()
}

func provision(t testing.TB, h *Handler, store counters.Store) *Handler {
	t.Helper()
	h.app = app{store}
	if err := check(t, h); err != nil {
		t.Fatal(err)
	}
	h.headers.now = func() time.Time { return start }
	h.logger = zap.NewNop()
	return h
}

// newRequest returns a request as Caddy's server would pass it on. vars are pairs of names and values.
func newRequest(method, path, ip string, vars ...string) *http.Request {
	r := httptest.NewRequest(method, path, http.NoBody)
	repl := caddy.NewReplacer()
	ctx := context.WithValue(r.Context(), caddy.ReplacerCtxKey, repl)
	table := map[string]any{caddyhttp.ClientIPVarKey: ip}
	for pair := range slices.Chunk(vars, 2) {
		table[pair[0]] = pair[1]
		repl.Set("http.vars."+pair[0], pair[1])
	}
	ctx = context.WithValue(ctx, caddyhttp.VarsCtxKey, table)
	return r.WithContext(ctx)
}

func replacer(r *http.Request) *caddy.Replacer {
	return r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
}

var ok = caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
})

// serve runs a request and returns the status, the headers of the response and the error. If there is an error, the
// status is that of the error.
func serve(h caddyhttp.MiddlewareHandler, r *http.Request, next caddyhttp.Handler) (int, http.Header, error) {
	rec := httptest.NewRecorder()
	err := h.ServeHTTP(rec, r, next)
	status := rec.Code
	if he, ok := errors.AsType[caddyhttp.HandlerError](err); ok {
		status = he.StatusCode
	}
	return status, rec.Header(), err
}

// dump lists headers, one per line, sorted.
func dump(h http.Header) string {
	lines := make([]string, 0, len(h))
	for name, values := range h {
		if http.CanonicalHeaderKey(name) != name {
			lines = append(lines, "not canonical: "+name)
		}
		for _, v := range values {
			lines = append(lines, name+": "+v)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestHeaders checks the headers of a fourth request after three requests that have used 9 of 10 units. A request with
// a cost of 3 fits once at most 7 of the 9 units count, which is when 46.666666 s of the next bucket are left: in
// 47.655 s plus 13.333334 s.
func TestHeaders(t *testing.T) {
	t.Parallel()
	const state = `
Ratelimit-Policy: "default";q=10;w=60
Ratelimit: "default";r=7;t=48
`
	const stateRefused = `
Ratelimit-Policy: "default";q=10;w=60
Ratelimit: "default";r=1;t=48
Retry-After: 61
`
	const plain = state + `X-Ratelimit-Cost: 3
X-Ratelimit-Limit: 10
X-Ratelimit-Remaining: 7
X-Ratelimit-Reset: 48`
	const refused = stateRefused + `X-Ratelimit-Cost: 3
X-Ratelimit-Limit: 10
X-Ratelimit-Remaining: 1
X-Ratelimit-Reset: 48`
	for name, tt := range map[string]struct {
		format string
		nth    int // the number of the request whose response is compared
		want   string
	}{
		"admitted":                  {nth: 1, want: plain},
		"admitted, another format":  {nth: 1, format: "board", want: plain},
		"admitted, chat":            {nth: 1, format: "chat_completions", want: state + "X-Ratelimit-Limit-Requests: 10\nX-Ratelimit-Remaining-Requests: 7\nX-Ratelimit-Reset-Requests: 47.655s"},
		"admitted, responses":       {nth: 2, format: "responses", want: strings.Replace(state, "r=7", "r=4", 1) + "X-Ratelimit-Limit-Requests: 10\nX-Ratelimit-Remaining-Requests: 4\nX-Ratelimit-Reset-Requests: 47.655s"},
		"admitted, messages":        {nth: 1, format: "messages", want: state + "Anthropic-Ratelimit-Requests-Limit: 10\nAnthropic-Ratelimit-Requests-Remaining: 7\nAnthropic-Ratelimit-Requests-Reset: 2026-03-01T10:21:00Z"},
		"refused":                   {nth: 4, want: refused},
		"refused, chat completions": {nth: 4, format: "chat_completions", want: stateRefused + "Retry-After-Ms: 60989\nX-Ratelimit-Limit-Requests: 10\nX-Ratelimit-Remaining-Requests: 1\nX-Ratelimit-Reset-Requests: 1m0.989s"},
		"refused, messages":         {nth: 4, format: "messages", want: stateRefused + "Retry-After-Ms: 60989\nAnthropic-Ratelimit-Requests-Limit: 10\nAnthropic-Ratelimit-Requests-Remaining: 1\nAnthropic-Ratelimit-Requests-Reset: 2026-03-01T10:21:14Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			h := provision(t, &Handler{Limit: "10", Costs: []Cost{{Cost: "3", Pattern: "*"}}}, counters.NewMemory(c.now))
			var header http.Header
			for range tt.nth {
				r := newRequest("GET", "/", "10.0.0.1")
				if tt.format != "" {
					caddyhttp.SetVar(r.Context(), formatVar, tt.format)
				}
				_, header, _ = serve(h, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
					if w.Header().Get("RateLimit") == "" {
						t.Error("the headers are not set before the next handler runs")
					}
					return nil
				}))
			}
			want := strings.Split(strings.TrimSpace(tt.want), "\n")
			slices.Sort(want)
			if got := dump(header); got != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	c := &clock{}
	h := provision(t, &Handler{Name: "refusal", Limit: "2"}, counters.NewMemory(c.now))
	core, logs := observer.New(zapcore.DebugLevel)
	h.logger = zap.New(core)
	before := refusalsOf(t, h) // the metric lives as long as the process
	for range 2 {
		if status, _, err := serve(h, newRequest("GET", "/", "10.0.0.1"), ok); status != 204 || err != nil {
			t.Fatal(status, err)
		}
	}
	c.advance(47_655 * time.Millisecond) // into the next bucket
	c.advance(28_500 * time.Millisecond)
	next := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
		t.Error("the next handler runs")
		return nil
	})
	status, header, err := serve(h, newRequest("GET", "/", "10.0.0.1"), next)
	e, found := apierror.From(err)
	if status != 429 || !found {
		t.Fatalf("status %d, error %v", status, err)
	}
	const message = `Rate limit of 2 requests per minute exceeded (budget "refusal"). Please try again in 1.5s.`
	if e.Status != 429 || e.Code != "rate_limit_exceeded" || e.Message != message || e.RetryAfter != 1500*time.Millisecond || e.NoRetry {
		t.Errorf("%+v", e)
	}
	if got := header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q", got)
	}
	if n := refusalsOf(t, h) - before; n != 1 {
		t.Errorf("the metric counts %v", n)
	}
	if logs.Len() != 1 || logs.All()[0].Level != zapcore.DebugLevel {
		t.Errorf("log: %v", logs.All())
	}
	c.advance(1500 * time.Millisecond)
	if status, _, err := serve(h, newRequest("GET", "/", "10.0.0.1"), ok); status != 204 {
		t.Errorf("after the wait: %d, %v", status, err)
	}
}

func refusalsOf(t *testing.T, h *Handler) float64 {
	t.Helper()
	var metric dto.Metric
	if err := h.refused.Write(&metric); err != nil {
		t.Fatal(err)
	}
	return metric.GetCounter().GetValue()
}

func TestCostAboveLimit(t *testing.T) {
	t.Parallel()
	h := provision(t, &Handler{Limit: "2", Costs: []Cost{{Cost: "3", Pattern: "*"}}}, counters.NewMemory(nil))
	_, header, err := serve(h, newRequest("GET", "/", "10.0.0.1"), ok)
	e, found := apierror.From(err)
	if !found || e.Status != 429 || !e.NoRetry || e.RetryAfter != 0 ||
		e.Message != `This request costs 3 units, more than the whole rate limit of 2 units per minute (budget "default").` {
		t.Errorf("%+v", e)
	}
	if header.Get("Retry-After") != "" {
		t.Error("there is a Retry-After although waiting does not help")
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		key, ip, user, want string
	}{
		"user":             {ip: "10.0.0.1", user: "u1", want: "u1"},
		"guest":            {ip: "10.0.0.1", want: "ip:10.0.0.1"},
		"IPv6":             {ip: "2001:db8:1:2:3:4:5:6", want: "ip:2001:db8:1:2::/64"},
		"IPv6 zone":        {ip: "fe80::1%eth0", want: "ip:fe80::/64"},
		"mapped IPv4":      {ip: "::ffff:10.0.0.1", want: "ip:10.0.0.1"},
		"Unix socket":      {ip: "", want: "ip:"},
		"other text":       {ip: "@", want: "ip:@"},
		"own key":          {key: "host {http.vars.none}!", ip: "10.0.0.1", want: "host !"},
		"own key, empty":   {key: "{http.vars.none}", ip: "10.0.0.1", want: "ip:10.0.0.1"},
		"constant key":     {key: "all", ip: "10.0.0.1", want: "all"},
		"no such claim":    {key: "{http.auth.user.claim.email}", ip: "10.0.0.1", user: "u1", want: "ip:10.0.0.1"},
		"braces in values": {ip: "10.0.0.1", user: "{http.vars.secret}", want: "{http.vars.secret}"},
		"long":             {ip: "10.0.0.1", user: strings.Repeat("a", 129), want: "sha256:c12cb024a2e5551cca0e08fce8f1c5e314555cc3fef6329ee994a3db752166ae"},
		"just not long":    {ip: "10.0.0.1", user: strings.Repeat("a", 128), want: strings.Repeat("a", 128)},
	} {
		h := provision(t, &Handler{Limit: "1", Key: tt.key}, nil)
		r := newRequest("GET", "/", tt.ip, "secret", "s3cret", "none", "")
		replacer(r).Set("http.auth.user.id", tt.user)
		if got, err := h.countKey(r, replacer(r)); got != "budget:default:1m0s:"+tt.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

func TestSeparateBudgets(t *testing.T) {
	t.Parallel()
	store := counters.NewMemory(nil)
	for _, h := range []*Handler{
		{Limit: "1"},
		{Limit: "1", Name: "other"},
		{Limit: "1", Window: caddy.Duration(time.Hour)},
	} {
		provision(t, h, store)
		for _, ip := range []string{"10.0.0.1", "10.0.0.2"} {
			for _, want := range []int{204, 429} {
				if status, _, err := serve(h, newRequest("GET", "/", ip), ok); status != want {
					t.Errorf("%s of %s %s: %d, %v", ip, h.Name, time.Duration(h.Window), status, err)
				}
			}
		}
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit, cost any
		status      int
		message     string
		headers     bool
	}{
		"numbers as text":        {limit: "5", cost: "2", status: 204, headers: true},
		"numbers":                {limit: 5, cost: int64(2), status: 204, headers: true},
		"JSON numbers":           {limit: float64(5), cost: float64(2), status: 204, headers: true},
		"unlimited":              {limit: "", cost: "2", status: 204},
		"limit unknown":          {cost: "2", status: 500, message: "limit"},
		"unlimited, cost broken": {limit: "", cost: "x", status: 204},
		"zero":                   {limit: "0", cost: "2", status: 429, headers: true},
		"limit negative":         {limit: "-5", cost: "2", status: 500, message: "limit"},
		"limit fraction":         {limit: 1.5, cost: "2", status: 500, message: "limit"},
		"limit text":             {limit: "five", cost: "2", status: 500, message: "limit"},
		"limit too large":        {limit: "9007199254740992", cost: "2", status: 500, message: "limit"},
		"cost text":              {limit: "5", cost: "two", status: 500, message: "cost"},
		"cost empty":             {limit: "5", cost: "", status: 500, message: "cost"},
		"cost unknown":           {limit: "5", status: 500, message: "cost"},
	} {
		h := provision(t, &Handler{Limit: "{http.vars.limit}", Costs: []Cost{{Cost: "{http.vars.cost}", Pattern: "*"}}}, counters.NewMemory(nil))
		r := newRequest("GET", "/", "10.0.0.1")
		if tt.limit != nil {
			replacer(r).Set("http.vars.limit", tt.limit)
		}
		if tt.cost != nil {
			replacer(r).Set("http.vars.cost", tt.cost)
		}
		status, header, err := serve(h, r, ok)
		if status != tt.status || (len(header) > 0) != tt.headers {
			t.Errorf("%s: status %d, %d headers, %v", name, status, len(header), err)
		}
		if tt.message == "" {
			continue
		}
		e, found := apierror.From(err)
		if !found || e.Status != 500 || e.Message != "The option "+tt.message+` of budget "default" is misconfigured.` || e.Cause == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestUnknownPlaceholder checks that a misspelt placeholder does not lift a limit or put all users into one budget.
func TestUnknownPlaceholder(t *testing.T) {
	t.Parallel()
	for option, h := range map[string]*Handler{
		"limit": {Limit: "{http.auth.usr.rate}"},
		"cost":  {Limit: "5", Costs: []Cost{{Cost: "{http.auth.user.cst}", Pattern: "*"}}},
		"key":   {Limit: "5", Key: "user {http.auth.usr.id}"},
	} {
		provision(t, h, counters.NewMemory(nil))
		r := newRequest("GET", "/", "10.0.0.1")
		replacer(r).Set("http.auth.user.id", "u1")
		status, header, err := serve(h, r, ok)
		e, found := apierror.From(err)
		if status != 500 || len(header) > 0 || !found || e.Cause == nil || !strings.Contains(e.Cause.Error(), "unknown placeholder {http.auth.us") ||
			strings.Contains(e.Message, "http.auth") || !strings.Contains(e.Message, "option "+option+" ") {
			t.Errorf("%s: status %d, %v", option, status, err)
		}
	}
}

func TestInWords(t *testing.T) {
	t.Parallel()
	for window, want := range map[time.Duration]string{
		time.Second: "second", 90 * time.Second: "90 seconds", time.Minute: "minute", 5 * time.Minute: "5 minutes", 90 * time.Minute: "90 minutes",
		time.Hour: "hour", 24 * time.Hour: "day", 31 * 24 * time.Hour: "31 days", 36 * time.Hour: "36 hours", 1500 * time.Millisecond: "1.5s",
	} {
		if got := inWords(window); got != want {
			t.Errorf("%s: %q, want %q", window, got, want)
		}
	}
}

func TestCharge(t *testing.T) {
	t.Parallel()
	c := &clock{}
	store := counters.NewMemory(c.now)
	h := provision(t, &Handler{Limit: "100", Charge: "{http.vars.tokens}", Costs: []Cost{{Cost: "0", Pattern: "/free"}}}, store)
	core, logs := observer.New(zapcore.DebugLevel)
	h.logger = zap.New(core)
	remaining := func() int64 {
		res, err := store.Take(context.Background(), "budget:default:1m0s:ip:10.0.0.1", 0, 100, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return res.Remaining
	}
	for i, tt := range []struct {
		path   string
		tokens any // the usage that the next handler sets
		err    error
		panics bool
		gone   bool // the client disconnects
		status int
		left   int64
		logged int
	}{
		{path: "/", tokens: "9", status: 204, left: 90},
		{path: "/free", tokens: 10, status: 204, left: 80},
		{path: "/", tokens: "9", err: caddyhttp.Error(502, nil), status: 502, left: 70},
		{path: "/", tokens: "9", panics: true, left: 60},
		{path: "/", tokens: "9", gone: true, status: 204, left: 50},
		{path: "/", tokens: "0", status: 204, left: 49},
		{path: "/", tokens: "nine", status: 204, left: 48, logged: 1},
		{path: "/", tokens: "-9", status: 204, left: 47, logged: 2},
		{path: "/", status: 204, left: 46, logged: 3},
		{path: "/", tokens: "1000", status: 204, left: 0, logged: 3},
		{path: "/", tokens: "1", status: 429, left: 0, logged: 4},
		{path: "/free", tokens: "1", status: 429, left: 0, logged: 5},
	} {
		r := newRequest("GET", tt.path, "10.0.0.1")
		ctx, cancel := context.WithCancel(r.Context())
		r = r.WithContext(ctx)
		func() {
			defer cancel()
			defer func() {
				if p := recover(); (p != nil) != tt.panics {
					t.Errorf("step %d: panic %v", i, p)
				}
			}()
			status, _, _ := serve(h, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
				if tt.tokens != nil {
					replacer(r).Set("http.vars.tokens", tt.tokens)
				}
				if tt.panics {
					panic(http.ErrAbortHandler)
				}
				if tt.gone {
					cancel()
				}
				if tt.err == nil {
					w.WriteHeader(204)
				}
				return tt.err
			}))
			if status != tt.status {
				t.Errorf("step %d: status %d, want %d", i, status, tt.status)
			}
		}()
		if left := remaining(); left != tt.left {
			t.Errorf("step %d: %d left, want %d", i, left, tt.left)
		}
		if logs.Len() != tt.logged {
			t.Errorf("step %d: %d log lines, want %d", i, logs.Len(), tt.logged)
		}
	}
	// The 1047 units of the first bucket, and 7 more of requests with a cost of 1, expire slowly.
	r := newRequest("GET", "/free", "10.0.0.1")
	_, header, err := serve(h, r, ok)
	e, _ := apierror.From(err)
	if e == nil || e.RetryAfter <= 0 || header.Get("Retry-After") == "" || header.Get("X-RateLimit-Cost") != "0" {
		t.Fatalf("free request: %+v %v", e, header)
	}
	c.advance(e.RetryAfter - time.Microsecond)
	if status, _, _ := serve(h, newRequest("GET", "/free", "10.0.0.1"), ok); status != 429 {
		t.Errorf("just before the wait: %d", status)
	}
	c.advance(time.Microsecond)
	if status, _, _ := serve(h, newRequest("GET", "/free", "10.0.0.1"), ok); status != 204 {
		t.Errorf("after the wait: %d", status)
	}
}

func TestFreeRequestsWithoutCharge(t *testing.T) {
	t.Parallel()
	h := provision(t, &Handler{Limit: "1", Costs: []Cost{{Cost: "0", Pattern: "/free"}}}, counters.NewMemory(nil))
	for path, want := range map[string]int{"/": 204, "/free": 204} {
		if status, _, err := serve(h, newRequest("GET", path, "10.0.0.1"), ok); status != want {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
	if status, _, _ := serve(h, newRequest("GET", "/", "10.0.0.1"), ok); status != 429 {
		t.Errorf("second request: %d", status)
	}
	if status, _, _ := serve(h, newRequest("GET", "/free", "10.0.0.1"), ok); status != 204 {
		t.Errorf("free request: %d", status)
	}
}

// slowStore is a store behind a network: charging blocks until the test permits it.
type slowStore struct {
	counters.Store
	started chan context.Context
	release chan struct{}
}

func (s *slowStore) Charge(ctx context.Context, key string, cost int64, window time.Duration) error {
	s.started <- ctx
	<-s.release
	return s.Store.Charge(ctx, key, cost, window)
}

func TestChargeDoesNotDelay(t *testing.T) {
	t.Parallel()
	store := &slowStore{counters.NewMemory(nil), make(chan context.Context), make(chan struct{})}
	h := provision(t, &Handler{Limit: "10", Charge: "{http.vars.tokens}"}, store)
	r := newRequest("GET", "/", "10.0.0.1", "tokens", "3")
	ctx, cancel := context.WithCancel(r.Context())
	if _, _, err := serve(h, r.WithContext(ctx), ok); err != nil { // returns while Charge waits
		t.Fatal(err)
	}
	cancel()
	charging := <-store.started
	if deadline, ok := charging.Deadline(); !ok || time.Until(deadline) > chargeTimeout {
		t.Error("the charge has no time limit")
	}
	if charging.Err() != nil {
		t.Error("the charge ends with the request")
	}
	close(store.release)
}

func TestSeveralBudgets(t *testing.T) {
	t.Parallel()
	store := counters.NewMemory(func() time.Time { return start })
	outer := provision(t, &Handler{Name: "minute", Limit: "3", Costs: []Cost{{Cost: "2", Pattern: "/two"}}}, store)
	inner := provision(t, &Handler{Name: "hour", Limit: "10", Window: caddy.Duration(time.Hour), Costs: []Cost{{Cost: "9", Pattern: "/nine"}}}, store)
	chain := func(r *http.Request, format string) (int, http.Header) {
		caddyhttp.SetVar(r.Context(), formatVar, format)
		status, header, _ := serve(outer, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			return inner.ServeHTTP(w, r, ok)
		}))
		return status, header
	}
	for i, tt := range []struct {
		path                     string
		status                   int
		state, limit, left, cost string
	}{
		{"/", 204, `"minute";r=2;t=48, "hour";r=9;t=2388`, "3", "2", "1"},
		// Now the inner budget is the strictest.
		{"/nine", 204, `"minute";r=1;t=48, "hour";r=0;t=2388`, "10", "0", "9"},
		// The inner budget refuses after the outer budget was charged.
		{"/", 429, `"minute";r=0;t=48, "hour";r=0;t=2388`, "10", "0", "1"},
		// The outer budget refuses, so that the inner budget is not asked.
		{"/", 429, `"minute";r=0;t=48`, "3", "0", "1"},
	} {
		status, header := chain(newRequest("GET", tt.path, "10.0.0.1"), "board")
		if status != tt.status || header.Get("RateLimit") != tt.state || header.Get("X-RateLimit-Limit") != tt.limit ||
			header.Get("X-RateLimit-Remaining") != tt.left || header.Get("X-RateLimit-Cost") != tt.cost {
			t.Errorf("request %d: status %d\n%s", i, status, dump(header))
		}
		status, header = chain(newRequest("GET", tt.path, "10.0.0.3"), "chat_completions")
		if status != tt.status || header.Get("RateLimit") != tt.state || header.Get("X-RateLimit-Limit-Requests") != tt.limit ||
			header.Get("X-RateLimit-Remaining-Requests") != tt.left || header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("request %d, chat: status %d\n%s", i, status, dump(header))
		}
	}
	_, header := chain(newRequest("GET", "/", "10.0.0.2"), "board")
	if got := header.Get("RateLimit-Policy"); got != `"minute";q=3;w=60, "hour";q=10;w=3600` {
		t.Errorf("policies %q", got)
	}
}

// TestLimitsOfUpstreams checks that rate limit headers of an upstream, in any spelling, are removed from responses with
// headers of a budget. If no budget applies, they are kept.
func TestLimitsOfUpstreams(t *testing.T) {
	t.Parallel()
	store := counters.NewMemory(func() time.Time { return start })
	h := provision(t, &Handler{Limit: "{http.vars.limit}"}, store)
	hour := provision(t, &Handler{Name: "hour", Limit: "100", Window: caddy.Duration(time.Hour)}, store)
	theirs := []string{
		"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
		"X-RateLimit-Limit-Requests", "X-RateLimit-Remaining-Tokens", "X-Rate-Limit-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-RateLimit-Requests-Limit",
	}
	for name, finish := range map[string]func(w http.ResponseWriter) error{
		"status": func(w http.ResponseWriter) error { w.WriteHeader(http.StatusNoContent); return nil },
		"body":   func(w http.ResponseWriter) error { _, err := w.Write([]byte("x")); return err },
		"copy": func(w http.ResponseWriter) error {
			_, err := io.Copy(w, struct{ io.Reader }{strings.NewReader("x")})
			return err
		},
		"flush": func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() },
		"hints": func(w http.ResponseWriter) error {
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Add("RateLimit", "theirs")
			w.WriteHeader(http.StatusOK)
			return nil
		},
	} {
		for _, format := range []string{"board", "messages", "chat_completions"} {
			upstream := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
				for _, name := range theirs {
					w.Header().Add(name, "theirs")
				}
				w.Header().Add("Retry-After", "theirs")
				return finish(w)
			})
			r := newRequest("GET", "/", "10.0.0.1", "limit", "1000")
			caddyhttp.SetVar(r.Context(), formatVar, format)
			_, header, err := serve(h, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return hour.ServeHTTP(w, r, upstream) }))
			if err != nil || strings.Count(dump(header), "theirs") != 1 || !strings.Contains(header.Get("RateLimit"), `"hour";r=`) || !strings.Contains(header.Get("RateLimit"), `"default";r=`) {
				t.Errorf("%s, %s (%v):\n%s", name, format, err, dump(header))
			}
			unlimited := newRequest("GET", "/", "10.0.0.1", "limit", "")
			if _, header, _ := serve(h, unlimited, upstream); header.Get("RateLimit-Limit") != "theirs" {
				t.Errorf("%s: without a limit:\n%s", name, dump(header))
			}
		}
	}
}

// brokenStore is a store that cannot be reached.
type brokenStore struct{ counters.Store }

func (brokenStore) Take(context.Context, string, int64, int64, time.Duration) (counters.Result, error) {
	return counters.Result{}, fmt.Errorf("%w: connection refused", counters.ErrUnavailable)
}

func (brokenStore) Charge(context.Context, string, int64, time.Duration) error {
	return counters.ErrUnavailable
}

func TestCountersUnreachable(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]counters.Store{"broken": brokenStore{}, "not open": nil} {
		h := provision(t, &Handler{Limit: "1"}, store)
		status, header, err := serve(h, newRequest("GET", "/", "10.0.0.1"), ok)
		e, found := apierror.From(err)
		if status != 503 || !found || e.RetryAfter != time.Second || strings.Contains(e.Message, "refused") || !errors.Is(err, counters.ErrUnavailable) {
			t.Errorf("%s: refuse: %d, %+v", name, status, e)
		}
		if got := dump(header); got != "Retry-After: 1" {
			t.Errorf("%s: refuse: %s", name, got)
		}

		h = provision(t, &Handler{Limit: "1", OnError: "allow", Charge: "{http.vars.tokens}"}, store)
		core, logs := observer.New(zapcore.DebugLevel)
		h.logger = zap.New(core)
		status, header, err = serve(h, newRequest("GET", "/", "10.0.0.1"), ok)
		if status != 204 || err != nil || len(header) != 0 {
			t.Errorf("%s: allow: %d, %v, %v", name, status, header, err)
		}
		if logs.FilterMessage("request let through uncounted").Len() != 1 {
			t.Errorf("%s: allow: log %v", name, logs.All())
		}
	}
}

func TestConcurrentRequestsAreExact(t *testing.T) {
	t.Parallel()
	store := counters.NewMemory(func() time.Time { return start })
	h := provision(t, &Handler{Limit: "1000"}, store)
	var (
		wg       sync.WaitGroup
		admitted atomic.Int64
	)
	for range 64 {
		wg.Go(func() {
			for range 40 {
				status, _, _ := serve(h, newRequest("GET", "/", "10.0.0.1"), ok)
				if status == 204 {
					admitted.Add(1)
				} else if status != 429 {
					t.Errorf("status %d", status)
				}
			}
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != 1000 {
		t.Errorf("admitted %d, want 1000", n)
	}
}

func TestMetricsInEveryConfig(t *testing.T) {
	t.Parallel()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	for range 2 { // twice in one config
		h := &Handler{Name: "twice", Limit: "1", app: app{}}
		if err := h.Provision(ctx); err != nil {
			t.Fatal(err)
		}
	}
	families, err := ctx.GetMetricsRegistry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "tollgate_budget_refused_total" }) {
		t.Error("the metric is not registered")
	}
}

func BenchmarkServeHTTP(b *testing.B) {
	request := func() *http.Request {
		r := newRequest("POST", "/v1/chat/completions", "10.0.0.1")
		replacer(r).Set("http.auth.user.id", "user-12345")
		replacer(r).Set("http.auth.user.limit", "9007199254740991")
		replacer(r).Set("http.auth.user.no_limit", "")
		return r
	}
	next := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })
	for name, h := range map[string]*Handler{
		"literal limit":  {Limit: "9007199254740991"},
		"placeholders":   {Limit: "{http.auth.user.limit}"},
		"costs":          {Limit: "{http.auth.user.limit}", Costs: []Cost{{Cost: "5", Method: "GET", Pattern: "/v1/models/{id}"}, {Cost: "3", Method: "POST", Pattern: "/v1/chat/completions"}}},
		"unlimited":      {Limit: "{http.auth.user.no_limit}"},
		"without budget": nil,
	} {
		b.Run(name, func(b *testing.B) {
			r, w := request(), httptest.NewRecorder()
			if h != nil {
				provision(b, h, counters.NewMemory(nil))
			}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.Header())
				if h == nil {
					_ = next.ServeHTTP(w, r)
				} else if err := h.ServeHTTP(w, r, next); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
