package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/scriptedmodel"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// shipped is a file of caddyfiles with some of its text replaced, each once:
// pairs of old and new.
func shipped(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../caddyfiles/" + name + "/Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for pair := range slices.Chunk(replace, 2) {
		config = swap(t, config, pair[0], pair[1])
	}
	return config
}

// gateway is a node with the shipped gateway Caddyfile: without TLS, on a port
// of its own, users' models on this machine allowed. options are more lines of
// the global option tollgate.
type gateway struct {
	*node
	*keychain.Service
	base   string // http://127.0.0.1:port
	config string
}

func newGateway(t *testing.T, options string, replace ...string) *gateway {
	t.Helper()
	g := prepare(t, options, replace...)
	g.start()
	g.healthy()
	return g
}

// prepare is newGateway before the start.
func prepare(t *testing.T, options string, replace ...string) *gateway {
	t.Helper()
	port := freePort(t)
	config := shipped(t, "gateway", append([]string{
		"\t\tcounters memory\n", "\t\tcounters memory\n\t\tallow_networks 127.0.0.0/8\n" + options + "\n",
		"{$TOLLGATE_DOMAIN:localhost}", "http://127.0.0.1:" + port,
	}, replace...)...)
	g := &gateway{node: newNode(t, config), base: "http://127.0.0.1:" + port, config: config}
	db, err := store.NewSQLite(store.SQLiteOptions{Path: g.path("data", "tollgate.db")}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	master, _, err := keyring.LoadOrCreateKeyFile(g.path("data", "tollgate.key"))
	if err != nil {
		t.Fatal(err)
	}
	g.Service = openKeychain(t, db, master)
	return g
}

// openKeychain is the keychain as another process has it: the command line.
func openKeychain(t *testing.T, db *store.DB, master []byte) *keychain.Service {
	t.Helper()
	t.Cleanup(func() { _ = db.Close() })
	ring, err := keyring.NewAES(master)
	if err != nil {
		t.Fatal(err)
	}
	service, err := keychain.New(db, ring, zap.NewNop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	if err := db.Register(keychain.Schema()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	db.Start(ctx)
	ready, done := context.WithTimeout(ctx, startLimit)
	defer done()
	if err := db.WaitReady(ready); err != nil {
		t.Fatal(err)
	}
	return service
}

// healthy waits until the gateway is ready for requests.
func (g *gateway) healthy() {
	g.t.Helper()
	healthy(g.t, g.base)
}

func healthy(t *testing.T, base string) {
	t.Helper()
	eventually(t, waitLimit, base+" is healthy", func() error {
		resp, err := http.Get(base + "/health") //nolint:noctx // a loopback probe
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	})
}

// user makes a user with these entries, the first tried first, and returns the
// gateway key. An entry is the model name that the upstream gets.
func (g *gateway) user(name string, up *upstream, models ...string) string {
	g.t.Helper()
	return addUser(g.t, g.Service, name, up, models...)
}

func addUser(t *testing.T, service *keychain.Service, name string, up *upstream, models ...string) string {
	t.Helper()
	_, key, created, err := service.InitUser(t.Context(), name)
	if err != nil || !created {
		t.Fatalf("user %s: %t, %v", name, created, err)
	}
	for i, model := range models {
		m := keychain.CustomModel{
			Entry: fmt.Sprintf("own/%d", i+1), BaseURL: up.base(), Model: model, Tier: catalog.High, Priority: int64(i),
		}
		if _, err := service.AddModel(t.Context(), name, m); err != nil {
			t.Fatal(err)
		}
	}
	return key.Key
}

// upstream is a scripted model server. Its base URLs lead to the same server,
// but the gateway takes each for a provider of its own.
type upstream struct {
	*scriptedmodel.Server
	url   string
	bases atomic.Int64
	// answer is asked first; true: it has answered.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{Server: scriptedmodel.New(scriptedmodel.Options{Record: 10_000})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.answer != nil && u.answer(w, r) {
			return
		}
		if at := strings.Index(r.URL.Path, "/v1"); at > 0 {
			r.URL.Path = r.URL.Path[at:]
		}
		u.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	u.url = server.URL
	return u
}

func (u *upstream) base() string { return fmt.Sprintf("%s/%d/v1", u.url, u.bases.Add(1)) }

// awaitRequests waits until so many requests have begun.
func (u *upstream) awaitRequests(ctx context.Context, n int64) error {
	return u.Wait(ctx, func(s scriptedmodel.Stats) bool { return s.Requests >= n })
}

// awaitCancelled waits until so many clients have left.
func (u *upstream) awaitCancelled(ctx context.Context, n int64) error {
	return u.Wait(ctx, func(s scriptedmodel.Stats) bool { return s.Cancelled >= n })
}

// models lists the model names that were asked for, in order.
func (u *upstream) models() []string {
	var names []string
	for _, r := range u.Requests() {
		var body struct{ Model string }
		if r.Method == http.MethodPost && json.Unmarshal(r.Body, &body) == nil {
			names = append(names, body.Model)
		}
	}
	return names
}

// script is a model name that asks the scripted model for an answer.
func script(pairs ...string) string {
	var b strings.Builder
	b.WriteString("scripted")
	before := "?"
	for pair := range slices.Chunk(pairs, 2) {
		b.WriteString(before + pair[0] + "=" + url.QueryEscape(pair[1]))
		before = "&"
	}
	return b.String()
}

// answer is a whole answer of the gateway.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of the exchange
}

// failure is the error body of the chat format.
type failure struct {
	Error struct {
		Message, Type string
		Code          *string
		Param         *string
		Attempts      []failedAttempt `json:"failed_attempts"`
	}
}

type failedAttempt struct {
	Provider, Model string
	Status          int
	Code, Message   string
	Latency         *int64 `json:"latency_ms"`
}

func (a *answer) failure(t *testing.T) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(a.body), &f); err != nil || f.Error.Message == "" {
		t.Errorf("status %d: %q is no error of the chat format (%v)", a.status, a.body, err)
	}
	return f
}

// refused checks status and code of an error answer.
func (a *answer) refused(t *testing.T, status int, code string) failure {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	f := a.failure(t)
	got := "null"
	if f.Error.Code != nil {
		got = *f.Error.Code
	}
	if a.status != status || got != code {
		t.Errorf("status %d code %s, want %d %s: %s", a.status, got, status, code, a.body)
	}
	if a.header.Get("X-Request-Id") == "" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers of an error: %v", a.header)
	}
	return f
}

// text is the content of a chat completion, streamed or not.
func (a *answer) text(t *testing.T) string {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	if a.status != http.StatusOK {
		t.Errorf("status %d: %s", a.status, a.body)
		return ""
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		text, end := streamed(t, a.body)
		if end != "[DONE]" {
			t.Errorf("the stream ends in %q", end)
		}
		return text
	}
	var reply struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(a.body), &reply); err != nil || len(reply.Choices) != 1 {
		t.Fatalf("%v: %s", err, a.body)
	}
	return reply.Choices[0].Message.Content
}

// streamed is the text of a stream and its last event.
func streamed(t *testing.T, body string) (text, last string) {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		last = data
		if data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Errorf("chunk %q: %v", data, err)
		}
		for _, c := range chunk.Choices {
			b.WriteString(c.Delta.Content)
		}
	}
	return b.String(), last
}

// prompt is the body of a request.
func prompt(model string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hi"}]}`, model, stream)
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}

// open sends a chat request and returns the answer with its body unread.
func open(ctx context.Context, base, key, body string) (*http.Response, error) {
	return openVia(ctx, client, base, key, body)
}

func openVia(ctx context.Context, c *http.Client, base, key, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	// Empty, it is not sent, but tells net/http that the request may be repeated
	// when a connection turns out to be closed.
	request.Header["X-Idempotency-Key"] = nil
	return c.Do(request)
}

// ask sends a chat request and reads the answer.
func ask(ctx context.Context, base, key, body string) *answer {
	resp, err := open(ctx, base, key, body) //nolint:bodyclose // read does
	return read(resp, err)
}

func read(resp *http.Response, err error) *answer {
	if err != nil {
		return &answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return &answer{resp.StatusCode, resp.Header, string(text), err}
}

// get sends a GET with a gateway key; empty: none.
func get(t *testing.T, c *http.Client, target, key string, header ...string) *answer {
	t.Helper()
	return do(t, c, http.MethodGet, target, key, "", header...)
}

func do(t *testing.T, c *http.Client, method, target, key, body string, header ...string) *answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for pair := range slices.Chunk(header, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	a := read(c.Do(request)) //nolint:bodyclose // read does
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a
}

// firstEvent reads a stream up to its first event with text.
func firstEvent(t *testing.T, resp *http.Response) (*bufio.Reader, string) {
	t.Helper()
	reader := bufio.NewReader(resp.Body)
	var seen strings.Builder
	for {
		line, err := reader.ReadString('\n')
		seen.WriteString(line)
		if err != nil {
			t.Fatalf("the stream ends before its first content: %v\n%s", err, seen.String())
		}
		if strings.Contains(line, `"content":"`) && !strings.Contains(line, `"content":""`) {
			return reader, seen.String()
		}
	}
}

// usage is what the log of a request has.
type usage struct {
	requestID, user, asked, tier, provider, model, code, source string
	stream                                                      bool
	status, attempts, input, output                             int64
	failed                                                      string
}

// usage reads the records of the database file, by request id.
func (n *node) usage() map[string]usage {
	n.t.Helper()
	db, err := sql.Open("sqlite", "file:"+n.path("data", "tollgate.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(n.t.Context(), `SELECT request_id, user_id, asked_model, tier, provider, model, code, usage_source,
		stream, status, attempts, input_tokens, output_tokens, failed_attempts FROM gateway_usage`)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found := make(map[string]usage)
	for rows.Next() {
		var u usage
		if err := rows.Scan(&u.requestID, &u.user, &u.asked, &u.tier, &u.provider, &u.model, &u.code, &u.source,
			&u.stream, &u.status, &u.attempts, &u.input, &u.output, &u.failed); err != nil {
			n.t.Fatal(err)
		}
		if _, twice := found[u.requestID]; twice {
			n.t.Errorf("request %s is in the log twice", u.requestID)
		}
		found[u.requestID] = u
	}
	if err := rows.Err(); err != nil {
		n.t.Fatal(err)
	}
	return found
}

// awaitUsage waits for the record of a request.
func (n *node) awaitUsage(requestID string) usage {
	n.t.Helper()
	var found usage
	eventually(n.t, waitLimit, "request "+requestID+" is in the usage log", func() error {
		var ok bool
		if found, ok = n.usage()[requestID]; !ok {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	return found
}
