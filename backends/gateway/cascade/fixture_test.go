package cascade

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// people is the keychain that all tests share. Each test has its own users.
var people *keychain.Service

func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := runAll(m)
	if code == 0 && flag.Lookup("test.fuzz").Value.String() == "" && !settles(before) { // fuzzing keeps some goroutines
		stacks := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "goroutines are left behind: %d, were %d\n%s\n", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		code = 1
	}
	os.Exit(code)
}

// settles waits until there are at most before goroutines, and reports whether that happened in time.
func settles(before int) bool {
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cascade")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(dir, "test.db"), Synchronous: "NORMAL"}, zap.NewNop())
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := db.Register(schema.Gateway()); err != nil {
		panic(err)
	}
	db.Start(context.Background())
	if err := db.WaitReady(context.Background()); err != nil {
		panic(err)
	}
	var ticks atomic.Int64 // keys are ordered by the time of their creation
	now := func() time.Time { return time.UnixMilli(1_700_000_000_000 + ticks.Add(1)) }
	if people, err = keychain.New(db, plainRing{}, spending.NewLedger(db, zap.NewNop(), now), zap.NewNop(), now); err != nil {
		panic(err)
	}
	defer people.Close()
	return m.Run()
}

// plainRing is a keyring that does not encrypt, because these tests store no secrets.
type plainRing struct{}

func (plainRing) Seal(_ context.Context, plain, associated []byte) (string, error) {
	return hex.EncodeToString(associated) + ":" + hex.EncodeToString(plain), nil
}

func (plainRing) Open(_ context.Context, sealed string, associated []byte) ([]byte, error) {
	place, text, _ := strings.Cut(sealed, ":")
	if place != hex.EncodeToString(associated) {
		return nil, keyring.ErrOpen
	}
	return hex.DecodeString(text)
}

func (plainRing) Derive(context.Context, string) ([][]byte, error) { return nil, nil }

func (plainRing) Current(string) bool { return true }

func (r plainRing) As(string) (keyring.Keyring, error) { return r, nil }

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// step is an upstream's reaction to one request.
type step func(w http.ResponseWriter, r *http.Request)

// call is a request that an upstream received.
type call struct {
	path   string
	header http.Header
	body   string
	key    string
}

// upstream is a scripted provider.
type upstream struct {
	t      *testing.T
	name   string
	server *httptest.Server

	mu     sync.Mutex
	script []step
	calls  []call
	// always is the step for requests after the end of the script. If it is nil, such a request fails the test.
	defaultStep step
	// gone counts requests whose context ended while they were served.
	cancelled atomic.Int32
	// opened counts connections.
	opened atomic.Int32
}

func newUpstream(t *testing.T, name string) *upstream {
	t.Helper()
	u := &upstream{t: t, name: name}
	u.server = httptest.NewUnstartedServer(u)
	u.server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			u.opened.Add(1)
		}
	}
	u.server.Start()
	t.Cleanup(u.server.Close)
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		u.t.Errorf("%s: reading the request: %v", u.name, err)
	}
	if int64(len(body)) != r.ContentLength {
		u.t.Errorf("%s: Content-Length %d of a body of %d bytes", u.name, r.ContentLength, len(body))
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key == "" {
		key = r.Header.Get("X-Api-Key")
	}
	u.mu.Lock()
	u.calls = append(u.calls, call{r.URL.Path, r.Header.Clone(), string(body), key})
	next := u.defaultStep
	if len(u.script) > 0 {
		next, u.script = u.script[0], u.script[1:]
	}
	u.mu.Unlock()
	if next == nil {
		u.t.Errorf("%s: an unexpected request: %s", u.name, body)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	next(w, r)
}

// setDefault sets the step for requests after the end of the script.
func (u *upstream) setDefault(always step) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.defaultStep = always
}

// addSteps adds steps to the script.
func (u *upstream) addSteps(steps ...step) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.script = append(u.script, steps...)
}

// requests returns the requests received so far.
func (u *upstream) requests() []call {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.calls)
}

// keys returns the keys of the requests received so far.
func (u *upstream) keys() []string {
	calls := u.requests()
	keys := make([]string, 0, len(calls))
	for _, c := range calls {
		keys = append(keys, c.key)
	}
	return keys
}

// wantScriptDone fails the test if the script has steps left.
func (u *upstream) wantScriptDone(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.script) > 0 {
		t.Errorf("%s was not asked %d more times", u.name, len(u.script))
	}
}

// Functions that return steps.

func reply(status int, body string, header ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the gateway may have closed the connection
	}
}

// refusal returns a step with an error answer in OpenAI's form.
func refusal(status int, code, message string, header ...string) step {
	return reply(status, fmt.Sprintf(`{"error":{"message":%q,"type":"t","code":%q}}`, message, code), header...)
}

const usageJSON = `{"prompt_tokens":11,"completion_tokens":5,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":3}}`

func completion(text string) string {
	return `{"id":"up","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":"` + text +
		`"},"finish_reason":"stop"}],"usage":` + usageJSON + `}`
}

// stream returns a step that sends events unchanged, flushing after each.
func stream(events ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// inOrder returns a step that runs steps one after another on the same answer.
func inOrder(steps ...step) step {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, s := range steps {
			s(w, r)
		}
	}
}

// drop breaks the connection.
func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// hang blocks until the gateway has closed the connection.
func (u *upstream) hang(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	u.cancelled.Add(1)
}

func chunk(delta, finish string) string {
	return `data: {"id":"up","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
}

func text(s string) string { return chunk(`{"content":"`+s+`"}`, "null") }

var (
	role      = chunk(`{"role":"assistant","content":""}`, "null")
	finish    = chunk(`{}`, `"stop"`)
	usageLine = `data: {"id":"up","object":"chat.completion.chunk","created":1,"model":"up","choices":[],"usage":` + usageJSON + "}\n\n"
)

const doneLine = "data: [DONE]\n\n"

// answers returns a step with a complete stream that says s.
func answers(s string) step { return stream(role, text(s), finish, usageLine, doneLine) }

// setup has the parameters of a rig.
type setup struct {
	keys    []string // providers, one for each key; key n of alpha is key-alpha-n
	models  string   // models of the catalog; empty: three for each provider
	timeout string   // timeouts of every provider, JSON; empty: none
	// members has additional JSON members of the providers, such as "wires":["messages"].
	members map[string]string
	custom  []keychain.CustomModel
	prefer  keychain.Preferences
	change  map[string]keychain.ModelChange
	options Options
	// transport replaces the real transport if it is set.
	transport http.RoundTripper
	now       func() time.Time
}

var providers = []string{"alpha", "beta", "gamma"}

// rig is a cascade over three scripted providers:
//
//   - alpha takes max_completion_tokens, stream_options and developer messages;
//     its high model reasons and takes no temperature
//   - beta takes max_tokens, no user, and calls seed random_seed
//   - gamma has its key in x-api-key and takes no stream_options
type rig struct {
	t       *testing.T
	clock   *clock
	engine  *Engine
	account *keychain.Account
	catalog *catalog.Catalog
	alpha   *upstream
	beta    *upstream
	gamma   *upstream

	mu       sync.Mutex
	observed []Attempt
}

var userNumber atomic.Int64

func newRig(t *testing.T, s setup) *rig {
	t.Helper()
	r := &rig{t: t, clock: newClock()}
	bases := make([]any, 0, 9)
	for _, u := range []**upstream{&r.alpha, &r.beta, &r.gamma} {
		base := "http://127.0.0.1:9/v1"
		if s.transport == nil {
			*u = newUpstream(t, providers[len(bases)/3])
			base = (*u).server.URL + "/v1"
		}
		bases = append(bases, base, orText(s.timeout, "{}"), withComma(s.members[providers[len(bases)/3]]))
	}
	if s.models == "" {
		s.models = everyModel
	}
	cat, err := catalog.Parse(fmt.Appendf(nil, `{"updated":"2026-01-01","providers":[
		{"code":"alpha","name":"Alpha","base_url":%q,"timeouts":%s%s,"shape":{"max_tokens_field":"max_completion_tokens","stream_usage":true,"developer_role":true,"drop_for_reasoning":["temperature"]}},
		{"code":"beta","name":"Beta","base_url":%q,"timeouts":%s%s,"shape":{"max_tokens_field":"max_tokens","stream_usage":true,"drop":["user"],"rename":{"seed":"random_seed"},"tool_choice_required":"any"}},
		{"code":"gamma","name":"Gamma","base_url":%q,"timeouts":%s%s,"auth":"x-api-key","headers":{"x-extra":"1"},"shape":{"max_tokens_field":"max_tokens","drop":["stream_options"]}}
	],"models":[`+s.models+`]}`, bases...))
	if err != nil {
		t.Fatal(err)
	}
	r.catalog = cat
	transport := s.transport
	if transport == nil {
		pool := NewTransport()
		t.Cleanup(pool.CloseIdleConnections)
		transport = pool
	}
	now := s.now
	if now == nil {
		now = r.clock.now
	}
	memory := NewMemory(now)
	memory.Health.jitter = func() float64 { return 0 }
	r.engine = &Engine{
		Options: s.options.WithDefaults(), Memory: memory, Catalog: func() *catalog.Catalog { return cat },
		Providers: transport, Custom: transport, Logger: zap.NewNop(), Now: now,
		Observe: func(a Attempt) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.observed = append(r.observed, a)
		},
	}
	r.account = newAccount(t, cat, s)
	return r
}

// withComma puts a comma before JSON members that follow other members.
func withComma(members string) string {
	if members == "" {
		return ""
	}
	return "," + members
}

func orText(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// allAbilities has the members of a model with all abilities.
const allAbilities = `"context_window":1000000,"modalities":["text","image","file","audio"],"tools":true,"json_schema":true,"prefill":true`

var everyModel = func() string {
	models := make([]string, 0, 9)
	for _, p := range providers {
		for _, tier := range []string{"low", "medium", "high"} {
			reasons := ""
			if p == "alpha" && tier == "high" {
				reasons = `,"reasoning":true`
			}
			models = append(models, fmt.Sprintf(`{"provider":%q,"id":"%.1s-%s","tiers":[%q],%s%s}`, p, p, tier, tier, allAbilities, reasons))
		}
	}
	return strings.Join(models, ",")
}()

func newAccount(t *testing.T, cat *catalog.Catalog, s setup) *keychain.Account {
	t.Helper()
	ctx := t.Context()
	id := fmt.Sprintf("user-%d", userNumber.Add(1))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, _, err := people.InitUser(ctx, id)
	check(err)
	count := map[string]int{}
	for _, provider := range s.keys {
		count[provider]++
		_, err := people.AddProviderKey(ctx, id, provider, fmt.Sprintf("key-%s-%d", provider, count[provider]), "", func(string) bool { return true })
		check(err)
	}
	for _, m := range s.custom {
		_, err := people.AddModel(ctx, id, m)
		check(err)
	}
	for name, change := range s.change {
		_, err := people.ChangeModel(ctx, cat, id, name, change)
		check(err)
	}
	check(people.SetPreferences(ctx, cat, id, s.prefer))
	account, err := people.Account(ctx, id)
	check(err)
	return account
}

// outcome is the outcome of a request.
type outcome struct {
	*Result
	err    *apierror.Error // nil if there is no error, or an error of another type
	rawErr error
	body   string
	header http.Header
}

const helloMessages = `"messages":[{"role":"user","content":"hello"}]`

// ask sends a chat request without streaming. more has further members of the body.
func (r *rig) ask(model string, more ...string) *outcome {
	return r.send(r.t.Context(), model, false, more)
}

// askStream is like ask, but asks for a stream.
func (r *rig) askStream(model string, more ...string) *outcome {
	return r.send(r.t.Context(), model, true, more)
}

func (r *rig) request(model string, streams bool, more []string) *Request {
	r.t.Helper()
	body := fmt.Sprintf(`{"model":%q,"stream":%v,%s}`, model, streams, strings.Join(append(slices.Clone(more), helloMessages), ","))
	if slices.ContainsFunc(more, func(m string) bool { return strings.Contains(m, `"messages"`) }) {
		body = strings.TrimSuffix(body, ","+helloMessages+"}") + "}"
	}
	chat, err := native.Parse([]byte(body))
	if err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
	return &Request{ID: "req_1", User: r.account.UserID, Chat: chat, Account: r.account, Session: newSession()}
}

var sessions atomic.Int64

// newSession returns a new session id, so that requests with the same text belong to different conversations.
func newSession() string { return fmt.Sprint("session ", sessions.Add(1)) }

func (r *rig) send(ctx context.Context, model string, streams bool, more []string) *outcome {
	r.t.Helper()
	w := httptest.NewRecorder()
	result, err := r.engine.Answer(ctx, w, r.request(model, streams, more))
	e := &outcome{Result: result, rawErr: err, body: w.Body.String(), header: w.Header()}
	e.err, _ = apierror.From(err)
	if err != nil && e.body != "" {
		r.t.Errorf("got the error %v, but the client received %q before", err, e.body)
	}
	if err == nil && w.Code != http.StatusOK {
		r.t.Errorf("answered with status %d", w.Code)
	}
	return e
}

// wantAnswer checks that a request succeeded with the text said from the model entry.
func (e *outcome) wantAnswer(t *testing.T, entry, text string) {
	t.Helper()
	if e.rawErr != nil || e.Candidate == nil || e.Candidate.Entry != entry || !strings.Contains(e.body, text) || e.Code != "" || e.Status != 200 {
		t.Fatalf("got error %v and result %+v, want an answer of %s with the text %q; body:\n%s",
			e.rawErr, e.Result, entry, text, e.body)
	}
}

// wantError checks that a request ended with an error.
func (e *outcome) wantError(t *testing.T, status int, code string) {
	t.Helper()
	if e.err == nil || e.err.Status != status || e.err.Code != code || e.Status != status || e.Code != code || e.Candidate != nil {
		t.Fatalf("got error %v and result %+v, want the error %d %s; body:\n%s", e.rawErr, e.Result, status, code, e.body)
	}
}
