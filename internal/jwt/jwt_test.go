package jwt

import (
	"context"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// testSecret is a secret of exactly the minimum length.
const testSecret = "0123456789abcdef0123456789abcdef"

// issuer is the issuer of all tokens in the tests.
const issuer = "https://id.example.com"

// The keys are shared by all tests, since generating an RSA key takes long.
var (
	rsaKey, otherRSAKey = jwkstest.NewRSA(2048), jwkstest.NewRSA(2048)
	weakRSAKey          = jwkstest.NewRSA(1024)
	ecKey, ec384Key     = jwkstest.NewEC(elliptic.P256()), jwkstest.NewEC(elliptic.P384())
	_, edKey, _         = ed25519.GenerateKey(rand.Reader)
)

const leeway = 30 * time.Second

// checker is a verifier with its clock and with a cache in front.
type checker struct {
	Verifier
	*jwkstest.Clock
	cache *Cache[*Token]
	tb    testing.TB
}

// newChecker returns a checker that accepts signatures by the keys in a JWK set.
func newChecker(tb testing.TB, keys ...string) *checker {
	tb.Helper()
	set, err := jwks.ParseSet([]byte(jwkstest.Keys(keys...)))
	if err != nil {
		tb.Fatal(err)
	}
	clock := jwkstest.NewClock()
	c := &checker{Clock: clock, tb: tb, Verifier: Verifier{
		Issuers: []*Issuer{{
			Name: issuer, Audiences: []string{"console", "api"}, SubjectClaim: "sub", Keys: set,
			Algorithms: []string{"RS256", "PS256", "ES256", "ES384", "EdDSA"},
		}},
		Types: []string{"", "JWT", "at+jwt"}, Leeway: leeway, Now: clock.Now,
		ValidSubject: func(s string) bool { return s != "" && s != "nobody" },
	}}
	c.cache, err = NewCache(clock.Now, func(ctx context.Context, text string) (*Token, int64, time.Time, error) {
		token, err := c.Verifier.Verify(ctx, text)
		if err != nil {
			return nil, 0, time.Time{}, err
		}
		return token, 1000, token.Expires, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.cache.Close)
	return c
}

// claims returns claims that pass the checks.
func (c *checker) claims() golang.MapClaims {
	now := c.Clock.Now()
	return golang.MapClaims{"iss": issuer, "aud": "console", "sub": "alice", "iat": now.Unix(), "exp": now.Add(100 * time.Hour).Unix(), "email": "a@example.com"}
}

// good returns a token that passes where the RSA key has the id "k1".
func (c *checker) good() string {
	return jwkstest.Sign(c.tb, "RS256", rsaKey, map[string]any{"kid": "k1"}, c.claims())
}

func (c *checker) passes(text string) {
	c.tb.Helper()
	if _, err := c.cache.Verify(c.tb.Context(), text); err != nil {
		c.tb.Errorf("refused: %v", err)
	}
}

func (c *checker) refuses(text string, want error) {
	c.tb.Helper()
	if v, err := c.cache.Verify(c.tb.Context(), text); !errors.Is(err, want) {
		c.tb.Errorf("verified %+v, error %v, want %v", v, err, want)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	c := newChecker(t, jwkstest.JWK("k1", rsaKey))
	c.Issuers[0].Claims = map[string][]string{"azp": {"web", "cli"}}
	timestamp := func(d time.Duration) int64 { return c.Clock.Now().Add(d).Unix() }
	for name, test := range map[string]struct {
		claims golang.MapClaims // a nil value removes the claim
		want   error
	}{
		"good":                   {nil, nil},
		"audiences":              {golang.MapClaims{"aud": []string{"x", "api"}}, nil},
		"wrong audience":         {golang.MapClaims{"aud": "Console"}, ErrAudience},
		"wrong audiences":        {golang.MapClaims{"aud": []string{"x", "y"}}, ErrAudience},
		"empty audience":         {golang.MapClaims{"aud": ""}, ErrAudience},
		"no audiences":           {golang.MapClaims{"aud": []string{}}, ErrAudience},
		"audience of a number":   {golang.MapClaims{"aud": []any{1, nil}}, ErrAudience},
		"audience of an object":  {golang.MapClaims{"aud": map[string]any{"console": "console"}}, ErrAudience},
		"without audience":       {golang.MapClaims{"aud": nil}, ErrAudience},
		"wrong issuer":           {golang.MapClaims{"iss": issuer + "/"}, ErrIssuer},
		"issuers":                {golang.MapClaims{"iss": []string{issuer}}, ErrIssuer},
		"without issuer":         {golang.MapClaims{"iss": nil}, ErrIssuer},
		"local issuer":           {golang.MapClaims{"iss": "tollgate"}, ErrIssuer},
		"expired":                {golang.MapClaims{"exp": timestamp(-time.Minute)}, ErrExpired},
		"just expired":           {golang.MapClaims{"exp": timestamp(-leeway)}, ErrExpired},
		"in the leeway":          {golang.MapClaims{"exp": timestamp(-leeway + time.Second)}, nil},
		"without expiry":         {golang.MapClaims{"exp": nil}, ErrNoExpiry},
		"expiry of text":         {golang.MapClaims{"exp": "2099"}, ErrMalformed},
		"expiry past all":        {golang.MapClaims{"exp": 1e300}, ErrMalformed},
		"expiry that overflows":  {golang.MapClaims{"exp": uint64(1) << 63}, ErrMalformed},
		"negative expiry":        {golang.MapClaims{"exp": -1}, ErrMalformed},
		"fraction":               {golang.MapClaims{"exp": float64(timestamp(time.Hour)) + 0.5}, nil},
		"not yet":                {golang.MapClaims{"nbf": timestamp(time.Minute)}, ErrTooEarly},
		"not yet, in the leeway": {golang.MapClaims{"nbf": timestamp(leeway)}, nil},
		"nbf of text":            {golang.MapClaims{"nbf": "now"}, ErrMalformed},
		"issued later":           {golang.MapClaims{"iat": timestamp(time.Minute)}, ErrTooEarly},
		"without iat":            {golang.MapClaims{"iat": nil}, nil},
		"other azp":              {golang.MapClaims{"azp": "cli"}, nil},
		"azp in a list":          {golang.MapClaims{"azp": []string{"x", "web"}}, nil},
		"wrong azp":              {golang.MapClaims{"azp": "evil"}, ErrClaim},
		"without azp":            {golang.MapClaims{"azp": nil}, ErrClaim},
		"without user":           {golang.MapClaims{"sub": nil}, ErrSubject},
		"empty user":             {golang.MapClaims{"sub": ""}, ErrSubject},
		"user that is refused":   {golang.MapClaims{"sub": "nobody"}, ErrSubject},
		"user of a number":       {golang.MapClaims{"sub": 7}, ErrSubject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claims := c.claims()
			claims["azp"] = "web"
			for name, value := range test.claims {
				if claims[name] = value; value == nil {
					delete(claims, name)
				}
			}
			text := jwkstest.Sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, claims)
			v, err := c.cache.Verify(t.Context(), text)
			if !errors.Is(err, test.want) || err == nil && v.Subject != claims["sub"] {
				t.Errorf("%+v, error %v, want %v", v, err, test.want)
			}
		})
	}
}

func TestUnverified(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x." + segment(`{"sub":"a"}`) + ".": "a", "x." + segment(`{"sub":"a"}`): "", "x." + segment(`{"sub":""}`) + ".": "", "x." + segment(`{"sub":1}`) + ".": "",
		"x." + segment(`{"Sub":"a"}`) + ".": "", "x." + segment(`[]`) + ".": "", "x.{}.": "", "": "", "..": "", "x." + segment(`{"sub":"`+strings.Repeat("a", maxToken)+`"}`) + ".": "",
	} {
		if got, ok := Unverified(text, "sub"); got != want || ok != (want != "") {
			t.Errorf("%.50s: %q, %v", text, got, ok)
		}
	}
}

// segment returns text encoded as a part of a token.
func segment(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestKeys(t *testing.T) {
	t.Parallel()
	c := newChecker(t, jwkstest.JWK("k1", rsaKey), jwkstest.JWK("ec", ecKey), jwkstest.JWK("ec384", ec384Key), jwkstest.JWK("ed", edKey),
		jwkstest.JWK("enc", otherRSAKey, `"use":"enc"`), jwkstest.JWK("ops", otherRSAKey, `"key_ops":["encrypt"]`), jwkstest.JWK("ps", otherRSAKey, `"alg":"PS256","use":"sig"`),
		jwkstest.JWK("weak", weakRSAKey), `{"kty":"oct","kid":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}`,
		`{"kty":"EC","crv":"P-256","kid":"off","x":"AQ","y":"AQ"}`, `{"kty":"x"}`, `7`, `null`)
	public := jwkstest.PEM(t, &rsaKey.PublicKey)
	claimsText, err := json.Marshal(c.claims())
	if err != nil {
		t.Fatal(err)
	}
	body := segment(string(claimsText))
	kid := func(id any) map[string]any { return map[string]any{"kid": id} }
	headerWith := func(name string, value any) map[string]any { return map[string]any{"kid": "k1", name: value} }
	signed := func(algorithm string, key any, header map[string]any) string {
		return jwkstest.Sign(t, algorithm, key, header, c.claims())
	}
	good := signed("RS256", rsaKey, kid("k1"))
	parts := strings.Split(good, ".")
	embedded := map[string]any{"kid": "k1", "jwk": json.RawMessage(jwkstest.JWK("k1", otherRSAKey)), "jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/"}
	for name, test := range map[string]struct {
		token string
		want  error
	}{
		"RS256":                {good, nil},
		"PS256":                {signed("PS256", rsaKey, kid("k1")), nil},
		"ES256":                {signed("ES256", ecKey, kid("ec")), nil},
		"ES384":                {signed("ES384", ec384Key, kid("ec384")), nil},
		"EdDSA":                {signed("EdDSA", edKey, kid("ed")), nil},
		"key of one algorithm": {signed("PS256", otherRSAKey, kid("ps")), nil},
		"its other algorithm":  {signed("RS256", otherRSAKey, kid("ps")), ErrAlgorithm},
		"RS512 is not listed":  {signed("RS512", rsaKey, kid("k1")), ErrAlgorithm},
		"none":                 {signed("none", golang.UnsafeAllowNoneSignatureType, kid("k1")), ErrAlgorithm},
		"none, signed":         {segment(`{"alg":"none"}`) + "." + body + "." + parts[2], ErrAlgorithm},
		"None":                 {segment(`{"alg":"None"}`) + "." + body + ".", ErrAlgorithm},
		"unknown algorithm":    {segment(`{"alg":"XS1"}`) + "." + body + ".", ErrAlgorithm},
		"no algorithm":         {segment(`{"kid":"k1"}`) + "." + body + ".", ErrAlgorithm},
		"algorithm of a list":  {segment(`{"alg":["RS256"]}`) + "." + body + ".", ErrAlgorithm},
		"HS256, public key":    {signed("HS256", public, kid("k1")), ErrAlgorithm},
		"HS256, oct of the set": {
			signed("HS256", []byte(testSecret), kid("oct")), ErrAlgorithm,
		},
		"RS256 with an EC id":   {signed("RS256", rsaKey, kid("ec")), ErrAlgorithm},
		"ES256 of P-384":        {signed("ES384", ec384Key, kid("ec")), ErrAlgorithm},
		"an id of another key":  {signed("RS256", otherRSAKey, kid("k1")), ErrSignature},
		"key for encryption":    {signed("RS256", otherRSAKey, kid("enc")), ErrUnknownKey},
		"key for other work":    {signed("RS256", otherRSAKey, kid("ops")), ErrUnknownKey},
		"weak key":              {signed("RS256", weakRSAKey, kid("weak")), ErrUnknownKey},
		"unknown id":            {signed("RS256", rsaKey, kid("k2")), ErrUnknownKey},
		"id of a number":        {signed("RS256", rsaKey, kid(1)), ErrMalformed},
		"no id, two RSA keys":   {signed("PS256", rsaKey, nil), ErrNoKeyID},
		"no id, one EC key":     {signed("ES256", ecKey, nil), nil},
		"embedded key":          {signed("RS256", otherRSAKey, embedded), ErrSignature},
		"embedded, good key":    {signed("RS256", rsaKey, embedded), nil},
		"crit":                  {signed("RS256", rsaKey, headerWith("crit", []string{"exp"})), ErrCritical},
		"empty crit":            {signed("RS256", rsaKey, headerWith("crit", []string{})), ErrCritical},
		"at+jwt":                {signed("RS256", rsaKey, headerWith("typ", "application/AT+jwt")), nil},
		"without typ":           {signed("RS256", rsaKey, headerWith("typ", nil)), nil},
		"logout token":          {signed("RS256", rsaKey, headerWith("typ", "logout+jwt")), ErrType},
		"typ of a number":       {signed("RS256", rsaKey, headerWith("typ", 1)), ErrType},
		"other claims":          {parts[0] + "." + segment(strings.Replace(string(claimsText), "alice", "admin", 1)) + "." + parts[2], ErrSignature},
		"no signature":          {parts[0] + "." + parts[1] + ".", ErrSignature},
		"two parts":             {parts[0] + "." + parts[1], ErrMalformed},
		"four parts":            {good + ".x", ErrMalformed},
		"five parts":            {good + ".x.y", ErrMalformed},
		"padding":               {good + "=", ErrMalformed},
		"line":                  {good + "\n", ErrMalformed},
		"line inside":           {parts[0] + ".\r\n" + parts[1] + "." + parts[2], ErrMalformed},
		"not base64":            {parts[0] + "." + parts[1] + ".$", ErrMalformed},
		"not JSON":              {segment("x") + "." + parts[1] + "." + parts[2], ErrMalformed},
		"JSON and more":         {parts[0] + "." + segment(string(claimsText)+"{}") + "." + parts[2], ErrMalformed},
		"a list for claims":     {parts[0] + "." + segment("[]") + "." + parts[2], ErrMalformed},
		"null for claims":       {parts[0] + "." + segment("null") + "." + parts[2], ErrIssuer},
		"null for the header":   {segment("null") + "." + parts[1] + "." + parts[2], ErrAlgorithm},
		"a gateway key":         {"ak-0123456789abcdefghijklmnopqrstuvwxyzABCD", ErrMalformed},
		"a long one":            {good + strings.Repeat("A", maxToken), ErrLong},
		"deep JSON":             {parts[0] + "." + segment(strings.Repeat("[", 11000)) + "." + parts[2], ErrMalformed},
		"many dots":             {strings.Repeat(".", maxToken), ErrMalformed},
		"zero bytes":            {"\x00.\x00.\x00", ErrMalformed},
		"one bit is not strict": {good[:len(good)-1] + flip(good[len(good)-1]), ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v, err := c.cache.Verify(t.Context(), test.token); !errors.Is(err, test.want) {
				t.Errorf("%+v, error %v, want %v", v, err, test.want)
			}
		})
	}
}

// flip changes the unused low bits of the last character of 256 bytes in base64.
func flip(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)^1])
}

func TestOneKeyWithoutID(t *testing.T) {
	t.Parallel()
	c := newChecker(t, jwkstest.JWK("k1", rsaKey))
	c.passes(jwkstest.Sign(t, "RS256", rsaKey, nil, c.claims()))
}

func TestCache(t *testing.T) {
	t.Parallel()
	c := newChecker(t, jwkstest.JWK("k1", rsaKey))
	long := c.good()
	claims := c.claims()
	claims["exp"] = c.Clock.Now().Add(20 * time.Second).Unix()
	short := jwkstest.Sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, claims)
	claims["exp"] = c.Clock.Now().Add(-time.Second).Unix()
	late := jwkstest.Sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, claims)
	for _, text := range []string{long, short, late} {
		c.passes(text)
	}
	c.cache.cache.Wait()
	c.Issuers[0].Keys = jwks.Fixed{} // from now on, only cached tokens pass
	c.passes(long)
	c.passes(short)
	c.refuses(late, ErrUnknownKey)
	c.Clock.Advance(20 * time.Second)
	c.refuses(short, ErrUnknownKey)
	c.passes(long)
	c.Clock.Advance(40 * time.Second)
	c.refuses(long, ErrUnknownKey)
}

// FuzzVerify checks that no token passes that was not signed with a key of the issuer.
func FuzzVerify(f *testing.F) {
	c := newChecker(f, jwkstest.JWK("k1", rsaKey), jwkstest.JWK("ec", ecKey))
	good := c.good()
	parts := strings.Split(good, ".")
	for _, seed := range []string{
		"", ".", "..", "a.b.c", good[:len(good)-1], parts[0] + "." + parts[1] + ".",
		jwkstest.Sign(f, "RS256", otherRSAKey, map[string]any{"kid": "k1"}, c.claims()),
		jwkstest.Sign(f, "RS256", otherRSAKey, map[string]any{"jwk": json.RawMessage(jwkstest.JWK("k1", otherRSAKey))}, c.claims()),
		jwkstest.Sign(f, "HS256", jwkstest.PEM(f, &rsaKey.PublicKey), map[string]any{"kid": "k1"}, c.claims()),
		jwkstest.Sign(f, "none", golang.UnsafeAllowNoneSignatureType, nil, c.claims()),
		segment(`{"alg":"ES256","kid":"ec"}`) + "." + parts[1] + "." + segment(strings.Repeat("\x00", 64)),
		segment(`{"alg":"RS256","kid":{}}`) + "." + segment(`{"aud":[[]],"exp":1e999}`) + ".",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := c.cache.Verify(t.Context(), text)
		var bad Error
		if v != nil || !errors.As(err, &bad) {
			t.Errorf("%q: %+v, error %v", text, v, err)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	c := newChecker(b, jwkstest.JWK("k1", rsaKey), jwkstest.JWK("ec", ecKey))
	for name, text := range map[string]string{
		"RS256": c.good(), "ES256": jwkstest.Sign(b, "ES256", ecKey, map[string]any{"kid": "ec"}, c.claims()),
	} {
		c.passes(text)
		c.cache.cache.Wait()
		b.Run("cached "+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.passes(text)
			}
		})
		b.Run("checked "+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Verifier.Verify(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
