package dpop_test

import (
	"context"
	"crypto"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// The keys are shared by all tests, since generating an RSA key takes long.
var (
	ecKey, otherKey, ec384Key = jwkstest.NewEC(elliptic.P256()), jwkstest.NewEC(elliptic.P256()), jwkstest.NewEC(elliptic.P384())
	rsaKey, weakKey           = jwkstest.NewRSA(2048), jwkstest.NewRSA(1024)
)

const address = "https://as.example/oauth/token"

// guard is a verifier with its clock.
type guard struct {
	dpop.Verifier
	*jwkstest.Clock
	tb testing.TB
}

func newGuard(tb testing.TB) *guard {
	tb.Helper()
	clock := jwkstest.NewClock()
	shared := counters.NewMemory(clock.Now)
	tb.Cleanup(func() { _ = shared.Close() })
	return &guard{tb: tb, Clock: clock, Verifier: dpop.Verifier{
		Lifetime: time.Minute, Replays: shared, Prefix: "test:", Now: clock.Now,
		Nonces: dpop.Nonces{Signer: signed.Signer{Key: make([]byte, 32), Label: "nonce", MACSize: 32}, Life: time.Minute},
	}}
}

// jwk returns the public half of a key as the header of a proof contains it.
func jwk(key crypto.Signer) json.RawMessage { return json.RawMessage(jwkstest.JWK("", key)) }

// proof returns a valid proof whose header and claims are overridden by the arguments. A nil value removes a member.
func (g *guard) proof(algorithm string, key crypto.Signer, header, claims map[string]any) string {
	g.tb.Helper()
	h := map[string]any{"typ": "dpop+jwt", "jwk": jwk(key)}
	maps.Copy(h, header)
	all := map[string]any{"jti": "id", "htm": "POST", "htu": address, "iat": g.Clock.Now().Unix()}
	maps.Copy(all, claims)
	for name, value := range all {
		if value == nil {
			delete(all, name)
		}
	}
	return jwkstest.Sign(g.tb, algorithm, key, h, all)
}

var request = dpop.Request{Method: "POST", URL: address}

func TestVerify(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	now := g.Clock.Now().Unix()
	claim := func(name string, value any) string {
		return g.proof("ES256", ecKey, nil, map[string]any{name: value})
	}
	header := func(name string, value any) string {
		return g.proof("ES256", ecKey, map[string]any{name: value}, nil)
	}
	private := func(member string) string {
		var all map[string]any
		if err := json.Unmarshal(jwk(ecKey), &all); err != nil {
			t.Fatal(err)
		}
		all[member] = "AQ"
		return header("jwk", all)
	}
	good := claim("jti", "id")
	parts := strings.Split(good, ".")
	segment := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	symmetric := func() string {
		token := golang.NewWithClaims(golang.SigningMethodHS256, golang.MapClaims{"jti": "id", "htm": "POST", "htu": address, "iat": now})
		token.Header["typ"], token.Header["jwk"] = "dpop+jwt", json.RawMessage(`{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}`)
		text, err := token.SignedString([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, test := range map[string]struct {
		proof string
		want  error
	}{
		"good":                  {good, nil},
		"RS256":                 {g.proof("RS256", rsaKey, nil, nil), nil},
		"PS256":                 {g.proof("PS256", rsaKey, nil, nil), nil},
		"a weak key":            {g.proof("RS256", weakKey, nil, nil), dpop.ErrKey},
		"RS512":                 {g.proof("RS512", rsaKey, nil, nil), dpop.ErrAlgorithm},
		"ES384":                 {g.proof("ES384", ec384Key, nil, nil), dpop.ErrAlgorithm},
		"none":                  {segment(`{"alg":"none","typ":"dpop+jwt","jwk":`+string(jwk(ecKey))+`}`) + "." + parts[1] + ".", dpop.ErrAlgorithm},
		"no algorithm":          {segment(`{"typ":"dpop+jwt"}`) + "." + parts[1] + "." + parts[2], dpop.ErrAlgorithm},
		"HS256":                 {symmetric(), dpop.ErrAlgorithm},
		"another key":           {header("jwk", jwk(otherKey)), dpop.ErrSignature},
		"a key of another kind": {header("jwk", jwk(rsaKey)), dpop.ErrKey},
		"another curve":         {header("jwk", jwk(ec384Key)), dpop.ErrKey},
		"no key":                {header("jwk", nil), dpop.ErrKey},
		"a key that is a word":  {header("jwk", "x"), dpop.ErrKey},
		"a private key":         {private("d"), dpop.ErrKey},
		"a prime":               {private("p"), dpop.ErrKey},
		"a secret":              {private("k"), dpop.ErrKey},
		"a point elsewhere":     {header("jwk", json.RawMessage(`{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}`)), dpop.ErrKey},
		"JWT":                   {header("typ", "JWT"), dpop.ErrType},
		"without typ":           {header("typ", nil), dpop.ErrType},
		"typ of a number":       {header("typ", 1), dpop.ErrType},
		"crit":                  {header("crit", []string{"exp"}), dpop.ErrMalformed},
		"without jti":           {claim("jti", nil), dpop.ErrID},
		"empty jti":             {claim("jti", ""), dpop.ErrID},
		"long jti":              {claim("jti", strings.Repeat("x", 256)), nil},
		"too long jti":          {claim("jti", strings.Repeat("x", 257)), dpop.ErrID},
		"jti of a number":       {claim("jti", 1), dpop.ErrMalformed},
		"another method":        {claim("htm", "GET"), dpop.ErrMethod},
		"small method":          {claim("htm", "post"), dpop.ErrMethod},
		"without htm":           {claim("htm", nil), dpop.ErrMethod},
		"another address":       {claim("htu", "https://as.example/oauth/introspect"), dpop.ErrURL},
		"another host":          {claim("htu", "https://evil.example/oauth/token"), dpop.ErrURL},
		"another scheme":        {claim("htu", "http://as.example/oauth/token"), dpop.ErrURL},
		"another port":          {claim("htu", "https://as.example:8443/oauth/token"), dpop.ErrURL},
		"a name and a password": {claim("htu", "https://a:b@as.example/oauth/token"), dpop.ErrURL},
		"a path alone":          {claim("htu", "/oauth/token"), dpop.ErrURL},
		"without htu":           {claim("htu", nil), dpop.ErrURL},
		"an encoded slash":      {claim("htu", "https://as.example/oauth%2Ftoken"), dpop.ErrURL},
		"written otherwise":     {claim("htu", "HTTPS://AS.example:443/o%61uth/token?a=b#c"), nil},
		"old":                   {claim("iat", now-61), dpop.ErrTime},
		"just not old":          {claim("iat", now-60), nil},
		"of the near future":    {claim("iat", now+60), nil},
		"of the future":         {claim("iat", now+61), dpop.ErrTime},
		"of no time":            {claim("iat", nil), dpop.ErrTime},
		"of a far time":         {claim("iat", 1e300), dpop.ErrTime},
		"of a time of text":     {claim("iat", "now"), dpop.ErrMalformed},
		"a nonce of another":    {claim("nonce", "x"), dpop.ErrNonce},
		"an empty nonce":        {claim("nonce", ""), dpop.ErrNonce},
		"a good nonce":          {claim("nonce", g.Nonces.New(g.Clock.Now())), nil},
		"other claims":          {parts[0] + "." + segment(`{"jti":"other","htm":"POST","htu":"`+address+`","iat":1}`) + "." + parts[2], dpop.ErrSignature},
		"no signature":          {parts[0] + "." + parts[1] + ".", dpop.ErrSignature},
		"two parts":             {parts[0] + "." + parts[1], dpop.ErrMalformed},
		"four parts":            {good + ".x", dpop.ErrMalformed},
		"a line":                {good + "\n", dpop.ErrMalformed},
		"nothing":               {"", dpop.ErrMalformed},
		"a long one":            {good + strings.Repeat("A", 8<<10), dpop.ErrMalformed},
		"two of them":           {good + "," + good, dpop.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := g.Verifier
			v.Prefix += name // so that no case counts as the replay of another
			proof, err := v.Verify(t.Context(), []string{test.proof}, request)
			if !errors.Is(err, test.want) || (err == nil) != (proof != nil) {
				t.Fatalf("%+v, error %v, want %v", proof, err, test.want)
			}
			if name == "good" {
				if want, _ := jwks.Thumbprint(&ecKey.PublicKey); proof.Thumbprint != want || len(want) != 43 {
					t.Errorf("the key is %q, want %q", proof.Thumbprint, want)
				}
			}
		})
	}
	for _, header := range [][]string{nil, {}, {good, good}} {
		if _, err := g.Verify(t.Context(), header, request); !errors.Is(err, dpop.ErrMany) {
			t.Errorf("%d proofs: %v", len(header), err)
		}
	}
}

// TestToken checks that a proof that comes with an access token is bound to that token.
func TestToken(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for ath, want := range map[any]error{nil: dpop.ErrToken, "": dpop.ErrToken, dpop.Hash("other"): dpop.ErrToken, dpop.Hash("token"): nil} {
		proof := g.proof("ES256", ecKey, nil, map[string]any{"ath": ath})
		if _, err := g.Verify(t.Context(), []string{proof}, dpop.Request{Method: "POST", URL: address, Token: "token"}); !errors.Is(err, want) {
			t.Errorf("ath %v: %v, want %v", ath, err, want)
		}
	}
	// RFC 9449 section 7.1 has this example.
	if got := dpop.Hash("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"); got != "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo" {
		t.Errorf("the hash is %s", got)
	}
}

// TestReplay checks that a proof can be used once. A proof that was refused does not count as used.
func TestReplay(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	proof := g.proof("ES256", ecKey, nil, map[string]any{"iat": g.Clock.Now().Unix() + 60})
	if _, err := g.Verify(t.Context(), []string{proof}, dpop.Request{Method: "GET", URL: address}); !errors.Is(err, dpop.ErrMethod) {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	var good atomic.Int32
	for range 8 {
		wait.Go(func() {
			if _, err := g.Verify(context.Background(), []string{proof}, request); err == nil {
				good.Add(1)
			} else if !errors.Is(err, dpop.ErrReplay) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if good.Load() != 1 {
		t.Fatalf("%d of 8 were good", good.Load())
	}
	for _, after := range []time.Duration{0, time.Minute, time.Minute} { // until it is too old
		g.Advance(after)
		if _, err := g.Verify(t.Context(), []string{proof}, request); !errors.Is(err, dpop.ErrReplay) {
			t.Errorf("a second use: %v", err)
		}
	}
	g.Advance(time.Second)
	if _, err := g.Verify(t.Context(), []string{proof}, request); !errors.Is(err, dpop.ErrTime) {
		t.Errorf("two lifetimes later: %v", err)
	}
	other := g.proof("ES256", otherKey, nil, nil)
	second := g.proof("ES256", ecKey, nil, map[string]any{"jti": "id2"})
	for _, p := range []string{other, second} { // another key or another jti makes another proof
		if _, err := g.Verify(t.Context(), []string{p}, request); err != nil {
			t.Error(err)
		}
	}
}

// broken are counters that cannot be reached.
type broken struct{ counters.Store }

func (broken) SetNX(context.Context, string, time.Duration) (bool, error) {
	return false, counters.ErrUnavailable
}

// TestUnavailable checks that a proof does not pass if it may have been used.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	g.Replays = broken{}
	if _, err := g.Verify(t.Context(), []string{g.proof("ES256", ecKey, nil, nil)}, request); !errors.Is(err, counters.ErrUnavailable) {
		t.Error(err)
	}
}

func TestNonces(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	g.RequireNonce = true
	use := func(name string, nonce any, renew bool, want error) {
		t.Helper()
		proof, err := g.Verify(t.Context(), []string{g.proof("ES256", ecKey, nil, map[string]any{"nonce": nonce, "jti": name})}, request)
		if !errors.Is(err, want) || err == nil && proof.Renew != renew {
			t.Errorf("%s: %+v, %v, want %v", name, proof, err, want)
		}
	}
	nonce := g.Nonces.New(g.Clock.Now())
	if nonce == g.Nonces.New(g.Clock.Now()) {
		t.Error("a nonce came twice")
	}
	other := g.Nonces
	other.Signer.Label = "other"
	use("none", nil, false, dpop.ErrNonce)
	use("of another kind", other.New(g.Clock.Now()), false, dpop.ErrNonce)
	use("changed", "B"+nonce[1:], false, dpop.ErrNonce)
	use("new", nonce, false, nil)
	use("of a clock that is ahead", g.Nonces.New(g.Clock.Now().Add(time.Second)), false, nil)
	use("of the far future", g.Nonces.New(g.Clock.Now().Add(time.Hour)), false, dpop.ErrNonce)
	g.Advance(31 * time.Second)
	use("past half its life", nonce, true, nil)
	g.Advance(29 * time.Second)
	use("over", nonce, false, dpop.ErrNonce)
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://a.example": "https://a.example/", "HTTP://A.Example:80/x": "http://a.example/x", "http://a:443/": "http://a:443/", "https://[::1]:443/%7ea%2f?q#f": "https://[::1]/~a%2F",
		"https://[::1]:8443/": "https://[::1]:8443/", "https://a/%C3%a9": "https://a/%C3%A9", "https://a/b/": "https://a/b/",
		"": "", "/x": "", "https:a": "", "https:///x": "", "https://:443/": "", "ftp://a/": "", "https://u@a/": "", "https://a/%": "", "https://a/%zz": "", "//a/x": "",
	} {
		if got, ok := dpop.Normalize(address); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", address, got, ok, want)
		}
	}
}

// FuzzVerify checks that Verify returns an *Error or a proof with a key for every input, and that normalizing a
// normalized URL does not change it.
func FuzzVerify(f *testing.F) {
	g := newGuard(f)
	good := g.proof("ES256", ecKey, nil, nil)
	for _, seed := range []string{good, "", "..", good + "x", g.proof("ES256", ecKey, map[string]any{"crit": nil}, map[string]any{"htu": "https://a/%41"})} {
		f.Add(seed, "https://AS.example:443/%41?x")
	}
	f.Fuzz(func(t *testing.T, text, address string) {
		proof, err := g.Verify(t.Context(), []string{text}, request)
		if _, known := errors.AsType[*dpop.Error](err); (err == nil) != (proof != nil) || err != nil && !known || err == nil && len(proof.Thumbprint) != 43 {
			t.Errorf("%+v, %v", proof, err)
		}
		if once, ok := dpop.Normalize(address); ok {
			if twice, ok := dpop.Normalize(once); !ok || twice != once {
				t.Errorf("%q becomes %q, then %q", address, once, twice)
			}
		}
	})
}
