package e2e

import (
	"bufio"
	"bytes"
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
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/scriptedmodel"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Shipped returns the Caddyfile of the folder name in caddyfiles, with some texts replaced. replace has pairs of old
// and new texts; each old text must occur exactly once.
func Shipped(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(Repo("caddyfiles", name, "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for pair := range slices.Chunk(replace, 2) {
		config = Swap(t, config, pair[0], pair[1])
	}
	return config
}

// Gateway is a node with the shipped gateway Caddyfile, without TLS, on a separate port. Users may add models whose
// servers run on this machine.
type Gateway struct {
	*Node
	*keychain.Service
	Base   string // http://127.0.0.1:port
	Config string
}

// NewGateway starts a gateway and waits until it is ready for requests. See Prepare for options and replace.
func NewGateway(t *testing.T, options string, replace ...string) *Gateway {
	t.Helper()
	g := Prepare(t, options, replace...)
	g.Start()
	g.Healthy()
	return g
}

// Prepare works like NewGateway but does not start the node. options has further lines for the global option tollgate,
// and replace is that of Shipped.
func Prepare(t *testing.T, options string, replace ...string) *Gateway {
	t.Helper()
	port := FreePort(t)
	config := Shipped(t, "gateway", append([]string{
		"\t\tcounters memory\n", "\t\tcounters memory\n\t\tallow_networks 127.0.0.0/8\n" + options + "\n",
		"{$TOLLGATE_DOMAIN:localhost}", "http://127.0.0.1:" + port,
	}, replace...)...)
	g := &Gateway{Node: NewNode(t, config), Base: "http://127.0.0.1:" + port, Config: config}
	db, err := store.NewSQLite(store.SQLiteOptions{Path: g.Path("data", "tollgate.db")}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	master, _, err := keyring.LoadOrCreateKeyFile(g.Path("data", "tollgate.key"))
	if err != nil {
		t.Fatal(err)
	}
	g.Service = OpenKeychain(t, db, master)
	return g
}

// OpenKeychain opens the keychain like another process, such as the command line.
func OpenKeychain(t *testing.T, db *store.DB, master []byte) *keychain.Service {
	t.Helper()
	t.Cleanup(func() { _ = db.Close() })
	ring, err := keyring.NewAES(master)
	if err != nil {
		t.Fatal(err)
	}
	service, err := keychain.New(db, ring, spending.NewLedger(db, zap.NewNop(), time.Now), zap.NewNop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	if err := db.Register(schema.Gateway()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	db.Start(ctx)
	ready, done := context.WithTimeout(ctx, StartLimit)
	defer done()
	if err := db.WaitReady(ready); err != nil {
		t.Fatal(err)
	}
	return service
}

// Healthy waits until the gateway is ready for requests.
func (g *Gateway) Healthy() {
	g.T.Helper()
	healthy(g.T, g.Base)
}

// healthy waits until the gateway at base is ready for requests.
func healthy(t *testing.T, base string) {
	t.Helper()
	Eventually(t, WaitLimit, base+" is healthy", func() error {
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

// User creates a user with an entry for each model, in the order of priority, and returns the gateway key. Each model
// is a name that the upstream receives.
func (g *Gateway) User(name string, upstream *Upstream, models ...string) string {
	g.T.Helper()
	return AddUser(g.T, g.Service, name, upstream, models...)
}

// AddUser works like Gateway.User for the keychain service.
func AddUser(t *testing.T, service *keychain.Service, name string, upstream *Upstream, models ...string) string {
	t.Helper()
	_, key, created, err := service.InitUser(t.Context(), name)
	if err != nil || !created {
		t.Fatalf("user %s: %t, %v", name, created, err)
	}
	for i, model := range models {
		m := keychain.CustomModel{
			Entry: fmt.Sprintf("own/%d", i+1), BaseURL: upstream.Base(), Model: model, Tier: catalog.High, Priority: int64(i),
		}
		if _, err := service.AddModel(t.Context(), name, m); err != nil {
			t.Fatal(err)
		}
	}
	return key.Key
}

// Upstream is a scripted model server. All its base URLs lead to the same server, but the gateway treats each as a
// separate provider.
type Upstream struct {
	*scriptedmodel.Server
	URL   string
	bases atomic.Int64
	// Answer is called first, unless it is nil. If it returns true, it has answered the request.
	Answer func(w http.ResponseWriter, r *http.Request) bool
}

// NewUpstream starts a scripted model server, which is closed at the end of the test.
func NewUpstream(t *testing.T) *Upstream {
	t.Helper()
	u := &Upstream{Server: scriptedmodel.New(scriptedmodel.Options{Record: 10_000})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.Answer != nil && u.Answer(w, r) {
			return
		}
		if index := strings.Index(r.URL.Path, "/v1"); index > 0 {
			r.URL.Path = r.URL.Path[index:]
		}
		u.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	u.URL = server.URL
	return u
}

// Base returns a new base URL of the server.
func (u *Upstream) Base() string { return fmt.Sprintf("%s/%d/v1", u.URL, u.bases.Add(1)) }

// AwaitRequests waits until at least n requests have begun since u was created.
func (u *Upstream) AwaitRequests(ctx context.Context, n int64) error {
	return u.Wait(ctx, func(s scriptedmodel.Stats) bool { return s.Requests >= n })
}

// AwaitCancelled waits until at least n requests were cancelled by their clients since u was created.
func (u *Upstream) AwaitCancelled(ctx context.Context, n int64) error {
	return u.Wait(ctx, func(s scriptedmodel.Stats) bool { return s.Cancelled >= n })
}

// Models returns the model names of the requests, in order.
func (u *Upstream) Models() []string {
	var names []string
	for _, r := range u.Requests() {
		var body struct{ Model string }
		if r.Method == http.MethodPost && json.Unmarshal(r.Body, &body) == nil {
			names = append(names, body.Model)
		}
	}
	return names
}

// Script returns a model name that makes the scripted model give a certain answer. pairs consists of names and values
// of the script's parameters.
func Script(pairs ...string) string {
	var b strings.Builder
	b.WriteString("scripted")
	separator := "?"
	for pair := range slices.Chunk(pairs, 2) {
		b.WriteString(separator + pair[0] + "=" + url.QueryEscape(pair[1]))
		separator = "&"
	}
	return b.String()
}

// Answer is a complete response of the gateway.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error // error of the exchange
}

// failure is the error body of the chat format.
type failure struct {
	Error struct {
		Message, Type string
		Code          *string
		Param         *string
		Attempts      []FailedAttempt `json:"failed_attempts"`
	}
}

// FailedAttempt is an attempt at a provider in an error body.
type FailedAttempt struct {
	Provider, Model string
	Status          int
	Code, Message   string
	Latency         *int64 `json:"latency_ms"`
}

// Failure decodes an error body in the chat format.
func (a *Answer) Failure(t *testing.T) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(a.Body), &f); err != nil || f.Error.Message == "" {
		t.Errorf("status %d: %q is not an error of the chat format (%v)", a.Status, a.Body, err)
	}
	return f
}

// Refused checks the status and the code of an error response, and returns the response's error.
func (a *Answer) Refused(t *testing.T, status int, code string) failure {
	t.Helper()
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	f := a.Failure(t)
	got := "null"
	if f.Error.Code != nil {
		got = *f.Error.Code
	}
	if a.Status != status || got != code {
		t.Errorf("status %d code %s, want %d %s: %s", a.Status, got, status, code, a.Body)
	}
	if a.Header.Get("X-Request-Id") == "" || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers of an error: %v", a.Header)
	}
	return f
}

// Text returns the content of a chat completion, streamed or not.
func (a *Answer) Text(t *testing.T) string {
	t.Helper()
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	if a.Status != http.StatusOK {
		t.Errorf("status %d: %s", a.Status, a.Body)
		return ""
	}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		text, end := Streamed(t, a.Body)
		if end != "[DONE]" {
			t.Errorf("the stream ends in %q", end)
		}
		return text
	}
	var reply struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(a.Body), &reply); err != nil || len(reply.Choices) != 1 {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return reply.Choices[0].Message.Content
}

// Streamed returns the text of a streamed chat completion and the data of its last event.
func Streamed(t *testing.T, body string) (text, last string) {
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

// Prompt returns the body of a chat request with the message "Hi".
func Prompt(model string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hi"}]}`, model, stream)
}

// Client is the client of tests that need no special one. It keeps connections.
var Client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}

// Open sends a chat request and returns the response with its body unread.
func Open(ctx context.Context, base, key, body string) (*http.Response, error) {
	return openVia(ctx, Client, base, key, body)
}

// openVia works like Open with another client.
func openVia(ctx context.Context, c *http.Client, base, key, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions",
		strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	// The nil header is not sent, but allows net/http to repeat the request if the connection was closed.
	request.Header["X-Idempotency-Key"] = nil
	return c.Do(request)
}

// Ask sends a chat request and reads the response.
func Ask(ctx context.Context, base, key, body string) *Answer {
	resp, err := Open(ctx, base, key, body) //nolint:bodyclose // read does
	return Read(resp, err)
}

// Read reads the response of a request to its end. err is the error of the request.
func Read(resp *http.Response, err error) *Answer {
	if err != nil {
		return &Answer{Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return &Answer{resp.StatusCode, resp.Header, string(text), err}
}

// Get sends a GET request with a gateway key, unless the key is empty.
func Get(t *testing.T, c *http.Client, target, key string, header ...string) *Answer {
	t.Helper()
	return Do(t, c, http.MethodGet, target, key, "", header...)
}

// Do sends a request with a gateway key, unless the key is empty. header has pairs of names and values.
func Do(t *testing.T, c *http.Client, method, target, key, body string, header ...string) *Answer {
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
	a := Read(c.Do(request)) //nolint:bodyclose // read does
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	return a
}

// FirstEvent reads the events of a streamed chat completion up to the first event with text. It returns them, and a
// reader of the remaining stream.
func FirstEvent(t *testing.T, resp *http.Response) (*bufio.Reader, string) {
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

// Usage is the log record of a request.
type Usage struct {
	requestID, User, asked, Tier, Provider, Model, Code, Source string
	Stream                                                      bool
	Status, Attempts, Input, Output                             int64
	Failed                                                      string
}

// UsageLog reads the records in the database file, by request id.
func (n *Node) UsageLog() map[string]Usage {
	n.T.Helper()
	db, err := sql.Open("sqlite", "file:"+n.Path("data", "tollgate.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		n.T.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(n.T.Context(), `SELECT request_id, user_id, asked_model, tier, provider, model, code, usage_source,
		stream, status, attempts, input_tokens, output_tokens, failed_attempts FROM gateway_usage`)
	if err != nil {
		n.T.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found := make(map[string]Usage)
	for rows.Next() {
		var u Usage
		if err := rows.Scan(&u.requestID, &u.User, &u.asked, &u.Tier, &u.Provider, &u.Model, &u.Code, &u.Source,
			&u.Stream, &u.Status, &u.Attempts, &u.Input, &u.Output, &u.Failed); err != nil {
			n.T.Fatal(err)
		}
		if _, twice := found[u.requestID]; twice {
			n.T.Errorf("request %s is in the log twice", u.requestID)
		}
		found[u.requestID] = u
	}
	if err := rows.Err(); err != nil {
		n.T.Fatal(err)
	}
	return found
}

// AwaitUsage waits for the record of a request.
func (n *Node) AwaitUsage(requestID string) Usage {
	n.T.Helper()
	var found Usage
	Eventually(n.T, WaitLimit, "request "+requestID+" is in the usage log", func() error {
		var ok bool
		if found, ok = n.UsageLog()[requestID]; !ok {
			return fmt.Errorf("no record found")
		}
		return nil
	})
	return found
}

// Ready waits until the node reports that it is ready.
func (g *Gateway) Ready() {
	g.T.Helper()
	Eventually(g.T, StartLimit, "the node is ready", func() error {
		if a := Get(g.T, Client, g.Base+"/readyz", ""); a.Status != http.StatusOK {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
}

// ForNode adapts the scripted model to the tests with Node.js clients; it has the form of Upstream.Answer. It serves
// /stats. If a request has the result of a tool call, it changes the request so that the model answers with the
// request's own text. Otherwise the script of the conversation, which calls tools, would call them again in every turn.
func (u *Upstream) ForNode(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/stats" {
		u.statsForNode(w, r)
		return true
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	if gjson.GetBytes(body, "messages.@reverse.0.role").String() == "tool" {
		body = fmt.Appendf(nil,
			`{"model":%q,"stream":%t,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`,
			Script("words", "100000", "text", string(body)), gjson.GetBytes(body, "stream").Bool())
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return false
}

// statsForNode answers with the counts of the upstream as soon as they have reached the counts in the query.
func (u *Upstream) statsForNode(w http.ResponseWriter, r *http.Request) {
	atLeast := func(name string) int64 {
		n, _ := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
		return n
	}
	ctx, cancel := context.WithTimeout(r.Context(), WaitLimit)
	defer cancel()
	requests, cancelled := atLeast("requests"), atLeast("cancelled")
	err := u.Wait(ctx, func(s scriptedmodel.Stats) bool { return s.Requests >= requests && s.Cancelled >= cancelled })
	if err != nil {
		w.WriteHeader(http.StatusGatewayTimeout)
	}
	s := u.Stats()
	_, _ = fmt.Fprintf(w, `{"requests":%d,"cancelled":%d}`, s.Requests, s.Cancelled)
}

// CliKey creates a key with the command line, in a separate process.
func (g *Gateway) CliKey() string {
	out := g.Tool("keychain", "keys", "create", "--user", "ada", "--json")
	var created struct{ Key string }
	if err := json.Unmarshal([]byte(out), &created); err != nil || !strings.HasPrefix(created.Key, keychain.KeyPrefix) {
		g.T.Errorf("keys create: %v\n%s", err, out)
	}
	return created.Key
}
