package oidclogin

import (
	"crypto/elliptic"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
)

var browser = Browser{Secret: "a-secret-of-the-browser", Redirect: "https://forum.example.com/login/oidc"}

type fixture struct {
	*Provider
	at  *oidclogintest.Provider
	now time.Time
	t   *testing.T
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{at: oidclogintest.New(t), now: time.Now(), t: t}
	memory := counters.NewMemory(nil)
	var err error
	f.Provider, err = New(Options{
		Issuer: f.at.URL, ClientID: oidclogintest.ClientID, Secret: oidclogintest.Secret, Groups: map[string][]string{"staff": {"editors", "readers"}, "root": {"admins"}},
		Key: func() []byte { return []byte(strings.Repeat("k", 32)) }, Counters: func() counters.Store { return memory }, Now: func() time.Time { return f.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) begin(ask Ask) url.Values {
	f.t.Helper()
	location, err := f.Begin(f.t.Context(), browser, ask)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.at.Visit(location)
}

func (f *fixture) refuses(b Browser, query url.Values, status int) {
	f.t.Helper()
	person, err := f.Finish(f.t.Context(), b, query)
	if e, ok := apierror.From(err); !ok || e.Status != status {
		f.t.Errorf("%v: %+v, error %v, want status %d", query, person, err, status)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.at.Claims = map[string]any{"email": "ann@example.com", "email_verified": true, "name": "Ann B.", "preferred_username": "ann", "groups": []any{"staff", "others", 7}}
	if f.at.Asked(oidclogintest.Discovery) != 0 {
		t.Error("the provider was asked before anybody signed in")
	}
	query := f.begin(Ask{Next: "/threads/1?page=2"})
	person, err := f.Finish(t.Context(), browser, query)
	if err != nil {
		t.Fatal(err)
	}
	if person.Issuer != f.at.URL || person.Subject != "s-1" || person.Email != "ann@example.com" || !person.Confirmed || person.Next != "/threads/1?page=2" ||
		!slices.Equal(person.Names, []string{"ann", "Ann B."}) || !slices.Equal(person.Groups, []string{"editors", "readers"}) || !person.AuthTime.IsZero() {
		t.Errorf("%+v", person)
	}
	f.refuses(browser, query, http.StatusForbidden) // a sign-in works once
	if !slices.Equal(f.Managed(), []string{"admins", "editors", "readers"}) {
		t.Errorf("managed: %v", f.Managed())
	}
	if f.begin(Ask{}); f.at.Asked(oidclogintest.Discovery) != 1 {
		t.Errorf("the discovery document was requested %d times", f.at.Asked(oidclogintest.Discovery))
	}
}

// TestSignInIsBoundToBrowser checks that a sign-in can be finished only with the browser, address and client that it
// was begun with, and in time.
func TestSignInIsBoundToBrowser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	query := f.begin(Ask{})
	f.refuses(Browser{Secret: "another", Redirect: browser.Redirect}, query, http.StatusForbidden)
	f.refuses(Browser{Redirect: browser.Redirect}, query, http.StatusForbidden)
	f.refuses(Browser{Secret: browser.Secret, Redirect: "https://other.example.com/"}, query, http.StatusForbidden)
	for name, values := range map[string][]string{
		"state": {"", query.Get("state") + "A", strings.Repeat("A", 9999)}, "code": {"", "another", strings.Repeat("A", maxCode+1)}, "iss": {"", "https://evil.example.com"}, "error": {"access_denied"},
	} {
		for _, value := range values {
			changed := url.Values{"state": query["state"], "code": query["code"], "iss": query["iss"]}
			changed.Set(name, value)
			if name == "code" && value == "another" { // a wrong code uses the state up
				changed["state"] = f.begin(Ask{})["state"]
			}
			f.refuses(browser, changed, http.StatusForbidden)
		}
		twice := url.Values{"state": query["state"], "code": query["code"], "iss": query["iss"]}
		if twice.Add(name, "more"); name != "error" {
			f.refuses(browser, twice, http.StatusForbidden)
		}
	}
	f.now = f.now.Add(defaultLasts)
	f.refuses(browser, query, http.StatusForbidden)
	f.now = f.now.Add(-defaultLasts)
	if _, err := f.Finish(t.Context(), browser, query); err != nil {
		t.Errorf("after all refusals: %v", err)
	}
}

// TestToken checks that an ID token that does not belong to this sign-in is refused.
func TestToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, claims := range map[string]map[string]any{
		"nonce": {"nonce": "another"}, "no nonce": {"nonce": nil}, "audience": {"aud": "other"}, "issuer": {"iss": "https://other.example.com"}, "expired": {"exp": f.now.Add(-time.Hour).Unix()},
		"party": {"azp": "other"}, "audiences": {"aud": []string{oidclogintest.ClientID, "other"}}, "subject": {"sub": ""}, "long subject": {"sub": strings.Repeat("s", 256)},
	} {
		f.at.Claims = claims
		query := f.begin(Ask{})
		person, err := f.Finish(t.Context(), browser, query)
		if e, ok := apierror.From(err); !ok || e.Status != http.StatusForbidden {
			t.Errorf("%s: %+v, error %v", name, person, err)
		}
	}
}

// TestClockAhead checks how far the clock of a provider may be ahead of the local clock.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for skew, good := range map[time.Duration]bool{10 * time.Second: true, 12 * time.Second: false} {
		f.at.Claims = map[string]any{"iat": f.now.Add(skew).Unix()}
		if _, err := f.Finish(t.Context(), browser, f.begin(Ask{})); (err == nil) != good {
			t.Errorf("by %s: error %v", skew, err)
		}
	}
}

// TestForgedTokenIsRefused checks that an ID token that the provider has not signed is refused.
func TestForgedTokenIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	foreign := jwkstest.NewEC(elliptic.P256())
	public, err := x509.MarshalPKIXPublicKey(f.at.Key.Public())
	if err != nil {
		t.Fatal(err)
	}
	signed := func(algorithm string, key any, header map[string]any) func(map[string]any) string {
		return func(claims map[string]any) string { return jwkstest.Sign(t, algorithm, key, header, claims) }
	}
	known := map[string]any{"kid": f.at.KeyID}
	for name, sign := range map[string]func(map[string]any) string{
		"none":        signed("none", jwt.UnsafeAllowNoneSignatureType, known),
		"public key":  signed("HS256", public, known),
		"secret":      signed("HS256", []byte(oidclogintest.Secret), known),
		"foreign key": signed("ES256", foreign, known),
		"unknown kid": signed("ES256", foreign, map[string]any{"kid": "k9"}),
		"without kid": signed("ES256", foreign, nil),
		"its own key": signed("ES256", foreign, map[string]any{"kid": "k9", "jwk": json.RawMessage(jwkstest.JWK("k9", foreign)), "jku": "https://evil.example.com/keys"}),
		"in the future": func(claims map[string]any) string {
			claims["iat"] = f.now.Add(time.Hour).Unix()
			return jwkstest.Sign(t, "ES256", f.at.Key, known, claims)
		},
		"another text": func(claims map[string]any) string {
			token := jwkstest.Sign(t, "ES256", f.at.Key, known, claims)
			claims["sub"] = "s-2"
			other := jwkstest.Sign(t, "ES256", f.at.Key, known, claims)
			return other[:strings.LastIndexByte(other, '.')] + token[strings.LastIndexByte(token, '.'):]
		},
		"nothing": func(map[string]any) string { return "a.b" },
	} {
		f.at.Sign = sign
		person, err := f.Finish(t.Context(), browser, f.begin(Ask{}))
		if e, ok := apierror.From(err); !ok || e.Status != http.StatusForbidden {
			t.Errorf("%s: %+v, error %v", name, person, err)
		}
	}
}

// TestRotation checks that a provider may sign with another key from one sign-in to the next.
func TestRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, kid := range []string{"k1", "k1", "k2", "k2"} {
		if kid != f.at.KeyID {
			f.at.Key, f.at.KeyID = jwkstest.NewEC(elliptic.P256()), kid
		}
		if _, err := f.Finish(t.Context(), browser, f.begin(Ask{})); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n := f.at.Asked("/keys"); n != 2 {
		t.Errorf("keys were asked for %d times", n)
	}
}

// TestAuthenticationAgain checks that a provider that was asked to authenticate the person again must confirm that it
// did.
func TestAuthenticationAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refuses(browser, f.begin(Ask{Again: true}), http.StatusForbidden)
	f.at.Claims = map[string]any{"auth_time": f.now.Add(-time.Hour).Unix()}
	f.refuses(browser, f.begin(Ask{Again: true}), http.StatusForbidden)
	f.at.Claims = map[string]any{"auth_time": f.now.Unix()}
	location, err := f.Begin(t.Context(), browser, Ask{Again: true})
	if err != nil || !strings.Contains(location, "max_age=0") {
		t.Fatalf("%s, error %v", location, err)
	}
	person, err := f.Finish(t.Context(), browser, f.at.Visit(location))
	if err != nil || !person.Again || person.AuthTime.Unix() != f.now.Unix() {
		t.Errorf("%+v, error %v", person, err)
	}
}

func TestUserInfo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.at.UserInfo = map[string]any{"sub": "s-1", "email": "ann@example.com", "email_verified": "true", "groups": "root", "name": "Ann", "preferred_username": "ann@example.com"}
	person, err := f.Finish(t.Context(), browser, f.begin(Ask{}))
	if err != nil || person.Email != "ann@example.com" || !person.Confirmed || !slices.Equal(person.Groups, []string{"admins"}) || !slices.Equal(person.Names, []string{"Ann", "ann@example.com"}) {
		t.Errorf("%+v, error %v", person, err)
	}
	f.at.UserInfo["sub"] = "s-2"
	f.refuses(browser, f.begin(Ask{}), http.StatusForbidden)
	// The confirmation of one address does not apply to another.
	f.at.UserInfo["sub"], f.at.Claims = "s-1", map[string]any{"email": "bob@example.com"}
	if person, err := f.Finish(t.Context(), browser, f.begin(Ask{})); err != nil || person.Confirmed || person.Email != "bob@example.com" {
		t.Errorf("%+v, error %v", person, err)
	}
}

func TestProviderDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.at.Down = true
	if _, err := f.Begin(t.Context(), browser, Ask{}); !unavailable(err) {
		t.Errorf("error %v", err)
	}
	f.at.Down = false
	query := f.begin(Ask{})
	f.at.Down = true
	f.refuses(browser, query, http.StatusServiceUnavailable)
	f.now = f.now.Add(2 * metadataLifetime)
	if _, err := f.Begin(t.Context(), browser, Ask{}); err != nil {
		t.Errorf("the cached discovery document is no longer used: %v", err)
	}
	f.now = f.now.Add(staleFor)
	if _, err := f.Begin(t.Context(), browser, Ask{}); !unavailable(err) {
		t.Errorf("the cached discovery document is used for too long: error %v", err)
	}
}

// TestProviderLostDuringSignIn checks that a sign-in that fails because the provider cannot be reached is a 503, and
// not the fault of the person.
func TestProviderLostDuringSignIn(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/keys", "/userinfo", "/token"} {
		f := newFixture(t)
		f.at.UserInfo = map[string]any{"sub": "s-1"}
		query := f.begin(Ask{})
		f.at.Lost = path
		f.refuses(browser, query, http.StatusServiceUnavailable)
		f.at.Lost = ""
		if _, err := f.Finish(t.Context(), browser, f.begin(Ask{})); err != nil {
			t.Errorf("%s is there again: %v", path, err)
		}
	}
}

// TestDiscoveryDoesNotDelaySignIn checks that no sign-in waits while the discovery document of the provider is fetched
// again.
func TestDiscoveryDoesNotDelaySignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.begin(Ask{})
	f.now = f.now.Add(2 * metadataLifetime)
	hold := make(chan struct{})
	f.at.Hold(hold)
	for range 5 {
		f.begin(Ask{})
	}
	close(hold)
	for f.cached.Load().expires.Before(f.now) {
		runtime.Gosched()
	}
	if n := f.at.Asked(oidclogintest.Discovery); n != 2 {
		t.Errorf("the discovery document was requested %d times", n)
	}
}

func unavailable(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusServiceUnavailable
}

// TestForeignEndpointsAreGuarded checks that an endpoint on a host other than the provider's own must not be in the
// operator's network.
func TestForeignEndpointsAreGuarded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, allow := range [][]netip.Prefix{nil, {netip.MustParsePrefix("127.0.0.0/8")}} {
		client := newClient("id.example.com", allow)
		answer, err := client.Get(f.at.URL + "/keys") //nolint:noctx // the client has a time limit
		if err == nil {
			_ = answer.Body.Close()
		}
		if (err == nil) != (allow != nil) {
			t.Errorf("%v: error %v", allow, err)
		}
	}
	if _, err := newClient("id.example.com", nil).Get("http://id.example.com/keys"); err == nil { //nolint:noctx,bodyclose // there is no answer
		t.Error("keys came without TLS")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := Options{Issuer: "https://id.example.com/", ClientID: "x"}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(o *Options){
		"issuer": func(o *Options) { o.Issuer = "http://id.example.com" }, "query": func(o *Options) { o.Issuer += "?a=b" }, "user": func(o *Options) { o.Issuer = "https://a@id.example.com" },
		"client": func(o *Options) { o.ClientID = "" }, "scopes": func(o *Options) { o.Scopes = []string{"email"} },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzState checks that a state that was not signed here is refused, however it looks.
func FuzzState(f *testing.F) {
	p := &Provider{o: Options{Key: func() []byte { return make([]byte, 32) }, Now: time.Now}}
	f.Add("", "/")
	f.Add("AAAA", strings.Repeat("n", maxNext+1))
	f.Fuzz(func(t *testing.T, text, next string) {
		signed := p.sign(browser, Ask{Next: next})
		s, ok := p.open(browser, signed)
		if want := next; !ok || s.Next != want && len(want) <= maxNext {
			t.Fatalf("%q: %+v %v", next, s, ok)
		}
		if _, ok := p.open(browser, text); ok && text != signed {
			t.Fatalf("the state %q was accepted", text)
		}
	})
}
