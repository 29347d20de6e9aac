package authserver_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// proved returns the response to a token request with a proof that was made the given time ago, and a nonce.
func (l *lab) proved(p *prover, form url.Values, ago time.Duration, nonce string) told {
	l.t.Helper()
	claims := map[string]any{"jti": secret.New(), "htm": http.MethodPost, "htu": l.url + "/oauth/token", "iat": l.clock.Now().Add(-ago).Unix()}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return l.token(form, jwkstest.Sign(l.t, "ES256", p.key, map[string]any{"typ": "dpop+jwt", "jwk": json.RawMessage(jwkstest.JWK("", p.key))}, claims))
}

// flipsOfTokens are the tests of the configuration keys for the issuing of tokens.
var flipsOfTokens = map[string]flip{
	"oauth.code_expiry": {Other: "5m", Want: [2]string{"400", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		form := l.redeem(l.app())
		l.clock.Pass(90 * time.Second)
		return l.status(http.MethodPost, "/oauth/token", form.Encode())
	}},
	"oauth.default_client_scope": {Other: "read", Want: [2]string{"<nil>", "read"}, See: func(t *testing.T, s settings) string {
		return member(t, newLab(t, s).registers(), "scope")
	}},
	"oauth.form_post": {Other: "true", Want: [2]string{"[query]", "[query form_post]"}, See: func(t *testing.T, s settings) string {
		return member(t, newLab(t, s).ask(http.MethodGet, "/.well-known/openid-configuration", ""), "response_modes_supported")
	}},
	"oauth.require_scope": {Other: "false", Want: [2]string{"invalid_scope", ""}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		app := l.app()
		app.Scopes = nil
		to, _ := l.page("/oauth/authorize?" + query(app.AuthCodeURL("s", oauth2.S256ChallengeOption(oauth2.GenerateVerifier()), oauth2.SetAuthURLParam("resource", "https://files.example"))).Encode())
		return query(to).Get("error")
	}},
	"oauth.refresh_reuse_grace": {Other: "30s", Want: [2]string{"400", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		app := l.app()
		token := member(t, l.ask(http.MethodPost, "/oauth/token", l.redeem(app).Encode()), "refresh_token")
		l.refreshes(app, token)
		return l.refreshes(app, token)
	}},
	"client_credentials.enabled": {Other: "false", Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		return offers(t, newLab(t, s), "client_credentials")
	}},
	"client_credentials.token_expiry": {Other: "5m", Want: [2]string{"3600", "300"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return member(t, l.ask(http.MethodPost, "/oauth/token", l.machine().Encode()), "expires_in")
	}},

	"dpop.enabled": {Other: "false", Want: [2]string{"DPoP", "Bearer"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return l.proved(l.prover(), l.machine(), 0, "").text("token_type")
	}},
	"dpop.proof_lifetime": {Other: "5m", Want: [2]string{"400", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return strconv.Itoa(l.proved(l.prover(), l.machine(), 2*time.Minute, "").status)
	}},
	"dpop.require_nonce": {Other: "true", Want: [2]string{"200", "400"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return strconv.Itoa(l.proved(l.prover(), l.machine(), 0, "").status)
	}},
	"dpop.nonce_ttl": {Other: "10m", With: settings{"dpop.require_nonce": "true"}, Want: [2]string{"400", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		p, form := l.prover(), l.machine()
		nonce := l.proved(p, form, 0, "").Get("DPoP-Nonce")
		l.clock.Pass(5 * time.Minute)
		return strconv.Itoa(l.proved(p, form, 0, nonce).status)
	}},

	"token_exchange.enabled": {Other: "false", Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		return offers(t, newLab(t, s), exchangeGrant)
	}},
	"token_exchange.allow_self_exchange": {Other: "true", Want: [2]string{"400", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		app := l.party("app", false)
		return strconv.Itoa(app.exchange(app.signIn("read", "files"), "scope", "read").status)
	}},
	"token_exchange.token_expiry": {Other: "5m", With: settings{"token_exchange.allow_self_exchange": "true", "dcr.default_token_expiry": "3h"}, Want: [2]string{"3600", "300"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		app := l.party("app", false)
		return strconv.Itoa(int(app.exchange(app.signIn("read", "files"), "scope", "read").body["expires_in"].(float64)))
	}},
	"token_exchange.max_chain_depth": {Other: "2", Want: [2]string{"5", "2"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		text := l.party("app", false).signIn("read", "files")
		two := [2]*party{l.party("one", false, "files"), l.party("two", false, "files")}
		for _, p := range two {
			p.signIn("read", "files")
		}
		n := -1
		return until(100, http.StatusOK, func() int {
			n++
			answer := two[n%2].exchange(text, "resource", "files", "scope", "read")
			text = answer.text("access_token")
			return answer.status
		})
	}},
}

// query returns the query of a URL.
func query(address string) url.Values {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	return u.Query()
}

// offers reports whether the metadata have a grant.
func offers(t *testing.T, l *lab, grant string) string {
	t.Helper()
	var metadata struct {
		Grants []string `json:"grant_types_supported"`
	}
	if err := json.Unmarshal(l.ask(http.MethodGet, "/.well-known/oauth-authorization-server", "").Body.Bytes(), &metadata); err != nil {
		t.Fatal(err)
	}
	return strconv.FormatBool(slices.Contains(metadata.Grants, grant))
}
