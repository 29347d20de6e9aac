package authserver_test

import (
	"crypto"
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/internal/dpop"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// prover is a client that has a key.
type prover struct {
	*live
	key crypto.Signer
}

func (l *live) prover() *prover { return &prover{l, jwkstest.NewEC(elliptic.P256())} }

func (p *prover) thumbprint() string {
	p.t.Helper()
	name, err := jwks.Thumbprint(p.key.Public())
	if err != nil {
		p.t.Fatal(err)
	}
	return name
}

// proof returns a valid proof with additional claims, as pairs.
func (p *prover) proof(method, path string, claims ...string) string {
	p.t.Helper()
	all := map[string]any{"jti": secret.New(), "htm": method, "htu": p.url + path, "iat": time.Now().Unix()}
	for i := 0; i+1 < len(claims); i += 2 {
		all[claims[i]] = claims[i+1]
	}
	return jwkstest.Sign(p.t, "ES256", p.key, map[string]any{"typ": "dpop+jwt", "jwk": json.RawMessage(jwkstest.JWK("", p.key))}, all)
}

// told is the response to a client.
type told struct {
	http.Header
	status int
	body   map[string]any
}

// call sends a request with a token, if any, and proofs.
func (l *live) call(method, path string, form url.Values, authorization string, proofs ...string) told {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		l.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	for _, proof := range proofs {
		r.Header.Add("DPoP", proof)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	a := told{Header: response.Header, status: response.StatusCode}
	if err := json.NewDecoder(response.Body).Decode(&a.body); err != nil {
		l.t.Fatalf("%d: %v", response.StatusCode, err)
	}
	return a
}

// token sends a request to the token endpoint.
func (l *live) token(form url.Values, proofs ...string) told {
	l.t.Helper()
	return l.call(http.MethodPost, "/oauth/token", form, "", proofs...)
}

// is checks the status and the code of an error.
func (a told) is(t *testing.T, name string, status int, code string) {
	t.Helper()
	if got, _ := a.body["error"].(string); a.status != status || got != code {
		t.Errorf("%s: %d %v, want %d %s", name, a.status, a.body, status, code)
	}
	if a.status == http.StatusBadRequest && a.Get("WWW-Authenticate") != "" {
		t.Errorf("%s: a challenge: %v", name, a.Header)
	}
}

// text returns a member of a response.
func (a told) text(name string) string {
	text, _ := a.body[name].(string)
	return text
}

// redeem returns the form that redeems a new code of an authorization request with options.
func (l *live) redeem(c *oauth2.Config, options ...oauth2.AuthCodeOption) url.Values {
	l.t.Helper()
	verifier := oauth2.GenerateVerifier()
	location, _ := l.answers(c.AuthCodeURL("s", append(options, oauth2.S256ChallengeOption(verifier))...))
	callback, err := url.Parse(location)
	if err != nil || callback.Query().Get("code") == "" {
		l.t.Fatalf("leads to %q: %v", location, err)
	}
	return url.Values{"grant_type": {"authorization_code"}, "code": {callback.Query().Get("code")}, "redirect_uri": {c.RedirectURL}, "code_verifier": {verifier}, "client_id": {c.ClientID}}
}

const appWithKey = `{"client_name": "The App", "redirect_uris": ["https://app.example/cb"], "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], "token_endpoint_auth_method": `

// TestProofs checks that bound tokens can be used and renewed only with the key of their client.
func TestProofs(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db)
		provider, err := oidc.NewProvider(t.Context(), l.url)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/.well-known/oauth-protected-resource/files"} {
			if d := l.call(http.MethodGet, path, nil, ""); fmt.Sprint(d.body["dpop_signing_alg_values_supported"]) != "[ES256 RS256 PS256]" {
				t.Errorf("%s: %v", path, d.body)
			}
		}
		const path, info = "/oauth/token", "/oauth/userinfo"
		own, other := l.prover(), l.prover()
		c := l.register(provider, appWithKey+`"none", "dpop_bound_access_tokens": true}`)
		form := l.redeem(c, oauth2.SetAuthURLParam("dpop_jkt", own.thumbprint()))
		l.token(form).is(t, "no proof", 400, "invalid_dpop_proof")
		l.token(form, own.proof("POST", path), own.proof("POST", path)).is(t, "two proofs", 400, "invalid_dpop_proof")
		l.token(form, own.proof("POST", info)).is(t, "elsewhere", 400, "invalid_dpop_proof")
		l.token(form, other.proof("POST", path)).is(t, "another key", 400, "invalid_grant")
		proof := own.proof("POST", path)
		first := l.token(form, proof)
		if first.is(t, "redeemed", 200, ""); first.text("token_type") != "DPoP" || first.Get("DPoP-Nonce") != "" {
			t.Fatalf("%v %v", first.body, first.Header)
		}
		if claims := (&enterprise{live: l}).token(first.body); fmt.Sprint(claims["cnf"]) != "map[jkt:"+own.thumbprint()+"]" {
			t.Errorf("%v", claims)
		}

		// The token can be used only with a proof that names it.
		token := first.text("access_token")
		ath := dpop.Hash(token)
		for name, test := range map[string]struct {
			scheme, code string
			proofs       []string
		}{
			"as a bearer token":     {"Bearer", "invalid_token", []string{own.proof("GET", info, "ath", ath)}},
			"without a proof":       {"DPoP", "invalid_token", nil},
			"by another key":        {"DPoP", "invalid_token", []string{other.proof("GET", info, "ath", ath)}},
			"for no token":          {"DPoP", "invalid_dpop_proof", []string{own.proof("GET", info)}},
			"for another token":     {"DPoP", "invalid_dpop_proof", []string{own.proof("GET", info, "ath", dpop.Hash("x"))}},
			"for another method":    {"DPoP", "invalid_dpop_proof", []string{own.proof("POST", info, "ath", ath)}},
			"with an unknown nonce": {"DPoP", "use_dpop_nonce", []string{own.proof("GET", info, "ath", ath, "nonce", "x")}},
		} {
			a := l.call(http.MethodGet, info, nil, test.scheme+" "+token, test.proofs...)
			a.is(t, name, 401, test.code)
			if challenge := a.Get("WWW-Authenticate"); test.scheme == "DPoP" && challenge != `DPoP error="`+test.code+`", algs="ES256 RS256 PS256"` || (a.Get("DPoP-Nonce") != "") != (test.code == "use_dpop_nonce") {
				t.Errorf("%s: %v", name, a.Header)
			}
		}
		used := own.proof("GET", info, "ath", ath)
		if a := l.call(http.MethodGet, info, nil, "DPoP "+token, used); a.status != 200 || a.text("sub") != l.ann.ID {
			t.Errorf("%d %v", a.status, a.body)
		}
		l.call(http.MethodGet, info, nil, "DPoP "+token, used).is(t, "again", 401, "invalid_dpop_proof")

		// The refresh token of a public client is bound to the key. Refused requests leave it valid.
		form = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {first.text("refresh_token")}, "client_id": {c.ClientID}}
		l.token(form, proof).is(t, "a proof again", 400, "invalid_dpop_proof")
		l.token(form).is(t, "no proof", 400, "invalid_dpop_proof")
		l.token(form, other.proof("POST", path)).is(t, "another key", 400, "invalid_dpop_proof")
		if a := l.token(form, own.proof("POST", path)); a.status != 200 || a.text("token_type") != "DPoP" {
			t.Errorf("%v", a.body)
		}

		// A confidential client may change keys, and may get bearer tokens.
		c = l.register(provider, appWithKey+`"client_secret_post"}`)
		secretly := func(form url.Values) url.Values {
			form.Set("client_id", c.ClientID)
			form.Set("client_secret", c.ClientSecret)
			return form
		}
		a := l.token(secretly(l.redeem(c)), own.proof("POST", path))
		details := l.call(http.MethodPost, "/oauth/introspect", secretly(url.Values{"token": {a.text("access_token")}}), "")
		if details.text("token_type") != "DPoP" || fmt.Sprint(details.body["cnf"]) != "map[jkt:"+own.thumbprint()+"]" {
			t.Errorf("%v", details.body)
		}
		a = l.token(secretly(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {a.text("refresh_token")}}), other.proof("POST", path))
		if claims := (&enterprise{live: l}).token(a.body); fmt.Sprint(claims["cnf"]) != "map[jkt:"+other.thumbprint()+"]" {
			t.Errorf("%v", claims)
		}
		a = l.token(secretly(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {a.text("refresh_token")}}))
		if a.text("token_type") != "Bearer" {
			t.Errorf("%v", a.body)
		}
		l.call(http.MethodGet, info, nil, "DPoP "+a.text("access_token"), own.proof("GET", info, "ath", dpop.Hash(a.text("access_token")))).is(t, "a bearer token as a bound one", 401, "invalid_token")

		// A pushed authorization request is bound to the key of its proof.
		verifier := oauth2.GenerateVerifier()
		ahead := secretly(url.Values{
			"response_type": {"code"}, "redirect_uri": {c.RedirectURL}, "scope": {"openid"}, "code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
			"dpop_jkt": {other.thumbprint()},
		})
		l.call(http.MethodPost, "/oauth/par", ahead, "", own.proof("POST", "/oauth/par")).is(t, "another key ahead", 400, "invalid_dpop_proof")
		ahead.Del("dpop_jkt")
		pushed := l.call(http.MethodPost, "/oauth/par", ahead, "", own.proof("POST", "/oauth/par"))
		location, _ := l.answers("/oauth/authorize?" + url.Values{"client_id": {c.ClientID}, "request_uri": {pushed.text("request_uri")}}.Encode())
		callback, err := url.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		form = secretly(url.Values{"grant_type": {"authorization_code"}, "code": {callback.Query().Get("code")}, "redirect_uri": {c.RedirectURL}, "code_verifier": {verifier}})
		l.token(form).is(t, "sent ahead, no proof", 400, "invalid_grant")
		l.token(form, other.proof("POST", path)).is(t, "sent ahead, another key", 400, "invalid_grant")
		l.token(form, own.proof("POST", path)).is(t, "sent ahead", 200, "")
	})
}

// TestProofNonces checks that each response to a proof contains a nonce if nonces are required.
func TestProofNonces(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t), "dpop: {require_nonce: true}")
	provider, err := oidc.NewProvider(t.Context(), l.url)
	if err != nil {
		t.Fatal(err)
	}
	c, own := l.register(provider, appWithKey+`"none"}`), l.prover()
	form := l.redeem(c)
	a := l.token(form, own.proof("POST", "/oauth/token"))
	a.is(t, "no nonce", 400, "use_dpop_nonce")
	nonce := a.Get("DPoP-Nonce")
	if a = l.token(url.Values{"client_id": {"x"}}, own.proof("POST", "/oauth/token")); a.Get("DPoP-Nonce") == "" {
		t.Errorf("an unknown client gets no nonce: %v", a.Header)
	}
	a = l.token(form, own.proof("POST", "/oauth/token", "nonce", nonce))
	if a.is(t, "a nonce", 200, ""); a.Get("DPoP-Nonce") == "" || a.text("token_type") != "DPoP" {
		t.Fatalf("%v %v", a.body, a.Header)
	}
	token := a.text("access_token")
	ath := dpop.Hash(token)
	a = l.call(http.MethodGet, "/oauth/userinfo", nil, "DPoP "+token, own.proof("GET", "/oauth/userinfo", "ath", ath))
	if a.is(t, "userinfo", 401, "use_dpop_nonce"); a.Get("DPoP-Nonce") == "" {
		t.Errorf("%v", a.Header)
	}
	l.call(http.MethodGet, "/oauth/userinfo", nil, "DPoP "+token, own.proof("GET", "/oauth/userinfo", "ath", ath, "nonce", a.Get("DPoP-Nonce"))).is(t, "userinfo", 200, "")
	a = l.token(l.redeem(c))
	if a.text("token_type") != "Bearer" || a.Get("DPoP-Nonce") != "" { // only responses to proofs have nonces
		t.Errorf("%v %v", a.body, a.Header)
	}
}

// TestProofsOff checks that proofs and dpop_jkt are ignored if DPoP is disabled.
func TestProofsOff(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t), "dpop: {enabled: false}")
	provider, err := oidc.NewProvider(t.Context(), l.url)
	if err != nil {
		t.Fatal(err)
	}
	if d := l.call(http.MethodGet, "/.well-known/oauth-authorization-server", nil, ""); d.body["dpop_signing_alg_values_supported"] != nil {
		t.Errorf("%v", d.body)
	}
	c, own := l.register(provider, appWithKey+`"none"}`), l.prover()
	if a := l.token(l.redeem(c, oauth2.SetAuthURLParam("dpop_jkt", own.thumbprint())), "not a proof"); a.text("token_type") != "Bearer" {
		t.Errorf("%v", a.body)
	}
}

// TestAssertionProof checks that an assertion that is bound to a key is accepted only with a proof of that key.
func TestAssertionProof(t *testing.T) {
	t.Parallel()
	e := newEnterprise(t, databases.SQLite(t))
	own, other := e.prover(), e.prover()
	form := func() url.Values {
		return url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {e.sign(map[string]any{"cnf": map[string]any{"jkt": own.thumbprint()}})},
			"client_id": {e.client}, "client_secret": {e.secret},
		}
	}
	e.live.token(form()).is(t, "no proof", 400, "invalid_dpop_proof")
	e.live.token(form(), other.proof("POST", "/oauth/token")).is(t, "another key", 400, "invalid_dpop_proof")
	a := e.live.token(form(), own.proof("POST", "/oauth/token"))
	if a.is(t, "its key", 200, ""); a.text("token_type") != "DPoP" || fmt.Sprint(e.token(a.body)["cnf"]) != "map[jkt:"+own.thumbprint()+"]" {
		t.Errorf("%v", a.body)
	}
}
