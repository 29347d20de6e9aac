// Package oidclogintest provides an OpenID provider for tests. It signs everybody in without a password, with the
// claims that the test sets.
package oidclogintest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// ClientID and Secret are the credentials of the only client.
const (
	ClientID = "pages"
	Secret   = "not-a-guess"
)

// Provider is an OpenID provider. A test may change its fields between sign-ins.
type Provider struct {
	URL string
	// Claims are added to the standard claims of the ID token. A nil value removes a claim.
	Claims map[string]any
	// UserInfo has the claims of the userinfo endpoint. If it is nil the provider has no such endpoint.
	UserInfo map[string]any
	// Answer is added to the parameters of the authorization response.
	Answer url.Values
	// Down makes every request fail. Lost is the path of requests that fail even if Down is false.
	Down bool
	Lost string
	// Sign makes the ID token from claims. Default: ES256 with Key.
	Sign func(claims map[string]any) string
	// Key signs ID tokens, and KeyID is the key's id. Replacing both simulates a key rotation.
	Key   *ecdsa.PrivateKey
	KeyID string

	tb       testing.TB
	mu       sync.Mutex            // guards the fields below
	codes    map[string]url.Values // the queries of authorization requests, by code
	requests map[string]int        // number of requests by path
	gate     <-chan struct{}       // see Hold
}

// Asked returns the number of requests for a path.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

// Hold delays answers until done is closed.
func (p *Provider) Hold(done <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = done
}

// Discovery is the path of the metadata.
const Discovery = "/.well-known/openid-configuration"

// New starts a provider, which is closed at the end of the test.
func New(tb testing.TB) *Provider {
	tb.Helper()
	p := &Provider{
		tb: tb, codes: make(map[string]url.Values), requests: make(map[string]int),
		Key: jwkstest.NewEC(elliptic.P256()), KeyID: "k1",
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Discovery, func(w http.ResponseWriter, _ *http.Request) {
		document := map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
			"authorization_response_iss_parameter_supported": true,
		}
		if p.UserInfo != nil {
			document["userinfo_endpoint"] = p.URL + "/userinfo"
		}
		answer(w, document)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(jwkstest.Keys(jwkstest.JWK(p.KeyID, p.Key))))
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { answer(w, p.UserInfo) })
	mux.HandleFunc("POST /token", p.token)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.requests[r.URL.Path]++
		gate := p.gate
		p.mu.Unlock()
		if gate != nil {
			<-gate
		}
		if p.Down || p.Lost == r.URL.Path {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// token answers a request for tokens. A code can be used once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	p.mu.Lock()
	request, known := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || id != ClientID || secret != Secret ||
		request.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
		request.Get("code_challenge_method") != "S256" || request.Get("redirect_uri") != r.FormValue("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "sub": "s-1", "nonce": request.Get("nonce"),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, p.Claims)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	sign := p.Sign
	if sign == nil {
		sign = func(claims map[string]any) string {
			return jwkstest.Sign(p.tb, "ES256", p.Key, map[string]any{"kid": p.KeyID}, claims)
		}
	}
	answer(w, map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": sign(claims)})
}

// answer answers with a value as JSON.
func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// Visit requests location, an authorization URL, as a browser does. It returns the query of the authorization
// response.
func (p *Provider) Visit(location string) url.Values {
	p.tb.Helper()
	u, err := url.Parse(location)
	if err != nil || u.Scheme+"://"+u.Host != p.URL || u.Path != "/authorize" ||
		u.Query().Get("client_id") != ClientID || u.Query().Get("response_type") != "code" {
		p.tb.Fatalf("led to %q, not to the provider", location)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := "code-" + strconv.Itoa(len(p.codes)) + u.Query().Get("nonce")
	p.codes[code] = u.Query()
	response := url.Values{"code": {code}, "state": {u.Query().Get("state")}, "iss": {p.URL}}
	maps.Copy(response, p.Answer)
	return response
}
