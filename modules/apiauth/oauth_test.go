package apiauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

const notes = "https://notes.example/mcp"

// newOAuth returns a provisioned provider. Its app has no issuer yet.
func newOAuth(tb testing.TB, o *OAuth) *OAuth {
	tb.Helper()
	o.app = new(tollgate.App)
	if err := o.setUp(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = o.Cleanup() })
	return o
}

// accessToken signs a valid token of an issuer, with changed claims.
func accessToken(tb testing.TB, issuer string, header map[string]any, changes golang.MapClaims) string {
	claims := golang.MapClaims{
		"iss": issuer, "aud": notes, "sub": "ann", "client_id": "app", "scope": "read write", "jti": "1",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "agent_id": "app",
	}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	full := map[string]any{"kid": "k1", "typ": "at+jwt"}
	maps.Copy(full, header)
	return jwkstest.Sign(tb, "RS256", rsaKey, full, claims)
}

// sent is the result of a request with a token.
type sent struct {
	id, client, scope, agent string
	user                     *User
	challenge                string
	err                      error
}

func send(o *OAuth, authorization ...string) sent {
	r := httptest.NewRequest(http.MethodGet, "https://notes.example/mcp", nil)
	r.Header["Authorization"] = authorization
	r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, make(map[string]any)))
	w := httptest.NewRecorder()
	user, ok, err := o.Authenticate(w, r)
	got := sent{id: user.ID, client: user.Metadata["client_id"], scope: user.Metadata["scope"], agent: user.Metadata["claim.agent_id"], challenge: w.Header().Get("WWW-Authenticate"), err: err}
	got.user, _ = Subject(r)
	if ok != (err == nil) {
		panic("neither let in nor refused")
	}
	return got
}

// refused checks the status, the code and the challenge of a refusal.
func (s sent) refused(t *testing.T, name string, status int, code, challenge string) {
	t.Helper()
	refusal, ok := apierror.From(s.err)
	if !ok || refusal.Status != status || status != http.StatusServiceUnavailable && refusal.Code != code || s.id != "" || s.user != nil || !strings.Contains(s.challenge, challenge) {
		t.Errorf("%s: %+v", name, s)
	}
	if strings.Contains(s.challenge, "\n") || strings.Count(s.challenge, `"`)%2 != 0 {
		t.Errorf("%s: the challenge %q", name, s.challenge)
	}
}

const notesMetadata = `resource_metadata="https://notes.example/.well-known/oauth-protected-resource/mcp"`

// TestOAuthJWT checks that only tokens of RFC 9068 for this service pass, and that the challenges are those of RFC
// 6750.
func TestOAuthJWT(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	o := newOAuth(t, &OAuth{Issuer: p.URL, Audiences: []string{notes, "notes"}, Scopes: []string{"read"}})
	for name, changes := range map[string]golang.MapClaims{
		"one audience":          nil,
		"another name":          {"aud": "notes"},
		"one of many audiences": {"aud": []string{"x", notes}},
	} {
		got := send(o, "Bearer "+accessToken(t, p.URL, nil, changes))
		if got.err != nil || got.id != "ann" || got.client != "app" || got.scope != "read write" || got.agent != "app" || got.user == nil || got.user.ID != "ann" || got.user.Issuer != p.URL {
			t.Errorf("%s: %+v", name, got)
		}
	}
	const invalid = `Bearer error="invalid_token", error_description="`
	for name, test := range map[string]struct {
		header  map[string]any
		changes golang.MapClaims
	}{
		"another service":       {nil, golang.MapClaims{"aud": "https://other.example"}},
		"no audience":           {nil, golang.MapClaims{"aud": nil}},
		"another issuer":        {nil, golang.MapClaims{"iss": "https://other.example"}},
		"expired":               {nil, golang.MapClaims{"exp": time.Now().Add(-time.Hour).Unix()}},
		"no end":                {nil, golang.MapClaims{"exp": nil}},
		"nobody":                {nil, golang.MapClaims{"sub": nil}},
		"an ID token":           {map[string]any{"typ": "JWT"}, nil},
		"no type":               {map[string]any{"typ": ""}, nil},
		"bound to a key":        {nil, golang.MapClaims{"cnf": map[string]string{"jkt": "x"}}},
		"a key that is unknown": {map[string]any{"kid": "k2"}, nil},
	} {
		send(o, "Bearer "+accessToken(t, p.URL, test.header, test.changes)).refused(t, name, 401, "invalid_token", invalid)
	}
	send(o, "Bearer x").refused(t, "no JWT", 401, "invalid_token", notesMetadata)
	send(o).refused(t, "no token", 401, "invalid_token", `Bearer scope="read", `+notesMetadata)
	send(o, "Basic YTpi").refused(t, "a password", 401, "invalid_token", `Bearer scope="read"`)
	good := "Bearer " + accessToken(t, p.URL, nil, nil)
	send(o, good, good).refused(t, "two tokens", 401, "invalid_token", invalid)
	for name, scope := range map[string]any{"no scope": nil, "another scope": "write", "a scope like it": "reader read:all"} {
		send(o, "Bearer "+accessToken(t, p.URL, nil, golang.MapClaims{"scope": scope})).refused(t, name, 403, "insufficient_scope", `Bearer error="insufficient_scope", error_description="the token does not have the scope read", scope="read", `+notesMetadata)
	}
	p.Close()
	fresh := newOAuth(t, &OAuth{Issuer: p.URL, JWKSURL: p.URL + "/other", Audiences: []string{notes}})
	send(fresh, good).refused(t, "an issuer that is down", 503, "", "")
}

// TestOAuthIntrospection checks that the server is asked with the client's credentials, and that its response decides.
func TestOAuthIntrospection(t *testing.T) {
	t.Parallel()
	var answer atomic.Pointer[string]
	var requests atomic.Int64
	var status atomic.Int64
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		id, secret, _ := r.BasicAuth()
		if id != "edge%3A1" || secret != "s+%25" || r.Method != http.MethodPost || r.PostFormValue("token") == "" {
			t.Errorf("%s %q %q %v", r.Method, id, secret, r.PostForm)
		}
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte(*answer.Load()))
	}))
	t.Cleanup(server.Close)
	asks := func(cache time.Duration) *OAuth {
		return newOAuth(t, &OAuth{Issuer: "https://as.example", Audiences: []string{notes}, Introspection: &Introspection{URL: server.URL, ClientID: "edge:1", ClientSecret: "s %", Cache: caddy.Duration(cache)}})
	}
	o := asks(0)
	says := func(format string, args ...any) { answer.Store(new(fmt.Sprintf(format, args...))) }
	soon := time.Now().Add(time.Hour).Unix()
	good := fmt.Sprintf(`{"active":true,"iss":"https://as.example","aud":["x",%q],"sub":"ann","client_id":"app","scope":"read","exp":%d}`, notes, soon)
	says("%s", good)
	for range 2 {
		if got := send(o, "Bearer opaque"); got.err != nil || got.id != "ann" || got.client != "app" || got.scope != "read" {
			t.Errorf("%+v", got)
		}
	}
	if requests.Load() != 2 {
		t.Errorf("asked %d times", requests.Load())
	}
	for name, text := range map[string]string{
		"not active":      `{"active":false}`,
		"nothing":         `{}`,
		"another word":    strings.Replace(good, "true", `"true"`, 1),
		"another service": strings.Replace(good, notes, "https://other.example", 1),
		"another issuer":  strings.Replace(good, "as.example", "other.example", 1),
		"expired":         strings.Replace(good, fmt.Sprint(soon), "1000", 1),
		"nobody":          strings.Replace(good, "ann", "", 1),
		"bound":           strings.Replace(good, `"active"`, `"cnf":{"jkt":"x"},"active"`, 1),
	} {
		says("%s", text)
		send(o, "Bearer opaque").refused(t, name, 401, "invalid_token", `Bearer error="invalid_token"`)
	}
	for name, text := range map[string]string{"no JSON": "<html>", "a list": "[]", "too much": strings.Repeat(" ", maxIntrospection) + good} {
		says("%s", text)
		send(o, "Bearer opaque").refused(t, name, 503, "", "")
	}
	status.Store(http.StatusUnauthorized)
	says("{}")
	send(o, "Bearer opaque").refused(t, "a client that is unknown", 503, "", "")

	status.Store(http.StatusOK)
	says("%s", good)
	remembers := asks(time.Minute)
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() { // the cache stores entries with a delay
		before := requests.Load()
		if got := send(remembers, "Bearer opaque"); got.err != nil {
			t.Fatal(got.err)
		}
		if requests.Load() == before {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server is asked for each request")
		}
	}
}

// TestOAuthSize checks that the size of a cached user includes all claims, also those that are no placeholders: the cache
// is limited by the sum of these sizes.
func TestOAuthSize(t *testing.T) {
	t.Parallel()
	groups := strings.Repeat("x", 40_000)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"active": true, "sub": "ann", "aud": notes, "groups": []string{groups}})
	}))
	defer endpoint.Close()
	o := newOAuth(t, &OAuth{
		Issuer: "https://as.example", Audiences: []string{notes},
		Introspection: &Introspection{URL: endpoint.URL, ClientID: "a", ClientSecret: "b", Cache: caddy.Duration(time.Minute)},
	})
	g, size, _, err := o.introspect(t.Context(), "token")
	if err != nil || g.user.ID != "ann" || size < int64(len(groups)) {
		t.Errorf("the user %+v with %d bytes of claims has the size %d: %v", g, len(groups), size, err)
	}
}

// inProcess is an authorization server of this process.
type inProcess map[string]map[string]any

func (s inProcess) CheckToken(_ context.Context, token string) (map[string]any, time.Time, bool, error) {
	if token == "down" {
		return nil, time.Time{}, false, errors.New("no database")
	}
	claims, ok := s[token]
	return claims, time.Now().Add(time.Hour), ok, nil
}

// TestOAuthInProcess checks that the authorization server in this process is called for each request.
func TestOAuthInProcess(t *testing.T) {
	t.Parallel()
	o := newOAuth(t, &OAuth{Issuer: "https://as.example", Audiences: []string{notes}, Scopes: []string{"read"}})
	server := inProcess{
		"good":  {"iss": "https://as.example", "sub": "ann", "client_id": "app", "scope": "read", "aud": []string{notes}},
		"other": {"iss": "https://as.example", "sub": "ann", "scope": "read", "aud": "https://other.example"},
	}
	o.app.OfferIssuer("https://as.example", server)
	if got := send(o, "Bearer good"); got.err != nil || got.id != "ann" || got.client != "app" {
		t.Errorf("%+v", got)
	}
	send(o, "Bearer other").refused(t, "another service", 401, "invalid_token", notesMetadata)
	delete(server, "good")
	send(o, "Bearer good").refused(t, "revoked", 401, "invalid_token", notesMetadata)
	if got := send(o, "Bearer down"); got.err == nil {
		t.Errorf("%+v", got)
	}
}

// TestOAuthMetadata checks that the metadata document of the resource is public.
func TestOAuthMetadata(t *testing.T) {
	t.Parallel()
	o := newOAuth(t, &OAuth{Issuer: "https://as.example", Audiences: []string{notes}, Scopes: []string{"read"}, ResourceName: "Notes & more"})
	h := &Handler{provider: o}
	ask := func(h *Handler, method, path string) (*httptest.ResponseRecorder, error) {
		w := httptest.NewRecorder()
		err := h.ServeHTTP(w, httptest.NewRequest(method, path, nil), caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { panic("let in") }))
		return w, err
	}
	for _, path := range []string{wellKnown, wellKnown + "/mcp"} {
		w, err := ask(h, http.MethodGet, path)
		var document map[string]any
		if err != nil || json.Unmarshal(w.Body.Bytes(), &document) != nil || document["resource"] != notes || fmt.Sprint(document["authorization_servers"]) != "[https://as.example]" ||
			fmt.Sprint(document["scopes_supported"]) != "[read]" || fmt.Sprint(document["bearer_methods_supported"]) != "[header]" || document["resource_name"] != "Notes & more" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v %v %s", path, err, w.Header(), w.Body)
		}
	}
	if w, err := ask(h, http.MethodOptions, wellKnown+"/mcp"); err != nil || w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Access-Control-Allow-Headers") != "MCP-Protocol-Version" {
		t.Errorf("a preflight: %v %d %v", err, w.Code, w.Header())
	}
	for _, test := range [][2]string{{http.MethodPost, wellKnown}, {http.MethodGet, wellKnown + "/other"}, {http.MethodGet, wellKnown + "/mcp/"}} {
		if w, err := ask(h, test[0], test[1]); err == nil {
			t.Errorf("%s %s: %s", test[0], test[1], w.Body)
		}
	}
	for _, silent := range []*OAuth{
		{Issuer: "https://as.example", Audiences: []string{"notes"}},
		{Issuer: "https://as.example", Audiences: []string{notes}, ResourceMetadata: "off"},
	} {
		w, err := ask(&Handler{provider: newOAuth(t, silent)}, http.MethodGet, wellKnown)
		if err == nil || w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%v %v", err, w.Header())
		}
	}
	elsewhere := newOAuth(t, &OAuth{Issuer: "https://as.example", Audiences: []string{notes}, ResourceMetadata: "https://as.example/.well-known/oauth-protected-resource/notes"})
	if w, err := ask(&Handler{provider: elsewhere}, http.MethodGet, wellKnown); err == nil || w.Header().Get("WWW-Authenticate") != `Bearer resource_metadata="https://as.example/.well-known/oauth-protected-resource/notes"` {
		t.Errorf("%v %v", err, w.Header())
	}
}

// TestOAuthRefusesSettings checks that settings that contradict each other, or would accept foreign tokens, are
// refused.
func TestOAuthRefusesSettings(t *testing.T) {
	t.Parallel()
	ask := &Introspection{URL: "https://as.example/introspect", ClientID: "a", ClientSecret: "b"}
	for want, o := range map[string]*OAuth{
		"issuer is required":                    {Audiences: []string{notes}},
		"audience is required":                  {Issuer: "https://as.example"},
		"issuer: ":                              {Issuer: "http://as.example", Audiences: []string{notes}},
		"jwks_url: ":                            {Issuer: "https://as.example", Audiences: []string{notes}, JWKSURL: "ftp://as.example"},
		"cannot be combined with introspection": {Issuer: "https://as.example", Audiences: []string{notes}, JWKSURL: "https://as.example/keys", Introspection: ask},
		"the algorithm \"HS256\"":               {Issuer: "https://as.example", Audiences: []string{notes}, Algorithms: []string{"HS256"}},
		"\"a b\" is not a scope":                {Issuer: "https://as.example", Audiences: []string{notes}, Scopes: []string{"a b"}},
		"\"\\\"\" is not a scope":               {Issuer: "https://as.example", Audiences: []string{notes}, Scopes: []string{`"`}},
		"leeway must be at most":                {Issuer: "https://as.example", Audiences: []string{notes}, Leeway: caddy.Duration(time.Hour)},
		"client_id and client_secret":           {Issuer: "https://as.example", Audiences: []string{notes}, Introspection: &Introspection{URL: "https://as.example"}},
		"introspection: url: ":                  {Issuer: "https://as.example", Audiences: []string{notes}, Introspection: &Introspection{URL: "http://as.example", ClientID: "a", ClientSecret: "b"}},
		"introspection: cache must be":          {Issuer: "https://as.example", Audiences: []string{notes}, Introspection: &Introspection{URL: "https://as.example", ClientID: "a", ClientSecret: "b", Cache: caddy.Duration(time.Hour)}},
		"resource_metadata must be off":         {Issuer: "https://as.example", Audiences: []string{notes}, ResourceMetadata: "elsewhere"},
	} {
		o.app = new(tollgate.App)
		if err := o.setUp(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		_ = o.Cleanup()
	}
}
