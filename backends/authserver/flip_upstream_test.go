package authserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
)

// provider is an OpenID provider that publishes only its metadata, and counts its requests.
type provider struct {
	*httptest.Server
	asked atomic.Int64
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := new(provider)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "scopes_supported": []string{"openid", "groups"},
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	}))
	t.Cleanup(p.Close)
	return p
}

// elsewhere are the keys for a sign-in at another provider.
var elsewhere = settings{"oidc.enabled": "true", "oidc.client_id": oidclogintest.ClientID, "oidc.client_secret": oidclogintest.Secret, "oidc.redirect_uri": "https://as.example/oidc/callback"}

// begun returns the response that starts a sign-in at another provider.
func begun(t *testing.T, s settings) *httptest.ResponseRecorder {
	t.Helper()
	if s["oidc.issuer"] == "" {
		s["oidc.issuer"] = newProvider(t).URL
	}
	return newLab(t, s).ask(http.MethodGet, "/oidc/start?redirect=/", "")
}

// sends returns a function that returns a parameter of the authorization request to the provider.
func sends(name string) func(t *testing.T, s settings) string {
	return func(t *testing.T, s settings) string {
		t.Helper()
		return query(begun(t, s).Header().Get("Location")).Get(name)
	}
}

// comesBack reports whether a user who returns from the provider is signed in.
func comesBack(t *testing.T, s settings) string {
	t.Helper()
	p := oidclogintest.New(t)
	p.Claims = map[string]any{"sub": "u1", "email": "new@example.com", "email_verified": true}
	s["oidc.issuer"] = p.URL
	l := newLab(t, s)
	location, _ := l.page("/oidc/start?redirect=/")
	location, _ = l.page("/oidc/callback?" + p.Visit(location).Encode())
	return strconv.FormatBool(strings.HasPrefix(location, "/"))
}

// connecting are the keys for a connection to another provider.
var connecting = settings{
	"data_encryption.driver": "aes_master", "data_encryption.aes_master.key_env": "MASTER", "connect.state_secret": strings.Repeat("s", 32), "connect.allowed_return_urls": `["https://app.example/done"]`,
	"broker_providers": `[{"slug":"chat","display_name":"Chat","protocol":"oauth","config_data":{"client_id":"c","client_secret":"s","authorize_url":"https://chat.example/authorize","token_url":"https://chat.example/token"}}]`,
	"resources":        `[{"slug":"chat-api","backend_kind":"broker","broker_provider_slug":"chat","scopes":[{"name":"listen","upstream":"listen"}]}]`,
}

// connects returns the address to which a user who connects an account at a provider is redirected.
func (l *lab) connects(path string) *url.URL {
	l.t.Helper()
	l.signsIn()
	location, _ := l.page(path)
	target, err := url.Parse(location)
	if err != nil {
		l.t.Fatal(err)
	}
	return target
}

// flipsOfUpstream are the tests of the configuration keys for other providers, at which users sign in or connect
// accounts.
var flipsOfUpstream = map[string]flip{
	"oidc.enabled": {First: "false", Other: "true", With: elsewhere, Want: [2]string{"404", "302"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(begun(t, s).Code)
	}},
	"oidc.client_id":            {First: "one", Other: "two", With: elsewhere, Want: [2]string{"one", "two"}, See: sends("client_id")},
	"oidc.redirect_uri":         {First: "https://as.example/oidc/callback", Other: "https://other.example/oidc/callback", With: elsewhere, Want: [2]string{"https://as.example/oidc/callback", "https://other.example/oidc/callback"}, See: sends("redirect_uri")},
	"oidc.scopes":               {Other: `["openid","email"]`, With: elsewhere, Want: [2]string{"openid email profile groups", "openid email groups"}, See: sends("scope")},
	"oidc.include_groups_scope": {Other: "false", With: elsewhere, Want: [2]string{"openid email profile groups", "openid email profile"}, See: sends("scope")},
	"oidc.connector_id":         {Other: "ldap", With: elsewhere, Want: [2]string{"", "ldap"}, See: sends("connector_id")},
	"oidc.issuer": {First: "one", Other: "two", With: elsewhere, Want: [2]string{"1 0", "0 1"}, See: func(t *testing.T, s settings) string {
		one, two := newProvider(t), newProvider(t)
		s["oidc.issuer"] = map[string]string{"one": one.URL, "two": two.URL}[s["oidc.issuer"]]
		begun(t, s)
		return strconv.FormatInt(one.asked.Load(), 10) + " " + strconv.FormatInt(two.asked.Load(), 10)
	}},
	"oidc.client_secret":     {First: oidclogintest.Secret, Other: "a guess", With: elsewhere, Want: [2]string{"true", "false"}, See: comesBack},
	"oidc.client_secret_ref": {First: "RIGHT", Other: "WRONG", With: elsewhere.And(settings{"oidc.client_secret": ""}), Want: [2]string{"true", "false"}, See: comesBack},
	"oidc.client_secret_env": {First: "RIGHT", Other: "WRONG", With: elsewhere.And(settings{"oidc.client_secret": ""}), Want: [2]string{"true", "false"}, See: comesBack},
	"oidc.display_name": {First: "Corp", Other: "The Company", With: elsewhere.And(settings{"oidc.issuer": "https://id.example"}), Want: [2]string{"Corp", "The Company"}, See: func(t *testing.T, s settings) string {
		_, name, _ := strings.Cut(newLab(t, s).ask(http.MethodGet, "/login", "").Body.String(), "Sign in with ")
		name, _, _ = strings.Cut(name, "<")
		return name
	}},
	"oidc.show_local_login": {Other: "false", With: elsewhere.And(settings{"oidc.issuer": "https://id.example"}), Want: [2]string{"true 403", "false 404"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		form := strings.Contains(l.ask(http.MethodGet, "/login", "").Body.String(), `name="password"`)
		return strconv.FormatBool(form) + " " + l.status(http.MethodPost, "/login", "email=ann@example.com")
	}},
	"oauth.state_max_age": {Other: "1m", With: elsewhere, Want: [2]string{"600", "60"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(begun(t, s).Result().Cookies()[0].MaxAge)
	}},

	"connect.allowed_return_urls": {First: `["https://app.example/done"]`, Other: `["https://app.example/in/*"]`, With: connecting, Want: [2]string{"/authorize", "400"}, See: func(t *testing.T, s settings) string {
		return newLab(t, s).connects("/connect/chat?return_url=https://app.example/done").Path
	}},
	"connect.redirect_base_url": {Other: "https://other.example", With: connecting, Want: [2]string{"127.0.0.1", "other.example"}, See: func(t *testing.T, s settings) string {
		to, err := url.Parse(newLab(t, s).connects("/connect/chat").Query().Get("redirect_uri"))
		if err != nil {
			t.Fatal(err)
		}
		return to.Hostname()
	}},
	"connect.state_secret": {First: strings.Repeat("s", 32), Other: strings.Repeat("o", 32), With: connecting, Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		one := newLab(t, s)
		state := one.connects("/connect/chat").Query().Get("state")
		two := newLabOn(t, one.db, connecting)
		two.signsIn()
		_, text := two.page("/connect/chat/callback?error=access_denied&state=" + url.QueryEscape(state))
		return strconv.FormatBool(!strings.Contains(text, "<h1>"))
	}},
}
