package apiauth

import (
	"context"
	"crypto/elliptic"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// TestOAuthBound checks that a token that is bound to a key is accepted only with a proof of that key for the request,
// which can be used once.
func TestOAuthBound(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	o := newOAuth(t, &OAuth{Issuer: p.URL, Audiences: []string{notes}})
	o.proofs = dpop.Verifier{Lifetime: proofLife, Replays: counters.NewMemory(time.Now), Prefix: "oauth:dpop:", Now: time.Now}
	key, other := jwkstest.NewEC(elliptic.P256()), jwkstest.NewEC(elliptic.P256())
	thumbprint := func(jwk string) string {
		var k struct{ Crv, Kty, X, Y string }
		if err := json.Unmarshal([]byte(jwk), &k); err != nil {
			t.Fatal(err)
		}
		return dpop.Hash(`{"crv":"` + k.Crv + `","kty":"` + k.Kty + `","x":"` + k.X + `","y":"` + k.Y + `"}`)
	}
	public := func(jwk string) any {
		var k map[string]any
		if err := json.Unmarshal([]byte(jwk), &k); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"kty": k["kty"], "crv": k["crv"], "x": k["x"], "y": k["y"]}
	}
	jwk := jwkstest.JWK("k", key)
	bound := accessToken(t, p.URL, nil, golang.MapClaims{"cnf": map[string]any{"jkt": thumbprint(jwk)}})
	free := accessToken(t, p.URL, nil, nil)
	prove := func(id string, changes golang.MapClaims) string {
		claims := golang.MapClaims{"jti": id, "htm": "GET", "htu": notes + "/pages/1", "iat": time.Now().Unix(), "ath": dpop.Hash(bound)}
		for name, value := range changes {
			if claims[name] = value; value == nil {
				delete(claims, name)
			}
		}
		return jwkstest.Sign(t, "ES256", key, map[string]any{"typ": "dpop+jwt", "jwk": public(jwk)}, claims)
	}
	foreign := jwkstest.Sign(t, "ES256", other, map[string]any{"typ": "dpop+jwt", "jwk": public(jwkstest.JWK("k", other))},
		map[string]any{"jti": "f", "htm": "GET", "htu": notes + "/pages/1", "iat": time.Now().Unix(), "ath": dpop.Hash(bound)})
	// The request was rewritten by earlier handlers, and its host is not that of the resource.
	ask := func(authorization string, proofs ...string) (id, challenge string, err error) {
		original := httptest.NewRequest(http.MethodGet, "https://inner.example/mcp/pages/1?q=1", nil)
		r := httptest.NewRequest(http.MethodGet, "https://inner.example/pages/1", nil)
		r.Header.Set("Authorization", authorization)
		for _, proof := range proofs {
			r.Header.Add("DPoP", proof)
		}
		ctx := context.WithValue(r.Context(), caddyhttp.VarsCtxKey, make(map[string]any))
		r = r.WithContext(context.WithValue(ctx, caddyhttp.OriginalRequestCtxKey, *original))
		w := httptest.NewRecorder()
		user, _, err := o.Authenticate(w, r)
		return user.ID, w.Header().Get("WWW-Authenticate"), err
	}
	once := prove("once", nil)
	if id, challenge, err := ask("DPoP "+bound, once); id != "ann" || err != nil || challenge != "" {
		t.Fatalf("%q %v %s", id, err, challenge)
	}
	_, challenge, _ := ask("DPoP "+bound, once)
	if want := `DPoP error="invalid_dpop_proof", error_description="the proof was used before", algs="ES256 RS256 PS256", ` + notesMetadata; challenge != want {
		t.Errorf("challenge %s", challenge)
	}
	o.ACR, o.resource.stronger, o.resource.scope = []string{"2"}, `acr_values="2"`, "read"
	_, challenge, err := ask("DPoP "+bound, prove("stronger", nil))
	if want := `DPoP error="insufficient_user_authentication", error_description="a stronger sign-in is needed here", acr_values="2", scope="read", algs="ES256 RS256 PS256", ` + notesMetadata; challenge != want {
		t.Errorf("challenge %s of %v", challenge, err)
	}
	o.ACR, o.resource.stronger, o.resource.scope = nil, "", ""
	if id, _, err := ask("dpop "+bound, prove("nonce", golang.MapClaims{"nonce": "of another server"})); id != "ann" {
		t.Errorf("a nonce that the server has not issued: %v", err)
	}
	if id, _, err := ask("Bearer " + free); id != "ann" {
		t.Errorf("a token without a key: %v", err)
	}
	for name, test := range map[string]struct {
		authorization string
		proofs        []string
		code          string
	}{
		"the same proof":        {"DPoP " + bound, []string{once}, "invalid_dpop_proof"},
		"no proof":              {"DPoP " + bound, nil, "invalid_dpop_proof"},
		"two proofs":            {"DPoP " + bound, []string{prove("a", nil), prove("b", nil)}, "invalid_dpop_proof"},
		"as a bearer":           {"Bearer " + bound, []string{prove("c", nil)}, "invalid_token"},
		"of no key":             {"DPoP " + free, []string{prove("d", golang.MapClaims{"ath": dpop.Hash(free)})}, "invalid_token"},
		"another key":           {"DPoP " + bound, []string{foreign}, "invalid_dpop_proof"},
		"another token":         {"DPoP " + bound, []string{prove("e", golang.MapClaims{"ath": dpop.Hash(free)})}, "invalid_dpop_proof"},
		"no token":              {"DPoP " + bound, []string{prove("g", golang.MapClaims{"ath": nil})}, "invalid_dpop_proof"},
		"another method":        {"DPoP " + bound, []string{prove("h", golang.MapClaims{"htm": "POST"})}, "invalid_dpop_proof"},
		"the path after it":     {"DPoP " + bound, []string{prove("i", golang.MapClaims{"htu": "https://notes.example/pages/1"})}, "invalid_dpop_proof"},
		"the host that was hit": {"DPoP " + bound, []string{prove("j", golang.MapClaims{"htu": "https://inner.example/mcp/pages/1"})}, "invalid_dpop_proof"},
		"of yesterday":          {"DPoP " + bound, []string{prove("k", golang.MapClaims{"iat": time.Now().Add(-time.Hour).Unix()})}, "invalid_dpop_proof"},
	} {
		id, challenge, err := ask(test.authorization, test.proofs...)
		if refusal, ok := apierror.From(err); id != "" || !ok || refusal.Status != 401 || refusal.Code != test.code || !strings.Contains(challenge, `error="`+test.code+`"`) || strings.Contains(challenge, bound) {
			t.Errorf("%s: %q %v %s", name, id, err, challenge)
		}
	}
	for name, cnf := range map[string]any{"a certificate": map[string]any{"x5t#S256": "x"}, "a word": "x", "both": map[string]any{"jkt": "x", "x5t#S256": "x"}, "no thumbprint": map[string]any{"jkt": ""}} {
		if id, _, err := ask("DPoP "+accessToken(t, p.URL, nil, golang.MapClaims{"cnf": cnf}), prove("z"+name, nil)); id != "" || err == nil {
			t.Errorf("bound to %s: %q %v", name, id, err)
		}
	}
}
