package apiauth

import (
	"context"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
)

// testSecret is an hs256 secret of exactly the minimum length.
const testSecret = "0123456789abcdef0123456789abcdef"

// All tests share these keys, since creating RSA keys takes long.
var (
	rsaKey, otherRSAKey = jwkstest.NewRSA(2048), jwkstest.NewRSA(2048)
	weakRSAKey          = jwkstest.NewRSA(1024)
	ecKey               = jwkstest.NewEC(elliptic.P256())
	_, edKey, _         = ed25519.GenerateKey(rand.Reader)
)

// checker is a provider of the middleware with a clock of the test.
type checker struct {
	*UserJWT
	*jwkstest.Clock
	tb testing.TB
}

// newChecker provisions a checker without local tokens.
func newChecker(tb testing.TB, u *UserJWT) *checker {
	tb.Helper()
	u.DisableLocal = true
	if err := u.Provision(caddy.Context{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = u.Cleanup() })
	return clocked(tb, u)
}

func clocked(tb testing.TB, u *UserJWT) *checker {
	c := &checker{u, jwkstest.NewClock(), tb}
	u.verifier.Now = c.Clock.Now
	return c
}

func fromIssuer(tb testing.TB, p *jwkstest.Provider) *checker {
	tb.Helper()
	return newChecker(tb, &UserJWT{Issuer: p.URL, JWKSURL: p.URL + "/keys", Audiences: []string{"console", "api"}})
}

// claims returns valid claims.
func (c *checker) claims() golang.MapClaims {
	now := c.Clock.Now()
	return golang.MapClaims{"iss": c.Issuer, "aud": "console", "sub": "alice", "iat": now.Unix(), "exp": now.Add(100 * time.Hour).Unix(), "email": "a@example.com"}
}

// good returns a valid token for an RSA key with the id "k1".
func (c *checker) good() string {
	return jwkstest.Sign(c.tb, "RS256", rsaKey, map[string]any{"kid": "k1"}, c.claims())
}

func (c *checker) passes(text string) *verified {
	c.tb.Helper()
	v, err := c.cache.Verify(c.tb.Context(), text)
	if err != nil {
		c.tb.Errorf("refused: %v", err)
		return nil
	}
	return v
}

func (c *checker) refuses(text string, want error) {
	c.tb.Helper()
	if v, err := c.cache.Verify(c.tb.Context(), text); !errors.Is(err, want) {
		c.tb.Errorf("verified %+v, error %v, want %v", v, err, want)
	}
}

func (c *checker) unavailable(ctx context.Context, text string) {
	c.tb.Helper()
	v, err := c.cache.Verify(ctx, text)
	if refusal, ok := apierror.From(err); !ok || refusal.Status != 503 || refusal.RetryAfter == 0 {
		c.tb.Errorf("verified %+v, error %v, want a 503", v, err)
	}
}

// TestUserJWTBound checks that a token that is bound to a key is refused.
func TestUserJWTBound(t *testing.T) {
	t.Parallel()
	c := newChecker(t, &UserJWT{HS256: testSecret, Audiences: []string{"console"}})
	for _, cnf := range []any{map[string]any{"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}, map[string]any{"x5t#S256": "x"}, map[string]any{}, "x"} {
		claims := c.claims()
		claims["cnf"] = cnf
		c.refuses(jwkstest.Sign(t, "HS256", []byte(testSecret), nil, claims), errConfirm)
	}
}

// TestUserJWTSubjects checks which user ids are accepted, and which claims become placeholders.
func TestUserJWTSubjects(t *testing.T) {
	t.Parallel()
	c := newChecker(t, &UserJWT{HS256: testSecret, Audiences: []string{"console"}})
	for name, test := range map[string]struct {
		user string
		want error
	}{
		"user with a line":       {"a\nb", jwt.ErrSubject},
		"user that is not UTF-8": {"a\ufffd", jwt.ErrSubject},
		"user of 200 characters": {strings.Repeat("ü", 200), nil},
		"user of 201 characters": {strings.Repeat("u", 201), jwt.ErrSubject},
	} {
		claims := c.claims()
		claims["sub"] = test.user
		v, err := c.cache.Verify(t.Context(), jwkstest.Sign(t, "HS256", []byte(testSecret), nil, claims))
		if !errors.Is(err, test.want) || err == nil && v.subject.ID != test.user {
			t.Errorf("%s: %+v, error %v, want %v", name, v, err, test.want)
		}
	}
	claims := c.claims()
	claims["picture"] = strings.Repeat("x", maxClaim+1)
	v := c.passes(jwkstest.Sign(t, "HS256", []byte(testSecret), nil, claims))
	if _, long := v.user.Metadata["claim.picture"]; long || v.user.Metadata["claim.email"] != "a@example.com" {
		t.Errorf("%+v", v.user)
	}
}

// TestWrongClaimsFetchNoKeys checks that a token that would be refused with any key causes no fetch.
func TestWrongClaimsFetchNoKeys(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	c := fromIssuer(t, p)
	claims := c.claims()
	claims["aud"] = "x"
	c.refuses(jwkstest.Sign(t, "ES256", ecKey, map[string]any{"kid": "x"}, claims), jwt.ErrAudience)
	c.refuses("x.y.z", jwt.ErrMalformed)
	if n := p.Count(); n != 0 {
		t.Errorf("%d fetches for a token of another service", n)
	}
	p.Set(func(p *jwkstest.Provider) { p.Status = 500 })
	c.unavailable(t.Context(), c.good())
}

func TestUserJWTFixedKeys(t *testing.T) {
	t.Parallel()
	files := make([]string, 3)
	for i, key := range []any{&rsaKey.PublicKey, &otherRSAKey.PublicKey, &ecKey.PublicKey} {
		files[i] = filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(files[i], jwkstest.PEM(t, key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newChecker(t, &UserJWT{PublicKeys: files, Audiences: []string{"console"}, UserClaim: "email"})
	for _, header := range []map[string]any{nil, {"kid": "any"}} {
		for _, key := range []*rsa.PrivateKey{rsaKey, otherRSAKey} {
			if v := c.passes(jwkstest.Sign(t, "RS256", key, header, c.claims())); v != nil && v.user.ID != "a@example.com" {
				t.Errorf("user %s", v.user.ID)
			}
		}
	}
	c.passes(jwkstest.Sign(t, "ES256", ecKey, nil, c.claims()))
	c.refuses(jwkstest.Sign(t, "EdDSA", edKey, nil, c.claims()), jwt.ErrUnknownKey)
	c.refuses(jwkstest.Sign(t, "RS256", weakRSAKey, nil, c.claims()), jwt.ErrSignature)
	c.refuses(jwkstest.Sign(t, "HS256", jwkstest.PEM(t, &rsaKey.PublicKey), nil, c.claims()), jwt.ErrAlgorithm)

	s := newChecker(t, &UserJWT{HS256: testSecret, Audiences: []string{"console"}})
	s.passes(jwkstest.Sign(t, "HS256", []byte(testSecret), nil, s.claims()))
	s.refuses(jwkstest.Sign(t, "HS256", []byte(testSecret+"x"), nil, s.claims()), jwt.ErrSignature)
	s.refuses(jwkstest.Sign(t, "HS512", []byte(testSecret), nil, s.claims()), jwt.ErrAlgorithm)
	s.refuses(jwkstest.Sign(t, "RS256", rsaKey, nil, s.claims()), jwt.ErrAlgorithm)
}

func TestUserJWTSettings(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", []byte(testSecret+"\n"))
	private, err := x509.MarshalPKCS8PrivateKey(edKey)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey)})
	ed := jwkstest.PEM(t, edKey.Public())
	aud := []string{"a"}
	file := func(name string, text []byte) UserJWT {
		return UserJWT{PublicKeys: []string{write(name, text)}, Audiences: aud}
	}
	for name, test := range map[string]struct {
		settings UserJWT
		want     string // part of the error; "": no error
	}{
		"file secret":       {UserJWT{HS256: "{file." + secret + "}", Audiences: aud}, ""},
		"PKCS 1":            {file("pkcs1", pkcs1), ""},
		"Ed25519":           {file("ed", ed), ""},
		"loopback":          {UserJWT{Issuer: "http://[::1]:1", Audiences: aud}, ""},
		"nothing":           {UserJWT{}, "keys are needed"},
		"no audience":       {UserJWT{Issuer: "https://id.test"}, "audience is required"},
		"empty audience":    {UserJWT{Issuer: "https://id.test", Audiences: []string{""}}, "audience is required"},
		"url and secret":    {UserJWT{Issuer: "https://id.test", JWKSURL: "https://id.test", HS256: testSecret, Audiences: aud}, "exclude each other"},
		"no issuer":         {UserJWT{JWKSURL: "https://id.test", Audiences: aud}, "needs an issuer"},
		"http":              {UserJWT{Issuer: "http://id.test", Audiences: aud}, "must begin with https"},
		"http, not private": {UserJWT{Issuer: "http://10.0.0.1", Audiences: aud}, "must begin with https"},
		"http, look-alike":  {UserJWT{Issuer: "http://127.0.0.1.id.test", Audiences: aud}, "must begin with https"},
		"ftp":               {UserJWT{Issuer: "https://id.test", JWKSURL: "ftp://id.test", Audiences: aud}, "must begin with https"},
		"user in the URL":   {UserJWT{Issuer: "https://u:p@id.test", Audiences: aud}, "without a user"},
		"no host":           {UserJWT{Issuer: "https:", Audiences: aud}, "must be a URL"},
		"issuer of local":   {UserJWT{Issuer: "tollgate", HS256: testSecret, Audiences: aud}, "is that of local tokens"},
		"short secret":      {UserJWT{HS256: testSecret[1:], Audiences: aud}, "at least 32 bytes"},
		"missing secret":    {UserJWT{HS256: "{env.TOLLGATE_NO_SUCH}", Audiences: aud}, "hs256"},
		"HS256, public":     {UserJWT{Issuer: "https://id.test", Audiences: aud, Algorithms: []string{"HS256"}}, `"HS256" cannot be used`},
		"RS256, secret":     {UserJWT{HS256: testSecret, Audiences: aud, Algorithms: []string{"RS256"}}, `"RS256" cannot be used`},
		"none":              {UserJWT{Issuer: "https://id.test", Audiences: aud, Algorithms: []string{"none"}}, `"none" cannot be used`},
		"RS256, local":      {UserJWT{Algorithms: []string{"RS256"}}, "keys are needed"},
		"long leeway":       {UserJWT{Issuer: "https://id.test", Audiences: aud, Leeway: caddy.Duration(6 * time.Minute)}, "leeway"},
		"negative leeway":   {UserJWT{Issuer: "https://id.test", Audiences: aud, Leeway: -1}, "leeway"},
		"no file":           {UserJWT{PublicKeys: []string{folder + "/none"}, Audiences: aud}, "public_key"},
		"too many files":    {UserJWT{PublicKeys: make([]string, 17), Audiences: aud}, "at most 16"},
		"not PEM":           {file("text", []byte("x")), "not PEM"},
		"two keys":          {file("two", append(pkcs1, ed...)), "more than one PEM block"},
		"private key":       {file("private", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), "not a public key"},
		"broken key":        {file("broken", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: private})), "cannot be read"},
		"broken cert":       {file("cert", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private})), "cannot be read"},
		"weak key":          {file("weak", jwkstest.PEM(t, &weakRSAKey.PublicKey)), "2048"},
		"large file":        {file("large", make([]byte, 1<<20+1)), "larger than 1 MB"},
	} {
		u := test.settings
		u.DisableLocal = true
		err := u.Provision(caddy.Context{})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), testSecret[1:]) {
			t.Errorf("%s: the error shows the secret: %v", name, err)
		}
		if err := u.Cleanup(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUserJWTHeaders checks the challenges for clients and the placeholders for handlers.
func TestUserJWTHeaders(t *testing.T) {
	t.Parallel()
	c := fromIssuer(t, jwkstest.New(t, jwkstest.JWK("k1", rsaKey)))
	good := c.good()
	late := c.claims()
	late["exp"] = 1
	expired := jwkstest.Sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, late)
	const text = "{http.auth.user.id}|{http.auth.user.issuer}|{http.auth.user.claim.email}|{http.auth.user.claim.exp}"
	want := "alice|" + c.Issuer + "|a@example.com|"
	for name, test := range map[string]struct {
		header http.Header
		want   string // the challenge; "": the token is accepted
	}{
		"good":        {http.Header{"Authorization": {"Bearer " + good}}, ""},
		"lower case":  {http.Header{"Authorization": {" bearer   " + good + " "}}, ""},
		"nothing":     {http.Header{}, "Bearer"},
		"empty":       {http.Header{"Authorization": {"Bearer "}}, "Bearer"},
		"basic":       {http.Header{"Authorization": {"Basic " + good}}, "Bearer"},
		"api key":     {http.Header{"X-Api-Key": {good}}, "Bearer"},
		"cookie":      {http.Header{"Cookie": {"token=" + good}}, "Bearer"},
		"two headers": {http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}, challenge(errSeveral)},
		"expired":     {http.Header{"Authorization": {"Bearer " + expired}}, challenge(jwt.ErrExpired)},
		"two in one":  {http.Header{"Authorization": {"Bearer " + good + ", Bearer " + good}}, challenge(jwt.ErrMalformed)},
		"not one":     {http.Header{"Authorization": {`Bearer "quoted"`}}, challenge(jwt.ErrMalformed)},
	} {
		s := &site{handler: &Handler{provider: c.UserJWT}}
		passed, repl, w, err := s.ask(test.header)
		if got := w.Header().Get("WWW-Authenticate"); got != test.want {
			t.Errorf("%s: challenge %q, want %q", name, got, test.want)
		}
		if test.want != "" {
			refusal, ok := apierror.From(err)
			var status caddyhttp.HandlerError
			if passed != nil || !ok || refusal.Code != "invalid_token" || !errors.As(err, &status) || status.StatusCode != 401 {
				t.Errorf("%s: passed %t, error %v", name, passed != nil, err)
			}
			if strings.Contains(fmt.Sprint(err), good[:20]) {
				t.Errorf("%s: the error shows the token", name)
			}
			continue
		}
		if err != nil || passed == nil {
			t.Errorf("%s: refused: %v", name, err)
			continue
		}
		user, ok := Subject(passed)
		if !ok || user.ID != "alice" || user.Issuer != c.Issuer || !user.Expires.Equal(c.Clock.Now().Add(100*time.Hour)) {
			t.Errorf("%s: subject %+v", name, user)
		}
		if got := repl.ReplaceAll(text, ""); got != want {
			t.Errorf("%s: placeholders %s, want %s", name, got, want)
		}
	}
	r, _, _ := request(http.Header{})
	caddyhttp.SetVar(r.Context(), userVar, "alice")
	if user, ok := Subject(r); ok {
		t.Errorf("a variable of the configuration is the user %+v", user)
	}
}

func challenge(e jwt.Error) string {
	return `Bearer error="invalid_token", error_description="` + string(e) + `"`
}

// TestLocalTokens does not run in parallel; see apiauth_test.go.
func TestLocalTokens(t *testing.T) {
	s := start(t)
	keys, err := s.app.Keys(UserTokens)()
	if err != nil {
		t.Fatal(err)
	}
	load := func(config string) *checker {
		loaded, err := s.ctx.LoadModuleByID("http.authentication.providers.user_jwt", json.RawMessage(config))
		if err != nil {
			t.Fatal(err)
		}
		c := clocked(t, loaded.(*UserJWT))
		c.cache.Close() // without a cache each check verifies the token
		return c
	}
	plain := load(`{}`)
	now := plain.Clock.Now()
	local, expires, err := SignUserToken(keys, "alice", now, time.Hour)
	if err != nil || !expires.Equal(now.Add(time.Hour)) {
		t.Fatalf("expires %v, error %v", expires, err)
	}
	key := keys[0]
	claims := func(more golang.MapClaims) golang.MapClaims {
		all := golang.MapClaims{"iss": "tollgate", "sub": "alice", "exp": now.Add(time.Hour).Unix()}
		maps.Copy(all, more)
		return all
	}
	if v := plain.passes(local); v == nil || v.subject.ID != "alice" || v.subject.Issuer != "tollgate" {
		t.Errorf("%+v", v)
	}
	plain.refuses(jwkstest.Sign(t, "HS256", key, nil, claims(golang.MapClaims{"iss": "Tollgate"})), jwt.ErrIssuer)
	plain.refuses(jwkstest.Sign(t, "HS256", key, nil, claims(golang.MapClaims{"exp": now.Add(-time.Hour).Unix()})), jwt.ErrExpired)
	plain.refuses(jwkstest.Sign(t, "HS256", key, nil, golang.MapClaims{"iss": "tollgate", "sub": "alice"}), jwt.ErrNoExpiry)
	plain.refuses(jwkstest.Sign(t, "HS256", key, nil, claims(golang.MapClaims{"sub": ""})), jwt.ErrSubject)
	plain.refuses(jwkstest.Sign(t, "HS256", []byte(testSecret), nil, claims(nil)), jwt.ErrSignature)
	plain.refuses(jwkstest.Sign(t, "HS512", key, nil, claims(nil)), jwt.ErrAlgorithm)
	plain.refuses(jwkstest.Sign(t, "RS256", rsaKey, nil, claims(nil)), jwt.ErrAlgorithm)
	plain.refuses(jwkstest.Sign(t, "none", golang.UnsafeAllowNoneSignatureType, nil, claims(nil)), jwt.ErrAlgorithm)

	// Local tokens can be combined with an identity provider. Neither key verifies tokens of the other issuer.
	combined := load(`{"hs256":"` + testSecret + `","audiences":["console"],"user_claim":"email"}`)
	combined.passes(local)
	combined.passes(jwkstest.Sign(t, "HS256", []byte(testSecret), nil, combined.claims()))
	combined.refuses(jwkstest.Sign(t, "HS256", key, nil, combined.claims()), jwt.ErrSignature)
	combined.refuses(jwkstest.Sign(t, "HS256", []byte(testSecret), nil, claims(golang.MapClaims{"aud": "console", "email": "x"})), jwt.ErrSignature)
	noLocal := load(`{"hs256":"` + testSecret + `","audiences":["console"],"disable_local":true}`)
	noLocal.refuses(local, jwt.ErrAudience)
	noLocal.passes(jwkstest.Sign(t, "HS256", []byte(testSecret), nil, noLocal.claims()))

	// A new master key signs; the previous key still verifies.
	keys = [][]byte{[]byte(testSecret), key}
	plain.verifier.Issuers[0].Keys = localKeys(func() ([][]byte, error) { return keys, nil })
	plain.passes(local)
	newer, _, err := SignUserToken(keys, "alice", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	plain.passes(newer)
	keys = [][]byte{[]byte(testSecret)}
	plain.refuses(local, jwt.ErrSignature)
}

// TestLocalTokensBeforeStart does not run in parallel; see apiauth_test.go.
func TestLocalTokensBeforeStart(t *testing.T) {
	s := provision(t, fmt.Sprintf(`{"engine":"sqlite","path":%q}`, filepath.Join(t.TempDir(), "x.db")))
	loaded, err := s.ctx.LoadModuleByID("http.authentication.providers.user_jwt", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	c := clocked(t, loaded.(*UserJWT))
	local, _, err := SignUserToken([][]byte{[]byte(testSecret)}, "alice", c.Clock.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c.unavailable(t.Context(), local)
}

// TestReloads checks that the provider can be replaced under load, as reloads do.
func TestReloads(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	settings := func() *UserJWT {
		return &UserJWT{Issuer: p.URL, JWKSURL: p.URL + "/keys", Audiences: []string{"console"}, DisableLocal: true}
	}
	load := func() *checker {
		u := settings()
		if err := u.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		return &checker{u, jwkstest.NewClock(), t}
	}
	old := load()
	good := old.good()
	key := *old.pooled
	first := old.verifier.Issuers[0].Keys
	for range 10 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { old.passes(good) })
		}
		newer := load()
		for range 4 {
			all.Go(func() { newer.passes(good) })
		}
		if err := old.Cleanup(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		old = newer
	}
	users, _ := sources.References(key)
	if n, now := p.Count(), old.verifier.Issuers[0].Keys; n != 1 || now != first || users != 1 {
		t.Errorf("%d fetches, another source: %t, %d users", n, now != first, users)
	}
	if err := old.Cleanup(); err != nil {
		t.Fatal(err)
	}
	if _, ok := sources.References(key); ok {
		t.Error("the source continues without users")
	}
	old.passes(good) // a request in progress
	last := load()
	last.passes(good)
	if err := last.Cleanup(); err != nil || p.Count() != 2 {
		t.Errorf("%d fetches, error %v", p.Count(), err)
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer x")
	f.Add(" bearer   x y ")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := bearer(http.Header{"Authorization": {text}})
		if err != nil || token != strings.TrimSpace(token) {
			t.Errorf("%q of %q", token, text)
		}
	})
}
