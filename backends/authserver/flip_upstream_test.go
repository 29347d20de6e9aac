package authserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
)

// upstreamFlips are of people who sign in at another provider.
func upstreamFlips(t *testing.T) map[string]flip {
	t.Helper()
	one, other := oidclogintest.New(t), oidclogintest.New(t)
	var grouped *httptest.Server // a provider that knows the scope groups
	grouped = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": grouped.URL, "authorization_endpoint": grouped.URL + "/authorize", "token_endpoint": grouped.URL + "/token", "jwks_uri": grouped.URL + "/keys", "scopes_supported": []string{"openid", "email", "groups"},
		})
	}))
	t.Cleanup(grouped.Close)
	base := trust.with(keys{
		"oidc.enabled": true, "oidc.issuer": one.URL, "oidc.client_id": oidclogintest.ClientID, "oidc.redirect_uri": "https://as.example/oidc/callback", "oidc.display_name": "The Company",
	})
	// led is where a person is led to, as a member of it.
	led := func(more keys, member func(to *url.URL) string) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			to, err := url.Parse(begin(t, base, more, key).visit("/oidc/start?redirect=/").location)
			if err != nil {
				t.Fatal(err)
			}
			return member(to)
		}
	}
	query := func(name string) func(to *url.URL) string {
		return func(to *url.URL) string { return to.Query().Get(name) }
	}
	// back is the status of who comes back from the provider, which is asked by a secret.
	back := func(t *testing.T, key keys) string {
		t.Helper()
		at := oidclogintest.New(t)
		at.Claims = map[string]any{"email": "bob@example.com", "email_verified": true}
		f := begin(t, base, keys{"oidc.issuer": at.URL}, key)
		return strconv.Itoa(f.visit("/oidc/callback?" + at.Visit(f.visit("/oidc/start?redirect=/").location).Encode()).status)
	}
	return map[string]flip{
		"oidc.enabled": {nil, true, func(t *testing.T, key keys) string {
			t.Helper()
			return strconv.Itoa(begin(t, base, key).visit("/oidc/start").status)
		}, "404", "302"},
		"oidc.issuer":               {one.URL, other.URL, led(nil, func(to *url.URL) string { return to.Scheme + "://" + to.Host }), one.URL, other.URL},
		"oidc.client_id":            {"here", "there", led(nil, query("client_id")), "here", "there"},
		"oidc.redirect_uri":         {"https://as.example/a", "https://as.example/b", led(nil, query("redirect_uri")), "https://as.example/a", "https://as.example/b"},
		"oidc.connector_id":         {nil, "corp", led(nil, query("connector_id")), "", "corp"},
		"oidc.scopes":               {nil, []string{"openid", "offline_access"}, led(nil, query("scope")), "openid email profile", "openid offline_access"},
		"oidc.include_groups_scope": {nil, false, led(keys{"oidc.issuer": grouped.URL}, query("scope")), "openid email profile groups", "openid email profile"},
		"oidc.client_secret":        {"wrong", oidclogintest.Secret, back, "400", "302"},
		"oidc.client_secret_ref":    {"BAD", "OIDC_SECRET", back, "400", "302"},
		"oidc.client_secret_env":    {"BAD", "OIDC_SECRET", back, "400", "302"},
		"oidc.display_name": {nil, "The Firm", func(t *testing.T, key keys) string {
			t.Helper()
			return strconv.FormatBool(strings.Contains(begin(t, base, key).public(http.MethodGet, "/login", "").Body.String(), "Sign in with The Firm"))
		}, "false", "true"},
		"oidc.show_local_login": {nil, false, func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, base, key)
			text := f.public(http.MethodGet, "/login", "").Body.String()
			return strconv.FormatBool(strings.Contains(text, `name="password"`)) + " " + strconv.FormatBool(f.public(http.MethodPost, "/login", "email=a").Code == http.StatusNotFound)
		}, "true false", "false true"},
		"oauth.state_max_age": {nil, "1m", func(t *testing.T, key keys) string {
			t.Helper()
			return strconv.Itoa(begin(t, base, key).visit("/oidc/start").cookies[0].MaxAge)
		}, "600", "60"},
	}
}
