package apiauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	_ "github.com/tollgate-gateway/tollgate/modules/counters/memory"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/postgres"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// The tests of this file do not run in parallel: provisioning sets Caddy's
// default logger, of which a process has one.

const gatewayKeyJSON = `{"provider":{"provider":"gateway_key"}}`

// site is the handler with its app.
type site struct {
	handler *Handler
	app     *tollgate.App
	service *keychain.Service
	ctx     caddy.Context
}

// provision creates a site without starting the app.
func provision(tb testing.TB, database string) *site {
	tb.Helper()
	base, err := caddy.ProvisionContext(&caddy.Config{
		Logging: &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "PANIC"}}}},
		AppsRaw: caddy.ModuleMap{"tollgate": json.RawMessage(
			`{"database":` + database + `,"keyring":{"ring":"aes","keys":["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]}}`)},
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(base)
	tb.Cleanup(cancel)
	loaded, err := ctx.LoadModuleByID("http.handlers.api_auth", json.RawMessage(gatewayKeyJSON))
	if err != nil {
		tb.Fatal(err)
	}
	app, err := ctx.App("tollgate")
	if err != nil {
		tb.Fatal(err)
	}
	s := &site{handler: loaded.(*Handler), app: app.(*tollgate.App), ctx: ctx}
	tb.Cleanup(func() { _ = s.app.Cleanup() })
	return s
}

// start creates a site and starts its app.
func start(tb testing.TB) *site {
	tb.Helper()
	s := provision(tb, fmt.Sprintf(`{"engine":"sqlite","path":%q}`, filepath.Join(tb.TempDir(), "x.db")))
	if err := s.app.Start(); err != nil {
		tb.Fatal(err)
	}
	app, err := gatewayapp.From(s.ctx)
	if err != nil {
		tb.Fatal(err)
	}
	gw, err := app.Gateway()
	if err != nil {
		tb.Fatal(err)
	}
	s.service = gw.Keychain
	return s
}

// request returns a request as Caddy passes it to a handler.
func request(header http.Header) (*http.Request, *httptest.ResponseRecorder, *caddy.Replacer) {
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	r.Header = header
	w := httptest.NewRecorder()
	repl := caddy.NewReplacer()
	return caddyhttp.PrepareRequest(r, repl, w, nil), w, repl
}

// ask sends a request. passed is the request that the next handler gets, or nil.
func (s *site) ask(header http.Header) (passed *http.Request, repl *caddy.Replacer, w *httptest.ResponseRecorder, err error) {
	r, w, repl := request(header)
	err = s.handler.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) error {
		passed = r
		return nil
	}))
	return passed, repl, w, err
}

func TestCredentials(t *testing.T) {
	s := start(t)
	_, mine, _, err := s.service.InitUser(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	_, other, _, err := s.service.InitUser(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	a, b := mine.Key, other.Key
	for name, test := range map[string]struct {
		header http.Header
		user   string // "": refused
	}{
		"bearer":                       {http.Header{"Authorization": {"Bearer " + a}}, "alice"},
		"lower case":                   {http.Header{"Authorization": {"bearer " + a}}, "alice"},
		"upper case":                   {http.Header{"Authorization": {"BEARER " + a}}, "alice"},
		"spaces":                       {http.Header{"Authorization": {"  Bearer    " + a + "  "}}, "alice"},
		"x-api-key":                    {http.Header{"X-Api-Key": {a}}, "alice"},
		"x-api-key with spaces":        {http.Header{"X-Api-Key": {" " + a + "\t"}}, "alice"},
		"both alike":                   {http.Header{"Authorization": {"Bearer " + a}, "X-Api-Key": {a}}, "alice"},
		"both: authorization wins":     {http.Header{"Authorization": {"Bearer " + a}, "X-Api-Key": {b}}, "alice"},
		"both, the other way":          {http.Header{"Authorization": {"Bearer " + b}, "X-Api-Key": {a}}, "bob"},
		"bad bearer, good x-api-key":   {http.Header{"Authorization": {"Bearer ak-no"}, "X-Api-Key": {a}}, ""},
		"basic and x-api-key":          {http.Header{"Authorization": {"Basic dTpw"}, "X-Api-Key": {a}}, ""},
		"empty bearer and x-api-key":   {http.Header{"Authorization": {"Bearer "}, "X-Api-Key": {a}}, ""},
		"scheme alone and x-api-key":   {http.Header{"Authorization": {"Bearer"}, "X-Api-Key": {a}}, ""},
		"key alone and x-api-key":      {http.Header{"Authorization": {b}, "X-Api-Key": {a}}, ""},
		"nothing in authorization":     {http.Header{"Authorization": {" "}, "X-Api-Key": {a}}, "alice"},
		"two authorizations":           {http.Header{"Authorization": {"Bearer " + a, "Bearer " + b}}, ""},
		"one authorization twice":      {http.Header{"Authorization": {"Bearer " + a, "Bearer " + a}}, ""},
		"two, the second is empty":     {http.Header{"Authorization": {"Bearer " + a, ""}}, ""},
		"two, and x-api-key":           {http.Header{"Authorization": {"Bearer " + a, "Basic dTpw"}, "X-Api-Key": {a}}, ""},
		"two, the first is bad":        {http.Header{"Authorization": {"Bearer ak-no", "Bearer " + a}}, ""},
		"two x-api-keys":               {http.Header{"X-Api-Key": {b, a}}, ""},
		"one x-api-key twice":          {http.Header{"X-Api-Key": {a, a}}, ""},
		"two x-api-keys and a bearer":  {http.Header{"Authorization": {"Bearer " + a}, "X-Api-Key": {a, b}}, ""},
		"nothing":                      {http.Header{}, ""},
		"empty":                        {http.Header{"Authorization": {""}, "X-Api-Key": {""}}, ""},
		"key without scheme":           {http.Header{"Authorization": {a}}, ""},
		"basic":                        {http.Header{"Authorization": {"Basic " + a}}, ""},
		"bearer twice":                 {http.Header{"Authorization": {"Bearer Bearer " + a}}, ""},
		"two keys in one":              {http.Header{"Authorization": {"Bearer " + a + ", Bearer " + b}}, ""},
		"two keys and a space":         {http.Header{"Authorization": {"Bearer " + a + " " + b}}, ""},
		"tab for a space":              {http.Header{"Authorization": {"Bearer\t" + a}}, ""},
		"no-break space":               {http.Header{"Authorization": {"Bearer\u00a0" + a}}, ""},
		"x-api-key with a scheme":      {http.Header{"X-Api-Key": {"Bearer " + a}}, ""},
		"underscores":                  {http.Header{"X_api_key": {a}}, ""},
		"proxy-authorization":          {http.Header{"Proxy-Authorization": {"Bearer " + a}}, ""},
		"upper case key":               {http.Header{"Authorization": {"Bearer " + strings.ToUpper(a)}}, ""},
		"cut off":                      {http.Header{"Authorization": {"Bearer " + a[:len(a)-1]}}, ""},
		"masked":                       {http.Header{"Authorization": {"Bearer " + mine.Masked}}, ""},
		"key id":                       {http.Header{"Authorization": {"Bearer " + mine.ID}}, ""},
		"a long text":                  {http.Header{"Authorization": {"Bearer " + strings.Repeat("x", 1<<20)}}, ""},
		"a key with much behind":       {http.Header{"Authorization": {"Bearer " + a + strings.Repeat(" ", 300) + "x"}}, ""},
		"a placeholder in a key":       {http.Header{"Authorization": {"Bearer {http.auth.user.id}"}}, ""},
		"zero byte":                    {http.Header{"Authorization": {"Bearer " + a + "\x00"}}, ""},
		"broken UTF-8":                 {http.Header{"Authorization": {"Bearer \xff\xfe"}}, ""},
		"sql":                          {http.Header{"Authorization": {"Bearer ' OR '1'='1"}}, ""},
		"user named in another header": {http.Header{"X-User-Id": {"alice"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, repl, w, err := s.ask(test.header)
			if test.user == "" {
				var status caddyhttp.HandlerError
				refusal, ok := apierror.From(err)
				if r != nil || !ok || !errors.As(err, &status) || status.StatusCode != 401 || refusal.Code != "invalid_api_key" || w.Header().Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("passed %t, error %v, header %v", r != nil, err, w.Header())
				}
				if strings.Contains(fmt.Sprint(err), a) || strings.Contains(fmt.Sprint(err), b) {
					t.Errorf("the error shows the key: %v", err)
				}
				return
			}
			if err != nil || r == nil {
				t.Fatalf("refused: %v", err)
			}
			identity, ok := Identity(r)
			if user, _ := repl.GetString("http.auth.user.id"); !ok || identity.UserID != test.user || user != test.user {
				t.Errorf("identity %+v, placeholder %q", identity, user)
			}
			if w.Header().Get("WWW-Authenticate") != "" {
				t.Error("it asks for a credential")
			}
			if len(r.Header["X-Api-Key"]) > 0 || len(r.Header["Authorization"]) != 1 {
				t.Errorf("the next handlers get %v", r.Header)
			}
		})
	}
	// The errors for missing and invalid keys differ only in their messages.
	_, _, _, missing := s.ask(http.Header{})
	if !strings.Contains(missing.Error(), "no gateway key was sent") {
		t.Errorf("missing: %v", missing)
	}
	if r, _, _ := request(http.Header{}); r != nil {
		if _, ok := Identity(r); ok {
			t.Error("a request without authentication has an identity")
		}
	}
}

func TestPlaceholders(t *testing.T) {
	s := start(t)
	_, _, _, err := s.service.InitUser(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	limit := int64(60)
	limited, err := s.service.CreateKey(t.Context(), "alice", keychain.KeyOptions{Label: "my {env.HOME}", Limits: keychain.Limits{RateLimitPerMinute: &limit}})
	if err != nil {
		t.Fatal(err)
	}
	open, err := s.service.CreateKey(t.Context(), "alice", keychain.KeyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const text = "{http.auth.user.id}|{http.auth.user.key_id}|{http.auth.user.key_label}|{http.auth.user.rate_limit_per_minute}|{http.auth.user.nothing}"
	for key, want := range map[*keychain.NewKey]string{
		limited: "alice|" + limited.ID + "|my {env.HOME}|60|",
		open:    "alice|" + open.ID + "|||",
	} {
		_, repl, _, err := s.ask(http.Header{"X-Api-Key": {key.Key}})
		if err != nil {
			t.Fatal(err)
		}
		if got := repl.ReplaceAll(text, ""); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		// The module can be a provider of Caddy's authentication handler.
		r, w, repl := request(http.Header{"X-Api-Key": {key.Key}})
		directive := caddyauth.Authentication{Providers: map[string]caddyauth.Authenticator{"gateway_key": s.handler.provider}}
		if err := directive.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })); err != nil {
			t.Fatal(err)
		}
		if got := repl.ReplaceAll(text, ""); got != want {
			t.Errorf("after authentication: %s, want %s", got, want)
		}
	}
	// A revoked key is refused at once.
	if err := s.service.RevokeKey(t.Context(), "alice", open.ID); err != nil {
		t.Fatal(err)
	}
	if r, _, _, err := s.ask(http.Header{"X-Api-Key": {open.Key}}); r != nil || err == nil {
		t.Error("a revoked key is accepted")
	}
}

// provider stands in for the provider of another module.
type provider struct {
	user caddyauth.User
	good bool
	err  error
}

func (p provider) Authenticate(http.ResponseWriter, *http.Request) (caddyauth.User, bool, error) {
	return p.user, p.good, p.err
}

func TestOtherProviders(t *testing.T) {
	const text = "{http.auth.user.id}|{http.auth.user.team}|{http.auth.user.nothing}|{http.auth.user.}|{http.auth.other}"
	bob := caddyauth.User{ID: "bob", Metadata: map[string]string{"team": "blue", "id": "not bob"}}
	for name, test := range map[string]struct {
		provider provider
		status   int // 0: the request is accepted
		want     string
	}{
		"good":        {provider{user: bob, good: true}, 0, "bob|blue|||"},
		"no metadata": {provider{user: caddyauth.User{ID: "eve"}, good: true}, 0, "eve||||"},
		"refused":     {provider{user: bob}, 401, "||||"},
		"error":       {provider{good: true, err: errors.New("broken")}, 401, "||||"},
		"unavailable": {provider{err: apierror.New(503, "overloaded", "later")}, 503, "||||"},
	} {
		s := &site{handler: &Handler{provider: test.provider}}
		passed, repl, w, err := s.ask(http.Header{})
		var status caddyhttp.HandlerError
		if errors.As(err, &status); status.StatusCode != test.status || (passed != nil) != (test.status == 0) {
			t.Errorf("%s: passed %t, error %v", name, passed != nil, err)
		}
		if got := w.Header().Get("WWW-Authenticate") == "Bearer"; got != (test.status == 401) {
			t.Errorf("%s: header %v", name, w.Header())
		}
		if got := repl.ReplaceAll(text, ""); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestUnavailable(t *testing.T) {
	s := provision(t, `{"engine":"postgres","dsn":"postgres://tollgate@127.0.0.1:1/x"}`)
	check := func(name string) {
		t.Helper()
		r, _, w, err := s.ask(http.Header{"Authorization": {"Bearer ak-x"}})
		var status caddyhttp.HandlerError
		refusal, ok := apierror.From(err)
		if r != nil || !ok || !errors.As(err, &status) || status.StatusCode != 503 || refusal.RetryAfter == 0 || w.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("%s: passed %t, error %v, header %v", name, r != nil, err, w.Header())
		}
		if strings.Contains(refusal.Message, "127.0.0.1") {
			t.Errorf("%s: the message for the client is %q", name, refusal.Message)
		}
	}
	check("not started")
	if err := s.app.Start(); err != nil {
		t.Fatal(err)
	}
	check("down")
	if _, _, _, err := s.ask(http.Header{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a key: error %v", err)
	}
}

func TestUnmarshalCaddyfile(t *testing.T) {
	for name, test := range map[string]struct {
		input string
		want  string // JSON, or part of the error when it begins with "!"
	}{
		"gateway_key":     {"api_auth gateway_key", gatewayKeyJSON},
		"empty block":     {"api_auth gateway_key {\n}", gatewayKeyJSON},
		"no provider":     {"api_auth", "!api_auth needs a provider; there are: gateway_key, oauth, user_jwt"},
		"unknown":         {"api_auth no_such", `!there is no authentication provider "no_such"`},
		"not a provider":  {"api_auth ../../handlers.api_auth", "!there is no authentication provider"},
		"argument":        {"api_auth gateway_key x", "!wrong argument count"},
		"option":          {"api_auth gateway_key {\nrealm x\n}", `!gateway_key has no option "realm"`},
		"option and more": {"api_auth gateway_key {\na {\nb\n}\n}", "!gateway_key has no option"},
	} {
		t.Run(name, func(t *testing.T) {
			h := new(Handler)
			err := h.UnmarshalCaddyfile(caddyfile.NewTestDispenser(test.input))
			if want, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("error %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, err := json.Marshal(h); err != nil || string(text) != test.want {
				t.Fatalf("%s, error %v, want %s", text, err, test.want)
			}
		})
	}
}

func TestProvisionRefuses(t *testing.T) {
	base, err := caddy.ProvisionContext(&caddy.Config{
		Logging: &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "PANIC"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(base)
	defer cancel()
	for config, want := range map[string]string{
		`{}`:                                  "a provider is required",
		`{"provider":{}}`:                     "provider",
		`{"provider":{"provider":"no_such"}}`: "no_such",
		`{"provider":{"provider":"gateway_key","x":1}}`: "x",
	} {
		if _, err := ctx.LoadModuleByID("http.handlers.api_auth", json.RawMessage(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}

func FuzzCredential(f *testing.F) {
	f.Add("Bearer ak-x", "ak-y")
	f.Add("bearer  ak-x ", "")
	f.Add("Basic dTpw", " ak-y")
	f.Fuzz(func(t *testing.T, authorization, apiKey string) {
		got, err := credential(http.Header{"Authorization": {authorization}, "X-Api-Key": {apiKey}})
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(authorization) != "" && got != "" && !strings.Contains(authorization, got) {
			t.Errorf("%q of %q, beside %q", got, apiKey, authorization)
		}
		if got != strings.TrimSpace(got) || got != "" && !strings.Contains(authorization, got) && got != strings.TrimSpace(apiKey) {
			t.Errorf("%q of %q and %q", got, authorization, apiKey)
		}
	})
}

// BenchmarkAuthenticated measures a request with a cached key, and the same request through a handler that checks
// nothing.
func BenchmarkAuthenticated(b *testing.B) {
	s := start(b)
	_, key, _, err := s.service.InitUser(b.Context(), "alice")
	if err != nil {
		b.Fatal(err)
	}
	r, w, _ := request(http.Header{"Authorization": {"Bearer " + key.Key}})
	next := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })
	if err := s.handler.ServeHTTP(w, r, next); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r, w, _ := request(r.Header)
		if err := s.handler.ServeHTTP(w, r, next); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnchecked(b *testing.B) {
	header := http.Header{"Authorization": {"Bearer x"}}
	next := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })
	b.ReportAllocs()
	for b.Loop() {
		r, w, _ := request(header)
		if err := next.ServeHTTP(w, r); err != nil {
			b.Fatal(err)
		}
	}
}

func TestKeyMovedToAuthorization(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sent, left http.Header }{
		"api key": {http.Header{"X-Api-Key": {"ak-1"}}, http.Header{"Authorization": {"Bearer ak-1"}}},
		"both":    {http.Header{"X-Api-Key": {"ak-1"}, "Authorization": {"Bearer ak-2"}}, http.Header{"Authorization": {"Bearer ak-2"}}},
		"bearer":  {http.Header{"Authorization": {"Bearer ak-2"}}, http.Header{"Authorization": {"Bearer ak-2"}}},
	} {
		hide(test.sent)
		if fmt.Sprint(test.sent) != fmt.Sprint(test.left) {
			t.Errorf("%s: %v remains", name, test.sent)
		}
	}
}
