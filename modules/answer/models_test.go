package answer

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
	_ "github.com/caddyserver/caddy/v2/modules/logging"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	_ "github.com/tollgate-gateway/tollgate/modules/apiauth"
	_ "github.com/tollgate-gateway/tollgate/modules/apierrors"
	_ "github.com/tollgate-gateway/tollgate/modules/counters/memory"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// upstream is a provider whose model answers with the text of the passages, and approves every draft as a judge.
type upstream struct {
	*httptest.Server
	name  string
	asked atomic.Int64
	down  atomic.Bool
	// If hold is not nil, drafts wait until it is closed. held gets a value for each waiting draft.
	hold, held chan struct{}
}

func newUpstream(t *testing.T, name string) *upstream {
	t.Helper()
	u := &upstream{name: name}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) Close() {
	u.CloseClientConnections()
	u.Server.Close()
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "no request", http.StatusNotFound)
		return
	}
	u.asked.Add(1)
	if u.down.Load() {
		http.Error(w, `{"error":{"message":"down"}}`, http.StatusInternalServerError)
		return
	}
	text := `{"grounded":1,"responsive":1}`
	if gjson.GetBytes(body, "response_format").Type == gjson.Null {
		text = "As " + u.name + " has it, revenue of Fenwick Industries was $412.5 million in fiscal 2025 [p1]."
		if u.hold != nil {
			u.held <- struct{}{}
			select {
			case <-u.hold:
			case <-r.Context().Done():
				return
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": gjson.GetBytes(body, "model").Str,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": text}}},
		"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
	})
}

// site is a server with a gateway and the answer API.
type site struct {
	t   *testing.T
	dir string
	key string
}

const question = "What was the total revenue of Fenwick Industries in fiscal 2025?"

// newSite loads a configuration, with a corpus that contains a report.
func newSite(t *testing.T, providers, options string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	if err := s.load("route {\n cascade {\n anonymous\n }\n }", providers, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Error(err)
		}
	})
	n := s.node()
	if err := n.db.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.server.Corpus.Put(t.Context(), fileformat.Source{
		Title: "Annual report", URL: "https://filings.example.test/fenwick", Issuer: fileformat.Company{Name: "Fenwick Industries"}, Fiscal: "FY2025",
		Pages: []fileformat.Page{{Text: "Fenwick Industries reported total revenue of $412.5 million in fiscal 2025, against $380.0 million in fiscal 2024."}},
	}); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.key, _, err = n.server.Accounts.Create(t.Context(), accounts.NewKey{Label: "desk"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// load loads a configuration with the routes of the models, the providers of the catalog and the options of answer.
func (s *site) load(models, providers, options string) error {
	s.t.Helper()
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(fmt.Appendf(nil, `{
	admin off
	auto_https off
	persist_config off
	storage file_system %[1]s
	log {
		output discard
	}
	tollgate {
		database sqlite %[2]s
		keyring aes {
			file %[3]s
		}
		catalog {
			%[5]s
		}
	}
}
http://localhost:0 {
	route /v1/answer {
		answer {
			rate 1000
			cache off
			%[6]s
		}
	}
	%[4]s
}
`, s.dir, filepath.Join(s.dir, "tollgate.db"), filepath.Join(s.dir, "tollgate.key"), models, providers, options), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return caddy.Load(adapted, true)
}

// node returns the service of the running configuration.
func (s *site) node() *node {
	s.t.Helper()
	for n := range tollgate.Shared[*node](nodes) {
		if n.newest.App() == s.app("tollgate") {
			return n
		}
	}
	s.t.Fatal("there is no service")
	return nil
}

// app returns an app of the running configuration.
func (s *site) app(name string) any {
	s.t.Helper()
	app, err := caddy.ActiveContext().App(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return app
}

func (s *site) gateway() *gateway.Gateway {
	s.t.Helper()
	g, err := s.app("tollgate.gateway").(*gatewayapp.App).Gateway()
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

// ask sends a question to the server of the running configuration.
func (s *site) ask() *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost/v1/answer", strings.NewReader(`{"query":"`+question+`"}`))
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {s.key}}
	for _, server := range s.app("http").(*caddyhttp.App).Servers {
		server.ServeHTTP(w, r)
	}
	return w
}

// answered checks that the response has a status, and an answer or an error code that contains says.
func (s *site) answered(status int, says string) {
	s.t.Helper()
	if w := s.ask(); w.Code != status || !strings.Contains(gjson.Get(w.Body.String(), "result.answer").Str, says) && gjson.Get(w.Body.String(), "error").Str != says {
		s.t.Fatalf("%d %s, want %d %s", w.Code, w.Body, status, says)
	}
}

// used returns the usage of a user from the usage log.
func (s *site) used(user string) spending.UsageSums {
	s.t.Helper()
	g := s.gateway()
	if err := g.Usage.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	report, err := g.Spending.Usage(s.t.Context(), user, spending.UsageQuery{})
	if err != nil {
		s.t.Fatal(err)
	}
	return report.Totals
}

// user makes a user with a key of a provider, and a gateway key.
func (s *site) user(name string, o keychain.KeyOptions, providers ...string) string {
	s.t.Helper()
	k := s.gateway().Keychain
	if _, _, _, err := k.InitUser(s.t.Context(), name); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range providers {
		if _, err := k.AddProviderKey(s.t.Context(), name, p, "sk-"+p+"-not-a-secret", "", func(string) bool { return true }); err != nil {
			s.t.Fatal(err)
		}
	}
	key, err := k.CreateKey(s.t.Context(), name, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return key.Key
}

func provider(code string, u *upstream) string {
	return "provider " + code + " {\n base_url " + u.URL + "/v1\n }\n"
}

// TestCascade checks that a user's models answer. If a provider is down, the models of another provider answer; without
// any model there is a 503 or an answer by rules. Each request is in the usage log.
func TestCascade(t *testing.T) { // not parallel: Caddy runs one configuration
	first, second := newUpstream(t, "openai"), newUpstream(t, "groq")
	s := newSite(t, provider("openai", first)+provider("groq", second), "model cascade {\n user desk\n }")
	s.answered(http.StatusServiceUnavailable, "ServiceUnavailable") // the user desk has no provider key
	s.user("desk", keychain.KeyOptions{}, "openai", "groq")
	s.answered(http.StatusOK, "revenue of Fenwick Industries was $412.5 million")
	if got := s.used("desk"); got.Succeeded != 2 || got.Requests != 3 || got.InputTokens != 200 || got.OutputTokens != 20 { // a draft and its judge
		t.Errorf("used: %+v", got)
	}
	primary, other := first, second
	if second.asked.Load() > 0 {
		primary, other = second, first
	}
	primary.down.Store(true)
	s.answered(http.StatusOK, "As "+other.name+" has it")
	other.down.Store(true)
	s.answered(http.StatusServiceUnavailable, "ServiceUnavailable")
	before := s.used("desk").Requests
	if err := s.load("route {\n cascade {\n anonymous\n }\n }", provider("openai", first)+provider("groq", second), "model cascade {\n user desk\n extract_when_down\n }"); err != nil {
		t.Fatal(err)
	}
	s.answered(http.StatusOK, "$412.5 million")
	if got := s.used("desk").Requests; got != before+1 {
		t.Errorf("%d requests, then %d", before, got)
	}
}

// TestCascadeReload checks that the service, which outlives configurations, calls the gateway of the newest
// one, and that a configuration that is refused changes nothing.
func TestCascadeReload(t *testing.T) { // not parallel: Caddy runs one configuration
	const models = "route {\n cascade {\n anonymous\n }\n }"
	old, young := newUpstream(t, "old"), newUpstream(t, "young")
	s := newSite(t, provider("openai", old), "model cascade {\n user answer\n }")
	s.user("answer", keychain.KeyOptions{}, "openai")
	s.answered(http.StatusOK, "As old has it")
	before := s.node()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	refused := models + "\n}\nhttp://127.0.0.1:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port) + " {\n bind 127.0.0.1\n"
	if err := s.load(refused, provider("openai", young), "model cascade {\n user answer\n }"); err == nil {
		t.Fatal("a port that is taken is listened on: this tests nothing")
	}
	s.answered(http.StatusOK, "As old has it")

	old.hold, old.held = make(chan struct{}), make(chan struct{}, 1)
	asking := make(chan *httptest.ResponseRecorder, 1)
	go func() { asking <- s.ask() }()
	<-old.held
	if err := s.load(models, provider("openai", young), "model cascade {\n user answer\n }"); err != nil {
		t.Fatal(err)
	}
	if s.node() != before {
		t.Fatal("the service was replaced: this tests nothing")
	}
	s.answered(http.StatusOK, "As young has it")
	close(old.hold)
	if w := <-asking; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "As old has it") {
		t.Errorf("under way: %d %s", w.Code, w.Body)
	}
	if got := s.used("answer").Requests; got != 8 {
		t.Errorf("%d requests", got)
	}
}

// TestCascadeKey checks that a gateway key limits the spending and the models.
func TestCascadeKey(t *testing.T) { // not parallel: Caddy runs one configuration
	const models = "route {\n cascade {\n anonymous\n }\n }"
	up := newUpstream(t, "openai")
	s := newSite(t, provider("openai", up), "model cascade {\n key gw_unknown\n }")
	s.answered(http.StatusServiceUnavailable, "ServiceUnavailable")
	limit := int64(440)
	key := s.user("treasury", keychain.KeyOptions{Limits: keychain.Limits{Budgets: keychain.Budgets{TokensPerDay: &limit}}}, "openai")
	if err := s.load(models, provider("openai", up), "model cascade {\n key "+key+"\n }"); err != nil {
		t.Fatal(err)
	}
	s.answered(http.StatusOK, "As openai has it")
	s.answered(http.StatusOK, "As openai has it")
	s.answered(http.StatusServiceUnavailable, "ServiceUnavailable")
	if got := s.used("treasury"); got.Requests != 4 || up.asked.Load() != 4 {
		t.Errorf("%+v of %d", got, up.asked.Load())
	}
	other := s.user("treasury", keychain.KeyOptions{Limits: keychain.Limits{AllowedModels: []string{"groq/*"}}})
	if err := s.load(models, provider("openai", up), "model cascade {\n key "+other+"\n }"); err != nil {
		t.Fatal(err)
	}
	s.answered(http.StatusServiceUnavailable, "ServiceUnavailable")
	if up.asked.Load() != 4 {
		t.Errorf("%d were asked", up.asked.Load())
	}
}

// TestCascadeTransport checks that requests go to the newest running configuration, and to the last configuration after
// it has ended.
func TestCascadeTransport(t *testing.T) {
	t.Parallel()
	var d cascadeTransport
	ways := make([]http.RoundTripper, 4)
	check := func(want int) {
		t.Helper()
		if got := d.newest(); want < 0 && got != nil || want >= 0 && got != &ways[want] {
			t.Errorf("it does not lead to %d", want)
		}
	}
	check(-1)
	d.disconnect(&ways[0]) // this configuration has never started
	check(-1)
	d.connect(&ways[0])
	d.connect(&ways[1])
	check(1)
	d.disconnect(&ways[1]) // this configuration was refused
	check(0)
	d.connect(&ways[2])
	d.disconnect(&ways[0])
	check(2)
	d.disconnect(&ways[2])
	check(2)
	d.connect(&ways[3])
	check(3)
	d.disconnect(&ways[3])
	check(3)
}
