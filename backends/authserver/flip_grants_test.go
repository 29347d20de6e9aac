package authserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// robot is an agent that gets tokens for itself.
func (f *flipped) robot() url.Values {
	f.t.Helper()
	id, secret := f.client(map[string]any{
		"client_name": "Robot", "grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{}, "token_endpoint_auth_method": "client_secret_post", "agent": true,
	})
	return url.Values{"client_id": {id}, "client_secret": {secret}, "grant_type": {"client_credentials"}}
}

// grantFlips are of the tokens of machines, and of tokens for tokens.
func grantFlips() map[string]flip {
	// has tells whether there is a grant.
	has := func(grant string) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			return fmt.Sprint(strings.Contains(metadata("grant_types_supported")(t, key), `"`+grant+`"`))
		}
	}
	return map[string]flip{
		"client_credentials.enabled": {nil, false, has("client_credentials"), "true", "false"},
		"client_credentials.token_expiry": {nil, "5m", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			return f.public(http.MethodPost, "/oauth/token", f.robot().Encode()).seconds()
		}, "1h0m0s", "5m0s"},
		"token_exchange.enabled": {nil, false, has(exchangeGrant), "true", "false"},
		"token_exchange.token_expiry": {nil, "5m", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			app, service := f.party("app", false), f.party("service", false, "files")
			_, claims := service.exchanged(app.signIn("read", "files"), "audience", "files")
			return fmt.Sprint(claims["exp"].(float64) - claims["iat"].(float64))
		}, "900", "300"},
		"token_exchange.allow_self_exchange": {nil, true, func(t *testing.T, key keys) string {
			t.Helper()
			app := begin(t, key).party("app", false)
			return fmt.Sprint(app.exchange(app.signIn("read write", "files"), "scope", "read").status)
		}, "400", "200"},
		"token_exchange.max_chain_depth": {nil, 1, func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			app, one, two := f.party("app", false), f.party("one", false, "files"), f.party("two", false, "files")
			text, _ := one.exchanged(app.signIn("read", "files"), "audience", "files")
			one.signIn("read", "files")
			return fmt.Sprint(two.exchange(text, "audience", "files").status)
		}, "200", "400"},
		"agents.enable_jwks_listing": {nil, true, func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			id := f.robot().Get("client_id")
			return fmt.Sprint(strings.Contains(f.public(http.MethodGet, "/.well-known/jwks.json", "").Body.String(), id))
		}, "false", "true"},
	}
}
