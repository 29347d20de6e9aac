package apiauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
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
	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// testSecret is an hs256 secret of just the least length.
const testSecret = "0123456789abcdef0123456789abcdef"

// The keys of all tests: making one of RSA takes long.
var (
	rsaKey, otherRSAKey = newRSA(2048), newRSA(2048)
	weakRSAKey          = newRSA(1024)
	ecKey, ec384Key     = newEC(elliptic.P256()), newEC(elliptic.P384())
	_, edKey, _         = ed25519.GenerateKey(rand.Reader)
)

func newRSA(bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
}

func newEC(curve elliptic.Curve) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// clock stands still until it is told to go on.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// checker is a provider of the middleware with its clock.
type checker struct {
	*UserJWT
	*clock
	tb testing.TB
}

// newChecker provisions without local tokens.
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
	c := &checker{u, &clock{at: time.Now().Truncate(time.Second)}, tb}
	u.now = c.clock.now
	return c
}

func checkerOf(tb testing.TB, p *jwkstest.Provider) *checker {
	tb.Helper()
	return newChecker(tb, &UserJWT{Issuer: p.URL, JWKSURL: p.URL + "/keys", Audiences: []string{"console", "api"}})
}

// claims are good ones.
func (c *checker) claims() jwt.MapClaims {
	now := c.clock.now()
	return jwt.MapClaims{"iss": c.Issuer, "aud": "console", "sub": "alice", "iat": now.Unix(), "exp": now.Add(100 * time.Hour).Unix(), "email": "a@example.com"}
}

// sign makes a token; header overrides, with nil for taking away.
func sign(tb testing.TB, algorithm string, key any, header map[string]any, claims jwt.MapClaims) string {
	tb.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims)
	for name, value := range header {
		token.Header[name] = value
		if value == nil {
			delete(token.Header, name)
		}
	}
	text, err := token.SignedString(key)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// good is a token that passes where the RSA key has the id "k1".
func (c *checker) good() string {
	return sign(c.tb, "RS256", rsaKey, map[string]any{"kid": "k1"}, c.claims())
}

func (c *checker) passes(text string) *verified {
	c.tb.Helper()
	v, err := c.verified(c.tb.Context(), text)
	if err != nil {
		c.tb.Errorf("refused: %v", err)
		return nil
	}
	return v
}

func (c *checker) refuses(text string, want error) {
	c.tb.Helper()
	if v, err := c.verified(c.tb.Context(), text); !errors.Is(err, want) {
		c.tb.Errorf("verified %+v, error %v, want %v", v, err, want)
	}
}

func (c *checker) unavailable(ctx context.Context, text string) {
	c.tb.Helper()
	v, err := c.verified(ctx, text)
	if refusal, ok := apierror.From(err); !ok || refusal.Status != 503 || refusal.RetryAfter == 0 {
		c.tb.Errorf("verified %+v, error %v, want a 503", v, err)
	}
}

func TestUserJWTClaims(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	c := newChecker(t, &UserJWT{
		Issuer: p.URL, JWKSURL: p.URL + "/keys", Audiences: []string{"console", "api"},
		RequiredClaims: map[string][]string{"azp": {"web", "cli"}},
	})
	at := func(d time.Duration) int64 { return c.clock.now().Add(d).Unix() }
	for name, test := range map[string]struct {
		claims jwt.MapClaims // nil values take away
		want   error
	}{
		"good":                    {nil, nil},
		"audiences":               {jwt.MapClaims{"aud": []string{"x", "api"}}, nil},
		"wrong audience":          {jwt.MapClaims{"aud": "Console"}, errAudience},
		"wrong audiences":         {jwt.MapClaims{"aud": []string{"x", "y"}}, errAudience},
		"empty audience":          {jwt.MapClaims{"aud": ""}, errAudience},
		"no audiences":            {jwt.MapClaims{"aud": []string{}}, errAudience},
		"audience of a number":    {jwt.MapClaims{"aud": []any{1, nil}}, errAudience},
		"audience of an object":   {jwt.MapClaims{"aud": map[string]any{"console": "console"}}, errAudience},
		"without audience":        {jwt.MapClaims{"aud": nil}, errAudience},
		"wrong issuer":            {jwt.MapClaims{"iss": p.URL + "/"}, errIssuer},
		"issuers":                 {jwt.MapClaims{"iss": []string{p.URL}}, errIssuer},
		"without issuer":          {jwt.MapClaims{"iss": nil}, errIssuer},
		"local issuer":            {jwt.MapClaims{"iss": "tollgate"}, errIssuer},
		"expired":                 {jwt.MapClaims{"exp": at(-time.Minute)}, errExpired},
		"just expired":            {jwt.MapClaims{"exp": at(-defaultLeeway)}, errExpired},
		"in the leeway":           {jwt.MapClaims{"exp": at(-defaultLeeway + time.Second)}, nil},
		"without expiry":          {jwt.MapClaims{"exp": nil}, errNoExpiry},
		"expiry of text":          {jwt.MapClaims{"exp": "2099"}, errMalformed},
		"expiry past all":         {jwt.MapClaims{"exp": 1e300}, errMalformed},
		"expiry that overflows":   {jwt.MapClaims{"exp": uint64(1) << 63}, errMalformed},
		"negative expiry":         {jwt.MapClaims{"exp": -1}, errMalformed},
		"fraction":                {jwt.MapClaims{"exp": float64(at(time.Hour)) + 0.5}, nil},
		"not yet":                 {jwt.MapClaims{"nbf": at(time.Minute)}, errTooEarly},
		"not yet, in the leeway":  {jwt.MapClaims{"nbf": at(defaultLeeway)}, nil},
		"nbf of text":             {jwt.MapClaims{"nbf": "now"}, errMalformed},
		"issued later":            {jwt.MapClaims{"iat": at(time.Minute)}, errTooEarly},
		"without iat":             {jwt.MapClaims{"iat": nil}, nil},
		"other azp":               {jwt.MapClaims{"azp": "cli"}, nil},
		"azp in a list":           {jwt.MapClaims{"azp": []string{"x", "web"}}, nil},
		"wrong azp":               {jwt.MapClaims{"azp": "evil"}, errClaim},
		"without azp":             {jwt.MapClaims{"azp": nil}, errClaim},
		"without user":            {jwt.MapClaims{"sub": nil}, errUser},
		"empty user":              {jwt.MapClaims{"sub": ""}, errUser},
		"user of a number":        {jwt.MapClaims{"sub": 7}, errUser},
		"user with a line":        {jwt.MapClaims{"sub": "a\nb"}, errUser},
		"user that is not UTF-8":  {jwt.MapClaims{"sub": "a\ufffd"}, errUser},
		"user of 200 characters":  {jwt.MapClaims{"sub": strings.Repeat("ü", 200)}, nil},
		"user of 201 characters":  {jwt.MapClaims{"sub": strings.Repeat("u", 201)}, errUser},
		"long claim that is none": {jwt.MapClaims{"picture": strings.Repeat("x", maxClaim+1)}, nil},
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
			text := sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, claims)
			v, err := c.verified(t.Context(), text)
			if !errors.Is(err, test.want) || err == nil && v.subject.ID != claims["sub"] {
				t.Errorf("%+v, error %v, want %v", v, err, test.want)
			}
		})
	}
}

// segment is a part of a token.
func segment(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestUserJWTKeys(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey), jwkstest.JWK("ec", ecKey), jwkstest.JWK("ec384", ec384Key), jwkstest.JWK("ed", edKey),
		jwkstest.JWK("enc", otherRSAKey, `"use":"enc"`), jwkstest.JWK("ops", otherRSAKey, `"key_ops":["encrypt"]`), jwkstest.JWK("ps", otherRSAKey, `"alg":"PS256","use":"sig"`),
		jwkstest.JWK("weak", weakRSAKey), `{"kty":"oct","kid":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}`,
		`{"kty":"EC","crv":"P-256","kid":"off","x":"AQ","y":"AQ"}`, `{"kty":"x"}`, `7`, `null`)
	c := checkerOf(t, p)
	public := pemOf(t, &rsaKey.PublicKey)
	claimsText, err := json.Marshal(c.claims())
	if err != nil {
		t.Fatal(err)
	}
	body := segment(string(claimsText))
	kid := func(id any) map[string]any { return map[string]any{"kid": id} }
	with := func(name string, value any) map[string]any { return map[string]any{"kid": "k1", name: value} }
	signed := func(algorithm string, key any, header map[string]any) string {
		return sign(t, algorithm, key, header, c.claims())
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
		"its other algorithm":  {signed("RS256", otherRSAKey, kid("ps")), errAlgorithm},
		"RS512 is not listed":  {signed("RS512", rsaKey, kid("k1")), errAlgorithm},
		"none":                 {signed("none", jwt.UnsafeAllowNoneSignatureType, kid("k1")), errAlgorithm},
		"none, signed":         {segment(`{"alg":"none"}`) + "." + body + "." + parts[2], errAlgorithm},
		"None":                 {segment(`{"alg":"None"}`) + "." + body + ".", errAlgorithm},
		"unknown algorithm":    {segment(`{"alg":"XS1"}`) + "." + body + ".", errAlgorithm},
		"no algorithm":         {segment(`{"kid":"k1"}`) + "." + body + ".", errAlgorithm},
		"algorithm of a list":  {segment(`{"alg":["RS256"]}`) + "." + body + ".", errAlgorithm},
		"HS256, public key":    {signed("HS256", public, kid("k1")), errAlgorithm},
		"HS256, oct of the set": {
			signed("HS256", []byte(testSecret), kid("oct")), errAlgorithm,
		},
		"RS256 with an EC id":   {signed("RS256", rsaKey, kid("ec")), errAlgorithm},
		"ES256 of P-384":        {signed("ES384", ec384Key, kid("ec")), errAlgorithm},
		"an id of another key":  {signed("RS256", otherRSAKey, kid("k1")), errSignature},
		"key for encryption":    {signed("RS256", otherRSAKey, kid("enc")), errUnknownKey},
		"key for other work":    {signed("RS256", otherRSAKey, kid("ops")), errUnknownKey},
		"weak key":              {signed("RS256", weakRSAKey, kid("weak")), errUnknownKey},
		"unknown id":            {signed("RS256", rsaKey, kid("k2")), errUnknownKey},
		"id of a number":        {signed("RS256", rsaKey, kid(1)), errMalformed},
		"no id, two RSA keys":   {signed("PS256", rsaKey, nil), errNoKeyID},
		"no id, one EC key":     {signed("ES256", ecKey, nil), nil},
		"embedded key":          {signed("RS256", otherRSAKey, embedded), errSignature},
		"embedded, good key":    {signed("RS256", rsaKey, embedded), nil},
		"crit":                  {signed("RS256", rsaKey, with("crit", []string{"exp"})), errCritical},
		"empty crit":            {signed("RS256", rsaKey, with("crit", []string{})), errCritical},
		"at+jwt":                {signed("RS256", rsaKey, with("typ", "application/AT+jwt")), nil},
		"without typ":           {signed("RS256", rsaKey, with("typ", nil)), nil},
		"logout token":          {signed("RS256", rsaKey, with("typ", "logout+jwt")), errType},
		"typ of a number":       {signed("RS256", rsaKey, with("typ", 1)), errType},
		"other claims":          {parts[0] + "." + segment(strings.Replace(string(claimsText), "alice", "admin", 1)) + "." + parts[2], errSignature},
		"no signature":          {parts[0] + "." + parts[1] + ".", errSignature},
		"two parts":             {parts[0] + "." + parts[1], errMalformed},
		"four parts":            {good + ".x", errMalformed},
		"five parts":            {good + ".x.y", errMalformed},
		"padding":               {good + "=", errMalformed},
		"line":                  {good + "\n", errMalformed},
		"line inside":           {parts[0] + ".\r\n" + parts[1] + "." + parts[2], errMalformed},
		"not base64":            {parts[0] + "." + parts[1] + ".$", errMalformed},
		"not JSON":              {segment("x") + "." + parts[1] + "." + parts[2], errMalformed},
		"JSON and more":         {parts[0] + "." + segment(string(claimsText)+"{}") + "." + parts[2], errMalformed},
		"a list for claims":     {parts[0] + "." + segment("[]") + "." + parts[2], errMalformed},
		"null for claims":       {parts[0] + "." + segment("null") + "." + parts[2], errIssuer},
		"null for the header":   {segment("null") + "." + parts[1] + "." + parts[2], errAlgorithm},
		"a gateway key":         {"ak-0123456789abcdefghijklmnopqrstuvwxyzABCD", errMalformed},
		"a long one":            {good + strings.Repeat("A", maxToken), errLong},
		"deep JSON":             {parts[0] + "." + segment(strings.Repeat("[", 11000)) + "." + parts[2], errMalformed},
		"many dots":             {strings.Repeat(".", maxToken), errMalformed},
		"zero bytes":            {"\x00.\x00.\x00", errMalformed},
		"one bit is not strict": {good[:len(good)-1] + flip(good[len(good)-1]), errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v, err := c.verified(t.Context(), test.token); !errors.Is(err, test.want) {
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

func pemOf(tb testing.TB, key any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestUserJWTOneKeyWithoutID(t *testing.T) {
	t.Parallel()
	c := checkerOf(t, jwkstest.New(t, jwkstest.JWK("k1", rsaKey)))
	c.passes(sign(t, "RS256", rsaKey, nil, c.claims()))
}

func TestUserJWTFixedKeys(t *testing.T) {
	t.Parallel()
	files := make([]string, 3)
	for i, key := range []any{&rsaKey.PublicKey, &otherRSAKey.PublicKey, &ecKey.PublicKey} {
		files[i] = filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(files[i], pemOf(t, key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newChecker(t, &UserJWT{PublicKeys: files, Audiences: []string{"console"}, UserClaim: "email"})
	for _, header := range []map[string]any{nil, {"kid": "any"}} {
		for _, key := range []*rsa.PrivateKey{rsaKey, otherRSAKey} {
			if v := c.passes(sign(t, "RS256", key, header, c.claims())); v != nil && v.user.ID != "a@example.com" {
				t.Errorf("user %s", v.user.ID)
			}
		}
	}
	c.passes(sign(t, "ES256", ecKey, nil, c.claims()))
	c.refuses(sign(t, "EdDSA", edKey, nil, c.claims()), errUnknownKey)
	c.refuses(sign(t, "RS256", weakRSAKey, nil, c.claims()), errSignature)
	c.refuses(sign(t, "HS256", pemOf(t, &rsaKey.PublicKey), nil, c.claims()), errAlgorithm)

	s := newChecker(t, &UserJWT{HS256: testSecret, Audiences: []string{"console"}})
	s.passes(sign(t, "HS256", []byte(testSecret), nil, s.claims()))
	s.refuses(sign(t, "HS256", []byte(testSecret+"x"), nil, s.claims()), errSignature)
	s.refuses(sign(t, "HS512", []byte(testSecret), nil, s.claims()), errAlgorithm)
	s.refuses(sign(t, "RS256", rsaKey, nil, s.claims()), errAlgorithm)
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
	ed := pemOf(t, edKey.Public())
	aud := []string{"a"}
	file := func(name string, text []byte) UserJWT {
		return UserJWT{PublicKeys: []string{write(name, text)}, Audiences: aud}
	}
	for name, test := range map[string]struct {
		settings UserJWT
		want     string // part of the error; "": none
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
		"two keys":          {file("two", append(pkcs1, ed...)), "more than one block"},
		"private key":       {file("private", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), "not a public key"},
		"broken key":        {file("broken", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: private})), "cannot be read"},
		"broken cert":       {file("cert", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private})), "cannot be read"},
		"weak key":          {file("weak", pemOf(t, &weakRSAKey.PublicKey)), "2048"},
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

// TestUserJWTHeaders is what clients and handlers see.
func TestUserJWTHeaders(t *testing.T) {
	t.Parallel()
	c := checkerOf(t, jwkstest.New(t, jwkstest.JWK("k1", rsaKey)))
	good := c.good()
	late := c.claims()
	late["exp"] = 1
	expired := sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, late)
	const text = "{http.auth.user.id}|{http.auth.user.issuer}|{http.auth.user.claim.email}|{http.auth.user.claim.exp}"
	want := "alice|" + c.Issuer + "|a@example.com|"
	for name, test := range map[string]struct {
		header http.Header
		want   string // the challenge; "": it passes
	}{
		"good":        {http.Header{"Authorization": {"Bearer " + good}}, ""},
		"lower case":  {http.Header{"Authorization": {" bearer   " + good + " "}}, ""},
		"nothing":     {http.Header{}, "Bearer"},
		"empty":       {http.Header{"Authorization": {"Bearer "}}, "Bearer"},
		"basic":       {http.Header{"Authorization": {"Basic " + good}}, "Bearer"},
		"api key":     {http.Header{"X-Api-Key": {good}}, "Bearer"},
		"cookie":      {http.Header{"Cookie": {"token=" + good}}, "Bearer"},
		"two headers": {http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}, challenge(errSeveral)},
		"expired":     {http.Header{"Authorization": {"Bearer " + expired}}, challenge(errExpired)},
		"two in one":  {http.Header{"Authorization": {"Bearer " + good + ", Bearer " + good}}, challenge(errMalformed)},
		"not one":     {http.Header{"Authorization": {`Bearer "quoted"`}}, challenge(errMalformed)},
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
		if !ok || user.ID != "alice" || user.Issuer != c.Issuer || !user.Expires.Equal(c.clock.now().Add(100*time.Hour)) {
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

func challenge(e tokenError) string {
	return `Bearer error="invalid_token", error_description="` + string(e) + `"`
}

func TestUserJWTCache(t *testing.T) {
	t.Parallel()
	c := checkerOf(t, jwkstest.New(t, jwkstest.JWK("k1", rsaKey)))
	long := c.good()
	claims := c.claims()
	claims["exp"] = c.clock.now().Add(20 * time.Second).Unix()
	short := sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, claims)
	claims["exp"] = c.clock.now().Add(-time.Second).Unix()
	late := sign(t, "RS256", rsaKey, map[string]any{"kid": "k1"}, claims)
	for _, text := range []string{long, short, late} {
		c.passes(text)
	}
	c.cache.cache.Wait()
	c.keys = jwks.Fixed{} // whatever passes now is remembered
	c.passes(long)
	c.passes(short)
	c.refuses(late, errUnknownKey)
	c.clock.advance(20 * time.Second)
	c.refuses(short, errUnknownKey)
	c.passes(long)
	c.clock.advance(40 * time.Second)
	c.refuses(long, errUnknownKey)
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
		c.cache.close() // remembers nothing: each check is a real one
		return c
	}
	plain := load(`{}`)
	now := plain.clock.now()
	local, expires, err := SignUserToken(keys, "alice", now, time.Hour)
	if err != nil || !expires.Equal(now.Add(time.Hour)) {
		t.Fatalf("expires %v, error %v", expires, err)
	}
	key := keys[0]
	claims := func(more jwt.MapClaims) jwt.MapClaims {
		all := jwt.MapClaims{"iss": "tollgate", "sub": "alice", "exp": now.Add(time.Hour).Unix()}
		maps.Copy(all, more)
		return all
	}
	if v := plain.passes(local); v == nil || v.subject.ID != "alice" || v.subject.Issuer != "tollgate" {
		t.Errorf("%+v", v)
	}
	plain.refuses(sign(t, "HS256", key, nil, claims(jwt.MapClaims{"iss": "Tollgate"})), errIssuer)
	plain.refuses(sign(t, "HS256", key, nil, claims(jwt.MapClaims{"exp": now.Add(-time.Hour).Unix()})), errExpired)
	plain.refuses(sign(t, "HS256", key, nil, jwt.MapClaims{"iss": "tollgate", "sub": "alice"}), errNoExpiry)
	plain.refuses(sign(t, "HS256", key, nil, claims(jwt.MapClaims{"sub": ""})), errUser)
	plain.refuses(sign(t, "HS256", []byte(testSecret), nil, claims(nil)), errSignature)
	plain.refuses(sign(t, "HS512", key, nil, claims(nil)), errAlgorithm)
	plain.refuses(sign(t, "RS256", rsaKey, nil, claims(nil)), errAlgorithm)
	plain.refuses(sign(t, "none", jwt.UnsafeAllowNoneSignatureType, nil, claims(nil)), errAlgorithm)

	// Beside an identity provider; neither signs for the other.
	both := load(`{"hs256":"` + testSecret + `","audiences":["console"],"user_claim":"email"}`)
	both.passes(local)
	both.passes(sign(t, "HS256", []byte(testSecret), nil, both.claims()))
	both.refuses(sign(t, "HS256", key, nil, both.claims()), errSignature)
	both.refuses(sign(t, "HS256", []byte(testSecret), nil, claims(jwt.MapClaims{"aud": "console", "email": "x"})), errSignature)
	off := load(`{"hs256":"` + testSecret + `","audiences":["console"],"disable_local":true}`)
	off.refuses(local, errAudience)
	off.passes(sign(t, "HS256", []byte(testSecret), nil, off.claims()))

	// A new master key signs; the old one still verifies.
	keys = [][]byte{[]byte(testSecret), key}
	plain.local = func() ([][]byte, error) { return keys, nil }
	plain.passes(local)
	newer, _, err := SignUserToken(keys, "alice", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	plain.passes(newer)
	keys = [][]byte{[]byte(testSecret)}
	plain.refuses(local, errSignature)
}

// TestLocalTokensTooEarly does not run in parallel; see apiauth_test.go.
func TestLocalTokensTooEarly(t *testing.T) {
	s := provision(t, fmt.Sprintf(`{"engine":"sqlite","path":%q}`, filepath.Join(t.TempDir(), "x.db")))
	loaded, err := s.ctx.LoadModuleByID("http.authentication.providers.user_jwt", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	c := clocked(t, loaded.(*UserJWT))
	local, _, err := SignUserToken([][]byte{[]byte(testSecret)}, "alice", c.clock.now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c.unavailable(t.Context(), local)
}

// FuzzUserJWT knows no signing key of the server, so nothing may pass.
func FuzzUserJWT(f *testing.F) {
	p := jwkstest.New(f, jwkstest.JWK("k1", rsaKey), jwkstest.JWK("ec", ecKey))
	c := checkerOf(f, p)
	good := c.good()
	parts := strings.Split(good, ".")
	for _, seed := range []string{
		"", ".", "..", "a.b.c", good[:len(good)-1], parts[0] + "." + parts[1] + ".",
		sign(f, "RS256", otherRSAKey, map[string]any{"kid": "k1"}, c.claims()),
		sign(f, "RS256", otherRSAKey, map[string]any{"jwk": json.RawMessage(jwkstest.JWK("k1", otherRSAKey))}, c.claims()),
		sign(f, "HS256", pemOf(f, &rsaKey.PublicKey), map[string]any{"kid": "k1"}, c.claims()),
		sign(f, "none", jwt.UnsafeAllowNoneSignatureType, nil, c.claims()),
		segment(`{"alg":"ES256","kid":"ec"}`) + "." + parts[1] + "." + segment(strings.Repeat("\x00", 64)),
		segment(`{"alg":"RS256","kid":{}}`) + "." + segment(`{"aud":[[]],"exp":1e999}`) + ".",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := c.verified(t.Context(), text)
		var bad tokenError
		if v != nil || !errors.As(err, &bad) {
			t.Errorf("%q: %+v, error %v", text, v, err)
		}
		header, err := bearer(http.Header{"Authorization": {text}})
		if err != nil || header != strings.TrimSpace(header) {
			t.Errorf("%q of %q", header, text)
		}
	})
}

func BenchmarkUserJWT(b *testing.B) {
	c := checkerOf(b, jwkstest.New(b, jwkstest.JWK("k1", rsaKey), jwkstest.JWK("ec", ecKey)))
	for name, text := range map[string]string{
		"RS256": c.good(), "ES256": sign(b, "ES256", ecKey, map[string]any{"kid": "ec"}, c.claims()),
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
				if _, err := c.verify(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestReloads replaces the provider under load, as reloads do.
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
		return &checker{u, &clock{at: time.Now()}, t}
	}
	old := load()
	good := old.good()
	first := old.keys
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
	if n := p.Count(); n != 1 || old.keys != first {
		t.Errorf("%d fetches, another source: %t", n, old.keys != first)
	}
	if err := old.Cleanup(); err != nil {
		t.Fatal(err)
	}
	if users, there := sources.References(jwks.Address{JWKS: p.URL + "/keys"}); there {
		t.Errorf("the source goes on with %d users", users)
	}
	old.passes(good) // a request that is under way
	last := load()
	last.passes(good)
	if err := last.Cleanup(); err != nil || p.Count() != 2 {
		t.Errorf("%d fetches, error %v", p.Count(), err)
	}
}

// What would not pass with any key asks for none, and is refused while there are none.
func TestUserJWTProviderDown(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	p.Set(func(p *jwkstest.Provider) { p.Status = 500 })
	c := checkerOf(t, p)
	claims := c.claims()
	claims["aud"] = "x"
	c.refuses(sign(t, "ES256", ecKey, map[string]any{"kid": "x"}, claims), errAudience)
	c.refuses("x.y.z", errMalformed)
	if n := p.Count(); n != 0 {
		t.Errorf("%d fetches for tokens that cannot pass", n)
	}
	c.unavailable(t.Context(), c.good())
	c.refuses("x.y.z", errMalformed)
}

// A key that is no longer published serves the tokens that were checked a moment ago.
func TestUserJWTKeyGone(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	c := checkerOf(t, p)
	good := c.good()
	c.passes(good)
	c.cache.cache.Wait()
	c.keys = jwks.Fixed{{Key: &otherRSAKey.PublicKey}}
	c.passes(good)
	c.clock.advance(verifiedTTL) // until then it is remembered
	c.refuses(good, errSignature)
}
