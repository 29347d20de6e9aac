package protocol_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/protocol"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
)

const jsonType = "application/json"

func (s *server) register(tb testing.TB, document string) answer {
	tb.Helper()
	return s.do(tb, http.MethodPost, "/oauth/register", jsonType, document)
}

// same compares JSON, where "*" stands for any text.
func same(tb testing.TB, got map[string]any, want string) {
	tb.Helper()
	var expected map[string]any
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		tb.Fatal(err)
	}
	for member, value := range expected {
		if text, ok := got[member].(string); value == "*" && ok && text != "" {
			got[member] = "*"
		}
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(expected)
	if string(a) != string(b) {
		tb.Errorf("%s\nwant %s", a, b)
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, settings{clients: clients.Options{DefaultScope: []string{"read"}}})
		now := k.Clock.Now().Unix()
		a := s.register(t, `{"redirect_uris":["http://127.0.0.1/cb"],"scope":"write","unknown":1,"first_party":true}`)
		if a.status != http.StatusCreated || a.header.Get("Cache-Control") != "no-store" || len(a.body["client_secret"].(string)) != 43 || strings.HasPrefix(a.body["client_id"].(string), "http") {
			t.Fatalf("%d %s", a.status, a.text)
		}
		if a.body["client_id_issued_at"] != float64(now) {
			t.Errorf("%s", a.text)
		}
		delete(a.body, "client_id_issued_at")
		same(t, a.body, `{"client_id":"*","client_secret":"*","client_secret_expires_at":0,"redirect_uris":["http://127.0.0.1/cb"],"grant_types":["authorization_code"],"response_types":["code"],
			"token_endpoint_auth_method":"client_secret_basic","application_type":"web","scope":"read","registration_access_token":"*","registration_client_uri":"*"}`)

		a = s.register(t, `{"redirect_uris":["com.example.app:/cb"],"client_name":"App","grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none",
			"application_type":"native","client_uri":"https://app.example","contacts":["a@example.com"],"software_id":"x","agent":true,"agent_description":"does things","dpop_bound_access_tokens":true}`)
		delete(a.body, "client_id_issued_at")
		token, id := a.body["registration_access_token"].(string), a.body["client_id"].(string)
		if a.body["registration_client_uri"] != authtest.Issuer+"/oauth/register/"+id {
			t.Errorf("%s", a.text)
		}
		same(t, a.body, `{"client_id":"*","redirect_uris":["com.example.app:/cb"],"client_name":"App","grant_types":["authorization_code","refresh_token"],"response_types":["code"],
			"token_endpoint_auth_method":"none","application_type":"native","client_uri":"https://app.example","contacts":["a@example.com"],"software_id":"x","agent":true,
			"agent_description":"does things","dpop_bound_access_tokens":true,"scope":"read","registration_access_token":"*","registration_client_uri":"*"}`)

		// A client that has registered for bound tokens only gets no bearer tokens.
		s.post(t, "/oauth/token", values("grant_type", "refresh_token", "refresh_token", "x", "client_id", id)).is(t, "bound", 400, "invalid_dpop_proof")

		a = s.register(t, `{"grant_types":["client_credentials"],"redirect_uris":[]}`)
		if a.status != http.StatusCreated || a.body["scope"] != nil {
			t.Errorf("a machine that registers itself has a scope: %s", a.text)
		}
		if n := k.Events.Count("client.registered"); n != 3 {
			t.Errorf("%d events", n)
		}

		// The client manages its registration (RFC 7592).
		path := "/oauth/register/" + id
		auth := []string{"Authorization", "Bearer " + token}
		if a := s.do(t, http.MethodGet, path, "", "", auth...); a.status != http.StatusOK || a.body["client_name"] != "App" || a.body["registration_access_token"] != token {
			t.Errorf("%d %s", a.status, a.text)
		}
		for _, bad := range [][]string{nil, {"Authorization", "Bearer x"}, {"Authorization", "Bearer " + token + "x"}} {
			if a := s.do(t, http.MethodGet, path, "", "", bad...); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%d %s", a.status, a.text)
			}
		}
		if a := s.do(t, http.MethodGet, "/oauth/register/x", "", "", auth...); a.status != http.StatusUnauthorized {
			t.Errorf("%d %s", a.status, a.text)
		}
		put := func(document string) answer { return s.do(t, http.MethodPut, path, jsonType, document, auth...) }
		put(`{"client_id":"x","redirect_uris":["https://a.example/"]}`).is(t, "another id", 400, "invalid_client_metadata")
		put(`{"client_id":"`+id+`","redirect_uris":["https://a.example/#x"],"agent":true}`).is(t, "fragment", 400, "invalid_redirect_uri")
		put(`{"client_id":"`+id+`","redirect_uris":["https://a.example/"]}`).is(t, "agent", 400, "invalid_client_metadata")
		a = put(`{"client_id":"` + id + `","redirect_uris":["https://a.example/"],"client_name":"Other","agent":true}`)
		if a.status != http.StatusOK || a.body["client_name"] != "Other" || a.body["client_secret"] == nil || a.body["client_uri"] != nil {
			t.Errorf("%d %s", a.status, a.text)
		}
		if a := s.do(t, http.MethodDelete, path, "", "", auth...); a.status != http.StatusNoContent {
			t.Errorf("%d %s", a.status, a.text)
		}
		if a := s.do(t, http.MethodGet, path, "", "", auth...); a.status != http.StatusUnauthorized {
			t.Errorf("%d %s", a.status, a.text)
		}
	})
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{})
	const redirects = `"redirect_uris":["https://c.example/cb"]`
	for document, code := range map[string]string{
		``:                              "invalid_client_metadata",
		`[]`:                            "invalid_client_metadata",
		`{"redirect_uris":"x"}`:         "invalid_client_metadata",
		`{}`:                            "invalid_client_metadata",
		`{"redirect_uris":[]}`:          "invalid_client_metadata",
		`{"redirect_uris":[""]}`:        "invalid_redirect_uri",
		`{"redirect_uris":["/cb"]}`:     "invalid_redirect_uri",
		`{"redirect_uris":["https:x"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["https://c.example/#"]}`:                                    "invalid_redirect_uri",
		`{"redirect_uris":["https://u@c.example/"]}`:                                   "invalid_redirect_uri",
		`{"redirect_uris":["http://c.example/"]}`:                                      "invalid_redirect_uri",
		`{"redirect_uris":["http://localhost.evil.example/"]}`:                         "invalid_redirect_uri",
		`{"redirect_uris":["javascript:alert(1)"]}`:                                    "invalid_redirect_uri",
		`{"redirect_uris":["data:text/html,x"]}`:                                       "invalid_redirect_uri",
		`{"redirect_uris":["https://c.example/\u0000"]}`:                               "invalid_redirect_uri",
		`{"redirect_uris":["https://c.example/","https://*.example\\/"]}`:              "invalid_redirect_uri",
		`{` + redirects + `,"grant_types":["password"]}`:                               "invalid_client_metadata",
		`{` + redirects + `,"grant_types":["implicit"]}`:                               "invalid_client_metadata",
		`{` + redirects + `,"grant_types":["refresh_token"]}`:                          "invalid_client_metadata",
		`{` + redirects + `,"response_types":["token"]}`:                               "invalid_client_metadata",
		`{` + redirects + `,"token_endpoint_auth_method":"x"}`:                         "invalid_client_metadata",
		`{` + redirects + `,"token_endpoint_auth_method":"private_key_jwt"}`:           "invalid_client_metadata",
		`{"grant_types":["client_credentials"],"token_endpoint_auth_method":"none"}`:   "invalid_client_metadata",
		`{` + redirects + `,"application_type":"x"}`:                                   "invalid_client_metadata",
		`{` + redirects + `,"client_name":"App\u202e"}`:                                "invalid_client_metadata",
		`{` + redirects + `,"client_uri":"javascript:x"}`:                              "invalid_client_metadata",
		`{` + redirects + `,"jwks":{"keys":[]}}`:                                       "invalid_client_metadata",
		`{` + redirects + `,"jwks":{"keys":[]},"jwks_uri":"https://c.example/k"}`:      "invalid_client_metadata",
		`{` + redirects + `,"jwks_uri":"http://c.example/k"}`:                          "invalid_client_metadata",
		`{` + redirects + `,"agent_description":"` + strings.Repeat("x", 256) + `"}`:   "invalid_client_metadata",
		`{` + redirects + `,"jwks":{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"a"}]}}`: "invalid_client_metadata",
		`{` + redirects + `,"post_logout_redirect_uris":["http://c.example/"]}`:        "invalid_redirect_uri",
	} {
		s.register(t, document).is(t, document, 400, code)
	}
	s.do(t, http.MethodPost, "/oauth/register", formType, "a=1").is(t, "form", 400, "invalid_client_metadata")
	s.register(t, `{"client_name":"`+strings.Repeat("x", 65<<10)+`"}`).is(t, "large", 413, "invalid_request")
}

// TestRegisterSchemes checks the redirect URIs of native applications such as editors and agents. They register
// several, and a single refused URI refuses the client.
func TestRegisterSchemes(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{})
	register := func(uri string) answer {
		return s.register(t, `{"token_endpoint_auth_method":"none","redirect_uris":["http://127.0.0.1:33418","`+uri+`","https://vscode.dev/redirect"]}`)
	}
	for _, uri := range []string{
		"cursor://anysphere.cursor-mcp/oauth/callback", "vscode://vscode.github-authentication/did-authenticate", "vscode-insiders://x/cb", "myapp:/cb", "com.example.app:/cb",
		"http://localhost:1/", "http://[::1]:5000/cb",
	} {
		a := register(uri)
		if a.status != http.StatusCreated {
			t.Errorf("%s: %d %s", uri, a.status, a.text)
			continue
		}
		c, err := s.clients.Find(t.Context(), a.body["client_id"].(string))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := c.MatchRedirect(uri); !ok || got != uri {
			t.Errorf("%s: %q, %t", uri, got, ok)
		}
	}
	for scheme := range strings.FieldsSeq("javascript data vbscript file blob about filesystem view-source ws wss ftp mailto tel JavaScript FILE") {
		for _, rest := range []string{":x", "://app.example/cb"} {
			register(scheme+rest).is(t, scheme+rest, 400, "invalid_redirect_uri")
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{clients: clients.Options{Mode: clients.ApprovedRedirects, Approved: []string{"https://c.example/cb", "http://127.0.0.1/cb"}}})
	endpoint := func() any {
		return s.do(t, http.MethodGet, "/.well-known/oauth-authorization-server", "", "").body["registration_endpoint"]
	}
	register := func(uris string) answer { return s.register(t, `{"redirect_uris":[`+uris+`]}`) }
	if register(`"https://c.example/cb","http://127.0.0.1:7/cb"`).status != http.StatusCreated {
		t.Error("approved redirects are refused")
	}
	register(`"https://c.example/cb","https://c.example/cb2"`).is(t, "another", 400, "invalid_redirect_uri")
	if endpoint() != authtest.Issuer+"/oauth/register" {
		t.Error("the metadata do not contain the endpoint")
	}
	set := func(mode string) {
		t.Helper()
		if err := s.clients.SetMode(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
	set(clients.AdminOnly)
	register(`"https://c.example/cb"`).is(t, "admin_only", 403, "access_denied")
	if endpoint() != nil {
		t.Error("the metadata contain the endpoint")
	}
	set(clients.Open)
	if register(`"https://d.example/"`).status != http.StatusCreated {
		t.Error("open registration refuses")
	}
	set("")
	register(`"https://d.example/"`).is(t, "cleared", 400, "invalid_redirect_uri")
	if s.clients.SetMode(t.Context(), "x") == nil {
		t.Error("there is a mode x")
	}
}

func TestRegisterLimit(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	limiter := ratelimit.New(ratelimit.PerSecond(1, 2), k.Clock.Now)
	k.Server.Address = func(r *http.Request) string { return r.Header.Get("X-Test") }
	s := newServer(t, k, settings{protocol: protocol.Options{Registrations: limiter}})
	register := func(address string) answer {
		return s.do(t, http.MethodPost, "/oauth/register", jsonType, `{"redirect_uris":["https://c.example/"]}`, "X-Test", address)
	}
	for _, step := range []struct {
		address string
		status  int
		pass    time.Duration
	}{{"a", 201, 0}, {"a", 201, 0}, {"a", 429, 0}, {"b", 201, time.Second}, {"a", 201, 0}, {"a", 429, 0}} {
		a := register(step.address)
		if a.status != step.status {
			t.Errorf("%s: %d %s", step.address, a.status, a.text)
		}
		if a.status == http.StatusTooManyRequests && (a.header.Get("Retry-After") != "1" || a.body["error"] != "slow_down" || a.body["error_description"] != "rate limit exceeded") {
			t.Errorf("%v %s", a.header, a.text)
		}
		k.Clock.Pass(step.pass)
	}
}

func FuzzRegistration(f *testing.F) {
	s := newServer(f, authtest.SQLite(f), settings{})
	f.Add(`{"redirect_uris":["https://c.example/cb"],"jwks":null}`)
	f.Fuzz(func(t *testing.T, document string) {
		r, err := clients.ParseRegistration([]byte(document))
		if err != nil {
			return
		}
		c, err := s.clients.Client(r, clients.DCR)
		if err != nil {
			return
		}
		if _, err := json.Marshal(c.Document("s", "t", "u")); err != nil {
			t.Fatal(err)
		}
		for _, uri := range c.Redirects {
			if got, ok := c.MatchRedirect(uri); !ok || got != uri {
				t.Fatalf("%q is registered and does not match", uri)
			}
		}
	})
}
