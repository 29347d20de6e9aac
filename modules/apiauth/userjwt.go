package apiauth

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(UserJWT))
}

const (
	// userVar is the request variable that holds the *User.
	userVar = "tollgate.user"

	defaultLeeway = 30 * time.Second
	maxLeeway     = 5 * time.Minute
	minSecret     = 32 // of hs256, in bytes: as long as the digest (RFC 7518, 3.2)
	maxPublicKeys = 16
)

var (
	publicAlgorithms  = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
	defaultAlgorithms = []string{"RS256", "PS256", "ES256", "ES384", "EdDSA"}
	defaultTypes      = []string{"", "JWT", "at+jwt"}
)

// UserJWT checks JSON Web Tokens of users, sent as `Authorization: Bearer …`:
// those of an identity provider, and local ones.
//
// The keys of the provider come from a URL (jwks_url, or what the discovery
// document of the issuer names), from files, or are one shared secret. Those of
// a URL are kept as long as its Cache-Control says (1 minute to 24 hours, else 10
// minutes), fetched anew before that ends, and used for 24 hours more while the
// provider is down. A key id that is not known leads to a fetch, once in 10
// seconds. Before the first fetch has succeeded the answer is 503. URLs are
// https, or http on a loopback address.
//
// Local tokens have the issuer "tollgate" and are signed with a key of the app's
// keyring: tollgate keychain token <user> prints one. They are accepted in every
// configuration but with disable_local, which needs no app tollgate.
//
// Placeholders, beside {http.auth.user.id}:
//
//	{http.auth.user.issuer}        the claim iss
//	{http.auth.user.claim.<name>}  any other claim that is a string, such as email
//
// Errors: 401 invalid_token with the challenge of RFC 6750; 503 while there are
// no keys.
type UserJWT struct {
	// Issuer is the one accepted value of iss. Required with keys of a URL.
	Issuer string `json:"issuer,omitempty"`

	// Audiences of which the token must name one in aud. Required unless only
	// local tokens are accepted.
	Audiences []string `json:"audiences,omitempty"`

	// JWKSURL is where the keys are. Default, with an issuer and no other keys:
	// what <issuer>/.well-known/openid-configuration says.
	JWKSURL string `json:"jwks_url,omitempty"`

	// PublicKeys are PEM files, each with one public key or certificate.
	PublicKeys []string `json:"public_keys,omitempty"`

	// HS256 is a shared secret of at least 32 bytes, for development; usually
	// {env.NAME} or {file.path}.
	HS256 string `json:"hs256,omitempty"`

	// Algorithms that are accepted. Default: RS256, PS256, ES256, ES384 and EdDSA
	// for public keys; HS256 for hs256, where it is the only one.
	Algorithms []string `json:"algorithms,omitempty"`

	// Leeway for clocks that differ, at most 5m. Default: 30s.
	Leeway caddy.Duration `json:"leeway,omitempty"`

	// UserClaim holds the user's id, 1 to 200 characters. Default: sub.
	UserClaim string `json:"user_claim,omitempty"`

	// RequiredClaims by name; each is one of the values, or a list with one.
	RequiredClaims map[string][]string `json:"required_claims,omitempty"`

	// Types are the accepted values of the header typ; an empty one: it may be
	// absent. Default: absent, JWT and at+jwt.
	Types []string `json:"types,omitempty"`

	// DisableLocal refuses the tokens that Tollgate signs itself.
	DisableLocal bool `json:"disable_local,omitempty"`

	local  func() ([][]byte, error) // keys of local tokens; nil: they are refused
	keys   jwks.Finder              // nil: only local tokens are accepted
	pooled *jwks.Address
	cache  *tokenCache
	now    func() time.Time
}

// User is who sent a request that passed api_auth user_jwt.
type User struct {
	ID      string
	Issuer  string
	Expires time.Time
}

// UserID implements rest.Identity.
func (u *User) UserID() string { return u.ID }

// Subject is who sent a request that passed api_auth user_jwt. The value is
// shared between requests and must not be changed.
func Subject(r *http.Request) (*User, bool) {
	user, ok := caddyhttp.GetVar(r.Context(), userVar).(*User)
	return user, ok
}

// CaddyModule returns the Caddy module information.
func (*UserJWT) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.authentication.providers.user_jwt",
		New: func() caddy.Module { return new(UserJWT) },
	}
}

// Provision resolves placeholders, reads key files and sets defaults. Keys of a
// URL are fetched when the first token needs them.
func (u *UserJWT) Provision(ctx caddy.Context) error {
	u.now = time.Now
	if err := u.resolve(); err != nil {
		return err
	}
	if !u.DisableLocal {
		app, err := tollgate.From(ctx)
		if err != nil {
			return err
		}
		u.local = app.Keys(UserTokens)
	}
	if err := u.check(); err != nil {
		return err
	}
	if u.UserClaim == "" {
		u.UserClaim = "sub"
	}
	if u.Leeway == 0 {
		u.Leeway = caddy.Duration(defaultLeeway)
	}
	if len(u.Types) == 0 {
		u.Types = defaultTypes
	}
	if len(u.Algorithms) == 0 {
		u.Algorithms = defaultAlgorithms
		if u.HS256 != "" {
			u.Algorithms = []string{"HS256"}
		}
	}
	if err := u.provisionKeys(); err != nil {
		return err
	}
	var err error
	u.cache, err = newTokenCache()
	return err
}

// resolve replaces {env.*} and {file.*} in the settings.
func (u *UserJWT) resolve() error {
	repl := caddy.NewReplacer()
	one := func(name string, text *string) (err error) {
		if *text == "" {
			return nil
		}
		if *text, err = repl.ReplaceOrErr(*text, true, true); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	err := errors.Join(one("issuer", &u.Issuer), one("jwks_url", &u.JWKSURL), one("hs256", &u.HS256))
	for i := range u.Audiences {
		err = errors.Join(err, one("audience", &u.Audiences[i]))
	}
	for i := range u.PublicKeys {
		err = errors.Join(err, one("public_key", &u.PublicKeys[i]))
	}
	return err
}

// check refuses settings that contradict each other or would let nobody in. It
// runs before the keys are loaded, which rely on it.
func (u *UserJWT) check() error {
	given := 0
	for _, is := range []bool{u.JWKSURL != "", len(u.PublicKeys) > 0, u.HS256 != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		return errors.New("jwks_url, public_key and hs256 exclude each other")
	}
	if time.Duration(u.Leeway) < 0 || time.Duration(u.Leeway) > maxLeeway {
		return fmt.Errorf("leeway must be at most %s", maxLeeway)
	}
	if given == 0 && u.Issuer == "" {
		if u.DisableLocal {
			return errors.New("with local off, keys are needed: issuer, jwks_url, public_key or hs256")
		}
		if len(u.Audiences) > 0 || len(u.RequiredClaims) > 0 || len(u.Algorithms) > 0 || u.UserClaim != "" {
			return errors.New("audience, algorithms, required_claim and user_claim need keys beside the local ones: issuer, jwks_url, public_key or hs256")
		}
		return nil
	}
	if u.JWKSURL != "" && u.Issuer == "" {
		return errors.New("jwks_url needs an issuer")
	}
	if u.Issuer == UserTokenIssuer {
		return fmt.Errorf("the issuer %q is that of local tokens", u.Issuer)
	}
	if len(u.Audiences) == 0 || slices.Contains(u.Audiences, "") {
		return errors.New("audience is required: a token made for another service must not pass here")
	}
	if u.HS256 != "" && len(u.HS256) < minSecret {
		return fmt.Errorf("the secret of hs256 must have at least %d bytes", minSecret)
	}
	if len(u.PublicKeys) > maxPublicKeys {
		return fmt.Errorf("there may be at most %d public keys", maxPublicKeys)
	}
	possible := publicAlgorithms
	if u.HS256 != "" {
		possible = []string{"HS256"}
	}
	for _, algorithm := range u.Algorithms {
		if !slices.Contains(possible, algorithm) {
			return fmt.Errorf("the algorithm %q cannot be used with these keys; there are: %s", algorithm, strings.Join(possible, " "))
		}
	}
	return nil
}

// provisionKeys loads the keys of the identity provider, or where to get them.
func (u *UserJWT) provisionKeys() error {
	switch {
	case u.HS256 != "":
		u.keys = jwks.Fixed{{Key: []byte(u.HS256)}}
	case len(u.PublicKeys) > 0:
		var fixed jwks.Fixed
		for _, file := range u.PublicKeys {
			from, err := os.Open(file)
			if err != nil {
				return fmt.Errorf("public_key: %w", err)
			}
			key, err := jwks.ReadPEM(from)
			if err != nil {
				return fmt.Errorf("public_key %s: %w", file, err)
			}
			fixed = append(fixed, jwks.Key{Key: key})
		}
		u.keys = fixed
	case u.Issuer != "":
		address := jwks.Address{JWKS: u.JWKSURL}
		name := "jwks_url"
		if address.JWKS == "" {
			address.Issuer, name = u.Issuer, "issuer"
		}
		if err := address.Check(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		loaded, _, err := sources.LoadOrNew(address, func() (caddy.Destructor, error) { return newSource(address), nil })
		if err != nil {
			return err
		}
		u.keys, u.pooled = loaded.(pooledSource).Source, &address
	}
	return nil
}

// Cleanup gives the keys back. Requests that are under way may go on with them.
func (u *UserJWT) Cleanup() error {
	if u.cache != nil {
		u.cache.close()
	}
	if u.pooled == nil {
		return nil
	}
	_, err := sources.Delete(*u.pooled)
	return err
}

// sources keeps the keys of identity providers across reloads.
var sources = caddy.NewUsagePool()

// pooledSource ends with the last configuration that uses it.
type pooledSource struct{ *jwks.Source }

func newSource(address jwks.Address) pooledSource {
	return pooledSource{jwks.NewSource(address, func() *zap.Logger { return caddy.Log().Named("http.authentication.providers.user_jwt") })}
}

// Destruct implements caddy.Destructor.
func (p pooledSource) Destruct() error {
	p.Close()
	return nil
}

// Authenticate implements caddyauth.Authenticator.
func (u *UserJWT) Authenticate(w http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	text, err := bearer(r.Header)
	if err == nil && text == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return caddyauth.User{}, false, apierror.New(http.StatusUnauthorized, "invalid_token",
			"no user token was sent: send it as Authorization: Bearer …")
	}
	var known *verified
	if err == nil {
		known, err = u.verified(r.Context(), text)
	}
	if bad, ok := errors.AsType[tokenError](err); ok {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+string(bad)+`"`)
		return caddyauth.User{}, false, apierror.New(http.StatusUnauthorized, "invalid_token", "%s", string(bad))
	}
	if err != nil {
		return caddyauth.User{}, false, err
	}
	caddyhttp.SetVar(r.Context(), userVar, known.subject)
	return known.user, true, nil
}

// bearer is the token of a request; empty: none. Of several credentials nobody
// knows which one another server would take, so they are refused.
func bearer(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) > 1 {
		return "", errSeveral
	}
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	return strings.TrimSpace(token), nil
}

// Interface guards
var (
	_ caddy.Provisioner       = (*UserJWT)(nil)
	_ caddy.CleanerUpper      = (*UserJWT)(nil)
	_ caddyauth.Authenticator = (*UserJWT)(nil)
)
