package operation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// services is a node with all services, each on a separate port.
type services struct {
	*e2e.Node
	base map[string]string // URLs, by service
	// administration is the base URL of the administration of the authorization server.
	administration string
}

// newServices makes the node. global has lines for the global options, and tollgate lines for the option tollgate.
func newServices(t *testing.T, global, tollgate string) *services {
	t.Helper()
	url := func() string { return "http://localhost:" + e2e.FreePort(t) }
	s := &services{base: make(map[string]string), administration: url()}
	options := map[string]string{"authserver": "config keys.yaml", "events": "submit any\nread any"}
	config := "{\nadmin unix/data/admin.sock\npersist_config off\nstorage file_system data/caddy\n" + global + "\ntollgate {\n" + tollgate + "\n}\n}\n" +
		s.administration + " {\ntollgate authserver {\nconfig keys.yaml\nlistener admin\n}\n}\n"
	for _, service := range e2e.Services(t) {
		s.base[service] = url()
		config += s.base[service] + " {\ntollgate " + service + " {\n" + options[service] + "\n}\n}\n"
	}
	s.Node = e2e.NewNode(t, config)
	keys := "server: {issuer: '" + s.base["authserver"] + "'}\n"
	if err := os.WriteFile(s.Path("keys.yaml"), []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Tool("cms", "install", "--admin", "ann")
	return s
}

// begin starts the node and waits until every service is ready.
func (s *services) begin() {
	s.T.Helper()
	s.Start()
	for service := range s.base {
		s.await(service, "/readyz", http.StatusOK)
	}
}

// await waits until a service answers with a status and all parts.
func (s *services) await(service, path string, status int, parts ...string) {
	s.T.Helper()
	e2e.Eventually(s.T, e2e.WaitLimit, service+path, func() error {
		a := e2e.Get(s.T, e2e.Client, s.base[service]+path, "")
		if a.Err != nil || a.Status != status || slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(a.Body, part) }) {
			return fmt.Errorf("%d %s %w, want %d %q", a.Status, a.Body, a.Err, status, parts)
		}
		return nil
	})
}

// credentials returns, by service, the headers of a user who may send requests to the service.
func (s *services) credentials() map[string][]string {
	s.T.Helper()
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	all := make(map[string][]string)
	user := bearer(strings.TrimSpace(s.Tool("keychain", "token", "ada")))
	var reply struct {
		Key struct{ Key string }
	}
	a := e2e.Do(s.T, e2e.Client, http.MethodPost, s.base["gateway"]+"/users/init", "", "", user...)
	if err := json.Unmarshal([]byte(a.Body), &reply); err != nil || reply.Key.Key == "" {
		s.T.Fatalf("%d %s", a.Status, a.Body)
	}
	all["gateway"], all["gateway, a user"] = bearer(reply.Key.Key), user
	return all
}

// offline returns the credentials that are created before the node starts.
func (s *services) offline() map[string][]string {
	s.T.Helper()
	all := map[string][]string{"answer": {"X-Api-Key", strings.TrimSpace(s.Tool("answer", "key", "create", "--label", "desk"))}}
	tokens := gjson.Get(s.Tool("board", "seed", "--fixture", e2e.Repo("backends/board/testdata/fixture.json"), "--json"), `tokens.#(name=="alice").token`).Str
	if tokens == "" {
		s.T.Fatal("alice has no token")
	}
	all["board"] = []string{"Authorization", "Bearer " + tokens}
	return all
}

// documents has the paths of the OpenAPI documents, by service.
var documents = map[string]string{"board": "/api/v1/openapi.json", "events": "/store/openapi.json", "gateway": "/openapi.json"}

// documented calls f with every operation in the services' OpenAPI documents.
func (s *services) documented(f func(service, method, path string, body bool)) {
	s.T.Helper()
	for service, docPath := range documents {
		document := gjson.Parse(e2e.Get(s.T, e2e.Client, s.base[service]+docPath, "").Body)
		server := document.Get("servers.0.url").Str
		if i := strings.Index(server, "://"); i >= 0 {
			_, server, _ = strings.Cut(server[i+3:], "/")
			server = "/" + server
		}
		n := 0
		document.Get("paths").ForEach(func(path, item gjson.Result) bool {
			for part := range strings.SplitSeq(path.Str, "/") {
				if strings.HasPrefix(part, "{") {
					path.Str = strings.ReplaceAll(path.Str, part, "1")
				}
			}
			item.ForEach(func(method, operation gjson.Result) bool {
				if operation.Get("responses").Exists() {
					f(service, strings.ToUpper(method.Str), strings.TrimSuffix(server, "/")+path.Str, operation.Get("requestBody").Exists())
					n++
				}
				return true
			})
			return true
		})
		if n < 5 {
			s.T.Errorf("%s describes %d operations", service, n)
		}
	}
}

// covers fails the test if the table of a test has no entry for a service.
func covers[T any](t *testing.T, table map[string][]T) {
	t.Helper()
	for _, service := range e2e.Services(t) {
		if len(table[service]) == 0 {
			t.Errorf("nothing of %s is looked at", service)
		}
	}
}

// TestDeclaredTooLarge checks that a body whose declared length exceeds the limit of a service is refused before it is
// sent: the server sends no 100 Continue.
func TestDeclaredTooLarge(t *testing.T) {
	t.Parallel()
	s := newServices(t, "", "")
	headers := s.offline()
	s.begin()
	maps.Copy(headers, s.credentials())
	type call struct {
		path, kind string
		as         string // whose headers to send; empty: none
		status     string
	}
	const object, form = "application/json", "application/x-www-form-urlencoded"
	calls := map[string][]call{
		"answer":     {{"/v1/answer", object, "answer", "413"}},
		"authserver": {{"/oauth/token", form, "", "400"}, {"/oauth/introspect", form, "", "413"}, {"/oauth/revoke", form, "", "413"}, {"/oauth/register", object, "", "413"}, {"/oauth/userinfo", form, "", "413"}, {"/oauth/logout", form, "", "413"}, {"/oauth/authorize", form, "", "413"}, {"/login", form, "", "413"}, {"/device", form, "", "413"}},
		"board":      {{"/api/v1/forums/4/threads", object, "board", "413"}, {"/api/v1/threads/1/posts/1/attachments?name=a.txt", "text/plain", "board", "413"}, {"/login", form, "", "413"}, {"/forums/4/new", "multipart/form-data; boundary=x", "", "413"}},
		"cms":        {{"/api/auth", object, "", "413"}, {"/api/nothing", object, "", "413"}, {"/admin/login", form, "", "413"}},
		"events":     {{"/store/cmd/v1", object, "", "413"}, {"/store/query/v4/events", object, "", "413"}, {"/store/query/v4", object, "", "413"}},
		"gateway":    {{"/v1/chat/completions", object, "gateway", "413"}, {"/v1/messages", object, "gateway", "413"}, {"/v1/responses", object, "gateway", "413"}, {"/v1/messages/count_tokens", object, "gateway", "413"}, {"/v1/responses/input_tokens", object, "gateway", "413"}, {"/users/ada/keychain-keys", object, "gateway, a user", "413"}},
		"home":       {{"/_tollgate/logout", form, "", "413"}},
	}
	covers(t, calls)
	// first returns the first line of the answer to a request whose body has not been sent.
	first := func(base, method, path, kind string, header []string) string {
		conn := e2e.Dial(t, base)
		defer conn.Close()
		more := ""
		for pair := range slices.Chunk(header, 2) {
			more += pair[0] + ": " + pair[1] + "\r\n"
		}
		_, _ = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nAccept: */*\r\n%sExpect: 100-continue\r\nContent-Length: 400000000\r\n\r\n",
			method, path, strings.TrimPrefix(base, "http://"), kind, more)
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		if err != nil {
			rest, _ := io.ReadAll(io.LimitReader(in, 1000))
			t.Errorf("%s %s%s: %v\n%s", method, base, path, err, rest)
		}
		return line
	}
	for service, list := range calls {
		for _, c := range list {
			if line := first(s.base[service], http.MethodPost, c.path, c.kind, headers[c.as]); !strings.HasPrefix(line, "HTTP/1.1 "+c.status+" ") {
				t.Errorf("%s %s: %q", service, c.path, line)
			}
		}
	}
	if line := first(s.administration, http.MethodPost, "/admin/clients", object, nil); !strings.HasPrefix(line, "HTTP/1.1 4") {
		t.Errorf("the administration: %q", line)
	}
	s.documented(func(service, method, path string, body bool) {
		if !body {
			return
		}
		// The request may be refused for another reason, such as a missing resource.
		if line := first(s.base[service], method, path, object, headers[service]); !strings.HasPrefix(line, "HTTP/1.1 4") && !strings.HasPrefix(line, "HTTP/1.1 503 ") {
			t.Errorf("%s %s %s: %q", service, method, path, line)
		}
	})
}

// TestNoSniff checks that every answer of a service forbids browsers to guess its type.
func TestNoSniff(t *testing.T) {
	t.Parallel()
	s := newServices(t, "", "")
	headers := s.offline()
	s.begin()
	maps.Copy(headers, s.credentials())
	check := func(base, method, path string, header ...string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		for pair := range slices.Chunk(header, 2) {
			r.Header.Set(pair[0], pair[1])
		}
		a, err := e2e.Client.Transport.RoundTrip(r) // does not follow redirects
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if got := a.Header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
			t.Errorf("%s %s%s: %d, %q", method, base, path, a.StatusCode, got)
		}
	}
	calls := map[string][]string{
		"answer":     {"GET /", "POST /v1/answer", "GET /v1/answer", "GET /v1/quota", "GET /v1/answers/ans_none", "GET /v1/sources/nothing"},
		"authserver": {"GET /", "GET /login", "POST /login", "GET /security", "GET /assets/nothing.css", "GET /.well-known/oauth-authorization-server", "GET /.well-known/jwks.json", "POST /oauth/token", "GET /oauth/token", "POST /oauth/register", "GET /oauth/userinfo", "GET /oauth/authorize", "OPTIONS /oauth/token", "GET /health", "GET /ready", "GET /device"},
		"board":      {"GET /", "GET /nothing", "GET /feed.atom", "GET /assets/nothing.css", "GET //", "GET /forums/4/../5", "GET /forums/1", "DELETE /login", "POST /login", "GET /account", "GET /api/v1", "GET /api/v1/nothing", "OPTIONS /api/v1/forums", "DELETE /api/v1/forums", "GET /api/v1//forums"},
		"cms":        {"GET /api", "GET /api/", "GET /api/users", "GET /api/nothing", "POST /api/auth", "OPTIONS /api/auth", "PUT /api/auth", "GET /api/content/path/home", "GET /admin", "GET /admin/", "GET /admin/login", "POST /admin/login", "GET /admin/nothing", "GET /admin//login", "GET /admin/assets/nothing.css"},
		"events":     {"GET /store", "GET /store/query/v4/events", "GET /store/query/v4/events?query=[", "GET /store/status/v1/simple", "GET /store/dashboard/nothing.js", "GET /store/nothing", "POST /store/cmd/v1", "DELETE /store/meta/v1/version"},
		"gateway":    {"GET /", "GET /health", "GET /models", "GET /docs", "GET /console", "GET /console/", "GET /console/nothing.js", "GET /v1/models", "POST /v1/chat/completions", "POST /v1/messages", "GET /v1/nothing", "POST /v1/messages/count_tokens", "POST /v1/responses/input_tokens", "GET /users/ada/keychain-keys", "GET /nothing"},
		"home":       {"GET /", "GET /_tollgate", "GET /_tollgate/", "GET /_tollgate/docs", "GET /_tollgate/docs/search?q=x", "GET /_tollgate/docs/images/console-light.svg", "GET /_tollgate/nothing", "GET /_tollgate/login", "POST /_tollgate/logout", "GET /_tollgate/assets/home.css", "GET /_tollgate/assets/nothing.css"},
	}
	covers(t, calls)
	for service, base := range s.base {
		if service != withoutHealth {
			calls[service] = append(calls[service], "GET /livez", "GET /readyz", "POST /readyz")
		}
		for _, call := range calls[service] {
			method, path, _ := strings.Cut(call, " ")
			for _, client := range []string{"", service, service + ", a user"} {
				if client == "" || headers[client] != nil {
					check(base, method, path, headers[client]...)
				}
			}
			check(base, method, path, "Authorization", "Bearer bad", "X-Api-Key", "bad")
		}
	}
	for _, path := range []string{"/admin/ui", "/admin/clients", "/livez", "/metrics"} {
		check(s.administration, http.MethodGet, path)
	}
	s.documented(func(service, method, path string, _ bool) { check(s.base[service], method, path, headers[service]...) })
	check(s.base["gateway"], http.MethodOptions, "/v1/chat/completions", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
}

// withoutHealth is the service whose site shows the health of the other services.
const withoutHealth = "home"

// TestHealthOfServices checks that each service reports whether it is alive and ready, and that a service that is being
// stopped is no longer ready, but still serves.
func TestHealthOfServices(t *testing.T) {
	t.Parallel()
	redis := testenv.NewRedis(t)
	s := newServices(t, "shutdown_delay 1h", "counters redis "+redis.URL()+"\ndatabase board sqlite data/board.db")
	all := "http://localhost:" + e2e.FreePort(t)
	text, err := os.ReadFile(s.Path("Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	s.Configure(string(text) + all + " {\nhealth\nrespond served\n}\n")
	s.begin()
	unsealed := []string{"authserver", "events"} // these have no sealed secrets in the database
	awaitAll := func(path string, status int, parts ...string) {
		t.Helper()
		for service := range s.base {
			if service != withoutHealth {
				s.await(service, path, status, parts...)
			}
		}
	}
	awaitAll("/livez", http.StatusOK, `"status":"ok"`)
	awaitAll("/readyz", http.StatusOK, `"status":"ok"`, `"database":"ok"`, `"counters":"ok"`, `"node":"ok"`)
	for service := range s.base {
		if service != withoutHealth && !slices.Contains(unsealed, service) {
			s.await(service, "/readyz", http.StatusOK, `"keyring":"ok"`)
		}
	}
	if a := e2e.Get(t, e2e.Client, all+"/readyz", ""); !strings.Contains(a.Body, `"database/board":"ok"`) || !strings.Contains(a.Body, `"database/cms":"ok"`) && !strings.Contains(a.Body, `"database":"ok"`) || !strings.Contains(a.Body, `"keyring":"ok"`) {
		t.Errorf("all of the configuration: %s", a.Body)
	}
	redis.Stop()
	awaitAll("/readyz", http.StatusServiceUnavailable, `"status":"unavailable"`, `"database":"ok"`, `"counters":"unavailable"`)
	awaitAll("/livez", http.StatusOK, `"status":"ok"`)
	s.await("gateway", "/health", http.StatusServiceUnavailable, `"counters":"unavailable"`)
	redis.Start()
	awaitAll("/readyz", http.StatusOK, `"counters":"ok"`)

	if err := s.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	awaitAll("/readyz", http.StatusServiceUnavailable, `"database":"ok"`, `"node":"unavailable"`)
	awaitAll("/livez", http.StatusOK, `"status":"ok"`)
	for service, path := range map[string]string{
		"answer": "/v1/quota", "authserver": "/login", "board": "/", "cms": "/api/users", "events": "/store/meta/v1/version", "gateway": "/providers",
	} {
		if a := e2e.Get(t, e2e.Client, s.base[service]+path, ""); a.Err != nil || a.Status >= 500 {
			t.Errorf("%s does not serve on: %d %s %v", service, a.Status, a.Body, a.Err)
		}
	}
	s.Kill()
}
