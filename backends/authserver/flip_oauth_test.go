package authserver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// oauthFlips are of codes, scopes and refresh tokens.
func oauthFlips() map[string]flip {
	return map[string]flip{
		"oauth.code_expiry": {nil, "5m", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			form := f.redeem(f.app())
			f.clock.Pass(90 * time.Second)
			return f.public(http.MethodPost, "/oauth/token", form.Encode()).says()
		}, "invalid_grant", "200"},
		"oauth.default_client_scope": {nil, "read write", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			id, _ := f.registers().body["client_id"].(string)
			scope, _ := f.admin(http.MethodGet, "/clients/"+id, "").body["scope"].(string)
			return scope
		}, "", "read write"},
		"oauth.require_scope": {nil, false, func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			c := f.app()
			c.Scopes = nil
			to, err := url.Parse(f.public(http.MethodGet, c.AuthCodeURL("s")+"&resource=files&code_challenge_method=S256&code_challenge="+strings.Repeat("c", 43), "").Header().Get("Location"))
			if err != nil {
				t.Fatal(err)
			}
			return to.Path + " " + to.Query().Get("error")
		}, "/cb invalid_scope", "/login "},
		"oauth.refresh_reuse_grace": {nil, "1m", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			c, tokens := f.signedIn()
			f.renew(c, tokens)
			return f.renew(c, tokens).says()
		}, "invalid_grant", "200"},
	}
}
