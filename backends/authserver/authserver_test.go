package authserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

var noon = time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)

// serve starts a server with a configuration on a database.
func serve(t *testing.T, db *store.DB, text string) *authserver.Server {
	t.Helper()
	return serveLogged(t, db, text, zap.NewNop)
}

// serveLogged starts a server like serve, with a logger.
func serveLogged(t *testing.T, db *store.DB, text string, logger func() *zap.Logger) *authserver.Server {
	t.Helper()
	folder := t.TempDir()
	cfg, err := config.Parse([]byte(text), func(name string) (string, bool) {
		if name == "AUTHSERVER_SIGNING_KEY_PATH" {
			return folder, true
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return noon }
	shared := counters.NewMemory(now)
	s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: db, Counters: shared, Key: make([]byte, 32), Logger: logger, Now: now, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil { // a second start changes nothing
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(h http.Handler, method, path string) (*httptest.ResponseRecorder, map[string]any) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	var body map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &body)
	return w, body
}

// stored requests a path until its response has the given status, since the keys of the configuration that list clients
// and resources are stored in the background.
func stored(t *testing.T, s *authserver.Server, path string, status int) (body map[string]any) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		w, body := get(s.Public(), http.MethodGet, path)
		if w.Code == status {
			return body
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestHealth checks that a database that does not answer is reported by all health routes except livez.
func TestHealth(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := serve(t, db, "")
		for _, path := range []string{"/health", "/ready"} {
			w, body := get(s.Public(), http.MethodGet, path)
			if w.Code != http.StatusOK || body["status"] != "ok" || body["db"] != "ok" || body["time"] != "2031-05-06T12:00:00Z" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/health", "/ready"} {
			if w, body := get(s.Public(), http.MethodGet, path); w.Code != http.StatusServiceUnavailable || body["status"] != "degraded" || body["db"] != "error" {
				t.Errorf("%s without a database: %d %s", path, w.Code, w.Body)
			}
		}
		if w, body := get(s.Public(), http.MethodGet, "/livez"); w.Code != http.StatusOK || body["status"] != "ok" {
			t.Errorf("livez: %d %s", w.Code, w.Body)
		}
	})
}

// TestSite checks the responses to unknown paths and methods.
func TestSite(t *testing.T) {
	t.Parallel()
	s := serve(t, databases.SQLite(t), "")
	for _, test := range []struct {
		method, path string
		status       int
		owns         bool
	}{
		{http.MethodHead, "/livez", http.StatusOK, true},
		{http.MethodPost, "/livez", http.StatusMethodNotAllowed, true},
		{http.MethodGet, "/livez/", http.StatusNotFound, false},
		{http.MethodGet, "//livez", http.StatusNotFound, false},
		{http.MethodGet, "/nothing", http.StatusNotFound, false},
	} {
		w, body := get(s.Public(), test.method, test.path)
		if w.Code != test.status || s.Owns(false, httptest.NewRequest(test.method, test.path, nil)) != test.owns {
			t.Errorf("%s %s: %d %s", test.method, test.path, w.Code, w.Body)
		}
		if w.Code == http.StatusMethodNotAllowed && (w.Header().Get("Allow") != "GET, HEAD" || body["error"] != "invalid_request") {
			t.Errorf("%v %s", w.Header(), w.Body)
		}
		if s.Owns(true, httptest.NewRequest(test.method, test.path, nil)) {
			t.Errorf("%s is also served by the administration API", test.path)
		}
	}
}

// TestPepperGone checks that after an operator has removed the pepper, the log and the administration API warn of the
// clients whose secrets were stored under it.
func TestPepperGone(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		admin := func(s *authserver.Server, method, path, body string) string {
			t.Helper()
			r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
			r.RemoteAddr = "127.0.0.1:1"
			w := httptest.NewRecorder()
			if s.Admin().ServeHTTP(w, r); w.Code/100 != 2 {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
			return w.Body.String()
		}
		const warning = "client_secret_pepper is not set, but the secrets of some clients"
		srv := serve(t, db, "client_secret_pepper: a pepper\n")
		admin(srv, http.MethodPost, "/admin/clients", `{"client_name":"C","grant_types":["client_credentials"],"scope":"x"}`)
		if text := admin(srv, http.MethodGet, "/admin/notices", ""); strings.Contains(text, warning) {
			t.Error(text)
		}
		logged := make(chan string, 100)
		logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.WarnLevel), zap.Hooks(func(e zapcore.Entry) error {
			logged <- e.Message
			return nil
		}))
		restarted := serveLogged(t, db, "", func() *zap.Logger { return logger })
		if text := admin(restarted, http.MethodGet, "/admin/notices", ""); !strings.Contains(text, warning) {
			t.Error(text)
		}
		for {
			select {
			case message := <-logged:
				if strings.HasPrefix(message, warning) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatal("it is not in the log")
			}
		}
	})
}

// TestMounted checks that an issuer with a path is served at that path, and without it behind a proxy that removes it.
func TestMounted(t *testing.T) {
	t.Parallel()
	s := serve(t, databases.SQLite(t), "server: {issuer: 'http://localhost:9000/auth'}")
	for path, status := range map[string]int{
		"/auth/livez": http.StatusOK, "/livez": http.StatusOK, "/auth": http.StatusOK, "/auth/": http.StatusOK, "/auth/login": http.StatusOK, "/auth/oauth/userinfo": http.StatusUnauthorized,
		"/auth/.well-known/openid-configuration": http.StatusOK, "/.well-known/oauth-authorization-server/auth": http.StatusOK,
		"/authlivez": http.StatusNotFound, "/auth/auth/livez": http.StatusNotFound, "/other/livez": http.StatusNotFound, "/auth//livez": http.StatusNotFound,
		"/auth/.well-known/oauth-protected-resource/a%2Fb": http.StatusNotFound,
	} {
		w, body := get(s.Public(), http.MethodGet, path)
		owns := s.Owns(false, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != status || owns != (status != http.StatusNotFound || strings.Contains(path, "resource")) {
			t.Errorf("%s: %d %s, owned: %t", path, w.Code, w.Body, owns)
		}
		if body["issuer"] != nil && body["token_endpoint"] != "http://localhost:9000/auth/oauth/token" {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/auth/livez", nil)
	if s.Public().ServeHTTP(httptest.NewRecorder(), r); r.Pattern != "/livez" || r.URL.Path != "/auth/livez" {
		t.Errorf("afterwards the request has the URL %s and the pattern %q", r.URL, r.Pattern)
	}
	if w, _ := get(s.Public(), http.MethodGet, "/auth/login"); !strings.Contains(w.Body.String(), `action="/auth/login"`) {
		t.Errorf("the form has another action: %s", w.Body)
	}
}

// TestIssuerIgnoresHost checks that the server uses its configured issuer, whatever host a request names.
func TestIssuerIgnoresHost(t *testing.T) {
	t.Parallel()
	s := serve(t, databases.SQLite(t), "server: {issuer: 'http://localhost:9000'}\nrate_limit: {enabled: false}\nresources: [{slug: notes, uri: 'https://notes.example/mcp'}]\nclients: [{client_id: app, redirect_uris: ['https://app.example/cb']}]")
	request := "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {"https://app.example/cb"}, "scope": {"openid"}, "code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"},
	}.Encode()
	stored(t, s, request, http.StatusFound)
	stored(t, s, "/.well-known/oauth-protected-resource/notes", http.StatusOK)
	for _, path := range []string{
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/.well-known/oauth-protected-resource/notes", request, request + "&prompt=none", "/login", "/", "/device", "/oauth/logout",
	} {
		plain, _ := get(s.Public(), http.MethodGet, path)
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "evil.example"
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Server", "X-Original-Url", "X-Rewrite-Url"} {
			r.Header.Set(name, "evil.example")
		}
		r.Header.Set("Forwarded", "host=evil.example;proto=http")
		w := httptest.NewRecorder()
		s.Public().ServeHTTP(w, r)
		if text := fmt.Sprint(w.Header(), w.Body); w.Code != plain.Code || strings.Contains(text, "evil.example") {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, plain.Code, text)
		}
	}
}

// TestNew checks the required options of a server.
func TestNew(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse(nil, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	shared := counters.NewMemory(time.Now)
	defer func() { _ = shared.Close() }()
	db := databases.SQLite(t)
	for _, o := range []authserver.Options{{}, {Config: cfg, DB: db}, {Config: cfg, DB: db, Counters: shared}} {
		if _, err := authserver.New(o); err == nil {
			t.Errorf("a server is created with %+v", o)
		}
	}
	if err := authserver.Try(cfg); err != nil {
		t.Error(err)
	}
	for entry, want := range map[string]string{
		"clients: [{client_id: bad}]":                                                         "redirect_uris is required",
		"clients: [{client_id: bad, redirect_uris: ['http://app.example/cb']}]":               "must be https",
		"clients: [{client_id: bad, grant_types: [client_credentials]}]":                      "token_endpoint_auth_method must not be none",
		"clients: [{client_id: bad, redirect_uris: ['https://a.example'], jwks: {keys: []}}]": "jwks must be",
		"resources: [{slug: UPPER, uri: 'https://a.example'}]":                                "slug must be",
	} {
		cfg, err := config.Parse([]byte(entry), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: db, Counters: shared, Key: make([]byte, 32)}); err == nil || !strings.Contains(err.Error(), `[0]`) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", entry, err)
		}
		if err := authserver.Try(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: tried: %v", entry, err)
		}
	}
}

// TestEndpoints checks that the endpoints of all packages are served as configured.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := serve(t, db, "server: {issuer: 'https://as.example'}\nsession: {secret: '0123456789abcdef0123456789abcdef'}\nadmin: {api_key: '0123456789abcdef0123456789abcdef'}\n"+
			"rate_limit: {enabled: false}\n"+
			"resources: [{slug: mail, uri: 'https://api.example/mail', display_name: Mail, scopes: [{name: read}], policy: {runtime: {client_ids: [gate]}}}]")
		w, body := get(s.Public(), http.MethodGet, "/.well-known/openid-configuration")
		if w.Code != http.StatusOK || body["issuer"] != "https://as.example" || body["userinfo_endpoint"] == nil || body["device_authorization_endpoint"] == nil || body["registration_endpoint"] == nil {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w, body := get(s.Public(), http.MethodGet, "/.well-known/jwks.json"); w.Code != http.StatusOK || len(body["keys"].([]any)) != 1 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if body := stored(t, s, "/.well-known/oauth-protected-resource/mail", http.StatusOK); body["resource_name"] != "Mail" {
			t.Errorf("%v", body)
		}
		for _, path := range []string{"/oauth/token", "/oauth/introspect", "/oauth/revoke", "/oauth/device_authorization"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("grant_type=client_credentials&client_id=x"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if s.Public().ServeHTTP(w, r); w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Body.String(), `{"error":"invalid_client",`) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}

// TestPushed checks a client that registers itself and pushes a request, with which a browser then continues.
func TestPushed(t *testing.T) {
	t.Parallel()
	s := serve(t, databases.SQLite(t), "")
	post := func(path, kind, body string) (*httptest.ResponseRecorder, map[string]any) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		s.Public().ServeHTTP(w, r)
		var reply map[string]any
		_ = json.Unmarshal(w.Body.Bytes(), &reply)
		return w, reply
	}
	_, client := post("/oauth/register", "application/json", `{"redirect_uris":["https://c.example/cb"],"token_endpoint_auth_method":"none"}`)
	id, _ := client["client_id"].(string)
	const form = "application/x-www-form-urlencoded"
	w, reply := post("/oauth/par", form, "client_id="+id+"&response_type=code&scope=openid&code_challenge_method=S256&code_challenge="+strings.Repeat("c", 43))
	uri, _ := reply["request_uri"].(string)
	if w.Code != http.StatusCreated || uri == "" || reply["expires_in"] != float64(90) || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w, reply := post("/oauth/par", form, "client_id="+id+"&response_type=code&scope=openid"); w.Code != http.StatusBadRequest || reply["error"] != "invalid_request" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	path := "/oauth/authorize?" + url.Values{"client_id": {id}, "request_uri": {uri}}.Encode()
	for i, want := range []int{http.StatusFound, http.StatusBadRequest} {
		if w, _ := get(s.Public(), http.MethodGet, path); w.Code != want {
			t.Errorf("request %d: %d %s", i, w.Code, w.Body)
		}
	}
}

// TestLimit checks that the rate limit does not apply to health checks.
func TestLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, databases.SQLite(t), "rate_limit: {requests_per_second: 1, burst: 2}")
	for i, want := range []int{200, 200, 429, 429} {
		w, body := get(s.Public(), http.MethodGet, "/.well-known/jwks.json")
		if w.Code != want || want == http.StatusTooManyRequests && (w.Header().Get("Retry-After") != "1" || body["error"] != "slow_down" || body["error_description"] != "rate limit exceeded") {
			t.Errorf("request %d: %d %s", i, w.Code, w.Body)
		}
		if w, _ := get(s.Public(), http.MethodGet, "/livez"); w.Code != http.StatusOK {
			t.Errorf("livez: %d", w.Code)
		}
	}
}

// TestIssuerPath checks that the links of the pages contain the path of the issuer behind a proxy that removes it.
func TestIssuerPath(t *testing.T) {
	t.Parallel()
	s := serve(t, databases.SQLite(t), `server: {issuer: "http://localhost:9000/id"}`)
	w, _ := get(s.Public(), http.MethodGet, "/login?redirect=/consent")
	if page := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(page, `action="/id/login"`) || !strings.Contains(page, `href="/id/assets/authserver.css?v=`) || !strings.Contains(page, `value="/consent"`) {
		t.Errorf("%d %s", w.Code, page)
	}
	if w, _ := get(s.Public(), http.MethodGet, "/assets/logo.svg"); w.Code != http.StatusOK {
		t.Errorf("the icon: %d", w.Code)
	}
}
