package apiauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
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
	minSecret     = 32 // shortest secret of hs256, in bytes: as long as the digest (RFC 7518 section 3.2)
	maxPublicKeys = 16
	// maxClaim bounds the length of a claim that becomes a placeholder, in bytes.
	maxClaim = 1 << 10
	// userSize and entrySize estimate the memory that a cached user and each of its placeholders take besides their texts,
	// in bytes.
	userSize  = 400
	entrySize = 64

	errSeveral jwt.Error = "more than one Authorization header was sent"
)

var (
	publicAlgorithms  = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
	defaultAlgorithms = []string{"RS256", "PS256", "ES256", "ES384", "EdDSA"}
	defaultTypes      = []string{"", "JWT", "at+jwt"}
)

// UserJWT checks JSON Web Tokens of users, sent as `Authorization: Bearer …`. The tokens come from an identity provider
// or from Tollgate itself (local tokens).
//
// The provider's keys come from a URL (jwks_url, or the jwks_uri of the issuer's discovery document) or from files, or
// are one shared secret. Keys from a URL are cached for the time in its Cache-Control (1 minute to 24 hours; 10 minutes
// if there is none). They are fetched again before that time ends, and used for 24 more hours while the provider is
// down. An unknown key id causes a fetch, at most once in 10 seconds. Until the first fetch has succeeded, requests get
// 503. URLs must be https, or http on a loopback address.
//
// Local tokens have the issuer "tollgate" and are signed with a key of the app's keyring: tollgate keychain token
// <user> prints one. They are accepted unless disable_local is set. Only local tokens need the app tollgate.
//
// Placeholders, beside {http.auth.user.id}:
//
//	{http.auth.user.issuer}        the claim iss
//	{http.auth.user.claim.<name>}  any other claim that is a string, such as email
//
// A token that is bound to a key of its client (RFC 7800) is refused, since this provider does not check proofs of the
// key. The provider oauth does.
//
// Errors: 401 invalid_token with the challenge of RFC 6750; 503 while no keys are available.
type UserJWT struct {
	// Issuer is the value that the claim iss must have. Required with keys from a URL.
	Issuer string `json:"issuer,omitempty"`

	// Audiences are the names of this service. The claim aud must contain at least one of them. Required unless only local
	// tokens are accepted.
	Audiences []string `json:"audiences,omitempty"`

	// JWKSURL is the URL of the keys. Default, if there is an issuer and no other source of keys: the jwks_uri in
	// <issuer>/.well-known/openid-configuration.
	JWKSURL string `json:"jwks_url,omitempty"`

	// PublicKeys are PEM files, each with one public key or certificate.
	PublicKeys []string `json:"public_keys,omitempty"`

	// HS256 is a shared secret of at least 32 bytes, for development; usually
	// {env.NAME} or {file.path}.
	HS256 string `json:"hs256,omitempty"`

	// Algorithms are the accepted signature algorithms. Default: RS256, PS256, ES256, ES384 and EdDSA for public keys.
	// With hs256, only HS256 is possible.
	Algorithms []string `json:"algorithms,omitempty"`

	// Leeway is the tolerance for clocks that differ, at most 5m. Default: 30s.
	Leeway caddy.Duration `json:"leeway,omitempty"`

	// UserClaim is the claim with the user's id, 1 to 200 characters. Default: sub.
	UserClaim string `json:"user_claim,omitempty"`

	// RequiredClaims maps names of claims to accepted values. In the token, each of these claims must be one of its
	// accepted values, or a list that contains one of them.
	RequiredClaims map[string][]string `json:"required_claims,omitempty"`

	// Types are the accepted values of the header typ; an empty value means that it may be absent. Default: absent, JWT
	// and at+jwt.
	Types []string `json:"types,omitempty"`

	// DisableLocal refuses the tokens that Tollgate signs itself.
	DisableLocal bool `json:"disable_local,omitempty"`

	verifier jwt.Verifier
	cache    *jwt.Cache[*verified] // the users of tokens that were checked
	pooled   *jwks.Address         // key in the pool sources; nil if no source was taken from it
}

// User is the user of a request that passed api_auth user_jwt or oauth.
type User struct {
	ID      string
	Issuer  string
	Expires time.Time
	// Claims are the claims of the token. They must not be modified.
	Claims map[string]any
}

// Subject returns the user of a request that passed api_auth user_jwt or oauth. The value is shared between requests
// and must not be modified.
func Subject(r *http.Request) (*User, bool) {
	user, ok := caddyhttp.GetVar(r.Context(), userVar).(*User)
	return user, ok
}

// UserID implements rest.Identity.
func (u *User) UserID() string { return u.ID }

// CaddyModule returns the Caddy module information.
func (*UserJWT) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.authentication.providers.user_jwt",
		New: func() caddy.Module { return new(UserJWT) },
	}
}

// Provision resolves placeholders, reads key files and sets defaults. Keys from a URL are fetched when the first token
// needs them.
func (u *UserJWT) Provision(ctx caddy.Context) error {
	if err := u.resolve(); err != nil {
		return err
	}
	var local localKeys // nil if local tokens are refused; only they need the app
	if !u.DisableLocal {
		app, err := tollgate.From(ctx)
		if err != nil {
			return err
		}
		local = app.Keys(UserTokens)
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
	keys, err := u.provisionKeys()
	if err != nil {
		return err
	}
	u.verifier = jwt.Verifier{Types: u.Types, Leeway: time.Duration(u.Leeway), ValidSubject: ValidUserID, Now: time.Now}
	if local != nil {
		u.verifier.Issuers = append(u.verifier.Issuers, &jwt.Issuer{
			Name: UserTokenIssuer, Algorithms: []string{"HS256"}, SubjectClaim: "sub", Keys: local,
		})
	}
	if keys != nil {
		u.verifier.Issuers = append(u.verifier.Issuers, &jwt.Issuer{
			Name: u.Issuer, Audiences: u.Audiences, Algorithms: u.Algorithms, Claims: u.RequiredClaims,
			SubjectClaim: u.UserClaim, Keys: keys,
		})
	}
	u.cache, err = jwt.NewCache(time.Now, u.verify)
	return err
}

// resolve replaces {env.*} and {file.*} in the settings.
func (u *UserJWT) resolve() error {
	resolve := func(name string, text *string) (err error) {
		if *text == "" {
			return nil
		}
		if *text, err = placeholder.Resolve(*text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	err := errors.Join(resolve("issuer", &u.Issuer), resolve("jwks_url", &u.JWKSURL), resolve("hs256", &u.HS256))
	for i := range u.Audiences {
		err = errors.Join(err, resolve("audience", &u.Audiences[i]))
	}
	for i := range u.PublicKeys {
		err = errors.Join(err, resolve("public_key", &u.PublicKeys[i]))
	}
	return err
}

// check returns an error for settings that contradict each other or would accept no token. It must run before the keys
// are loaded, because the loading relies on its checks.
func (u *UserJWT) check() error {
	sources := 0 // configured sources of keys; with none, an issuer's discovery document names the keys
	for _, set := range []bool{u.JWKSURL != "", len(u.PublicKeys) > 0, u.HS256 != ""} {
		if set {
			sources++
		}
	}
	if sources > 1 {
		return errors.New("jwks_url, public_key and hs256 exclude each other")
	}
	if time.Duration(u.Leeway) < 0 || time.Duration(u.Leeway) > maxLeeway {
		return fmt.Errorf("leeway must be at most %s", maxLeeway)
	}
	if sources == 0 && u.Issuer == "" { // only local tokens are accepted
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
			return fmt.Errorf("the algorithm %q cannot be used with these keys; there are: %s",
				algorithm, strings.Join(possible, " "))
		}
	}
	return nil
}

// provisionKeys returns the keys of the identity provider, or a source that fetches them. It returns nil if only local
// tokens are accepted.
func (u *UserJWT) provisionKeys() (jwks.Finder, error) {
	switch {
	case u.HS256 != "":
		return jwks.Fixed{{Key: []byte(u.HS256)}}, nil
	case len(u.PublicKeys) > 0:
		fixed := make(jwks.Fixed, len(u.PublicKeys))
		for i, file := range u.PublicKeys {
			pem, err := os.Open(file)
			if err != nil {
				return nil, fmt.Errorf("public_key: %w", err)
			}
			if fixed[i].Key, err = jwks.ReadPEM(pem); err != nil { // it closes the file
				return nil, fmt.Errorf("public_key %s: %w", file, err)
			}
		}
		return fixed, nil
	case u.Issuer != "":
		return pooledKeys(u.Issuer, u.JWKSURL, &u.pooled)
	}
	return nil, nil
}

// Cleanup implements caddy.CleanerUpper. It empties the cache of checked tokens and releases the provider's keys in the
// pool. Requests in progress can continue.
func (u *UserJWT) Cleanup() error {
	if u.cache != nil {
		u.cache.Close()
	}
	return releaseKeys(u.pooled)
}

// Authenticate implements caddyauth.Authenticator.
func (u *UserJWT) Authenticate(w http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	token, err := bearer(r.Header)
	if err == nil && token == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return caddyauth.User{}, false, apierror.New(http.StatusUnauthorized, "invalid_token",
			"no user token was sent: send it as Authorization: Bearer …")
	}
	var user *verified
	if err == nil {
		user, err = u.cache.Verify(r.Context(), token)
	}
	if tokenErr, ok := errors.AsType[jwt.Error](err); ok {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+string(tokenErr)+`"`)
		return caddyauth.User{}, false, apierror.New(http.StatusUnauthorized, "invalid_token", "%s", string(tokenErr))
	}
	if err != nil {
		return caddyauth.User{}, false, err
	}
	caddyhttp.SetVar(r.Context(), userVar, user.subject)
	return user.user, true, nil
}

// verified is the user of a valid token, in two forms. Requests with the same token share it through the cache.
type verified struct {
	user    caddyauth.User // for placeholders
	subject *User          // for later handlers
}

// newVerified returns subject as a verified user, and the user's approximate size in bytes for the cache. The user's
// placeholders are those in metadata, the issuer, and each claim that is a text of at most maxClaim bytes. encoded is
// the length of the text from which the claims were decoded.
func newVerified(subject *User, metadata map[string]string, encoded int) (v verified, size int64) {
	metadata["issuer"] = subject.Issuer
	for name, value := range subject.Claims {
		if text, ok := value.(string); ok && len(text) <= maxClaim && utf8.ValidString(text) {
			metadata["claim."+name] = text
		}
	}
	size = userSize + int64(4*encoded) // the decoded claims in subject are about four times as large as their text
	for name, value := range metadata {
		size += int64(len(name) + len(value) + entrySize)
	}
	return verified{caddyauth.User{ID: subject.ID, Metadata: metadata}, subject}, size
}

// verify checks a token. It returns the token's user, the user's approximate size in bytes, and when the token expires.
func (u *UserJWT) verify(
	ctx context.Context, text string,
) (v *verified, size int64, expires time.Time, err error) {
	token, err := u.verifier.Verify(ctx, text)
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	if token.Claims["cnf"] != nil {
		return nil, 0, time.Time{}, errConfirm
	}
	user, size := newVerified(
		&User{ID: token.Subject, Issuer: token.Issuer, Expires: token.Expires, Claims: token.Claims},
		make(map[string]string), len(text))
	return &user, size, token.Expires, nil
}

// bearer returns the bearer token of a request, or "" if no bearer token was sent. It refuses several Authorization
// headers, because another server might use a different one.
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
