package apiauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(OAuth))
}

// These errors occur only for access tokens. Errors that other tokens can have too are in the package jwt.
const (
	errBound    jwt.Error = "the token is bound to a key of its client: send it as Authorization: DPoP with a proof of that key"
	errUnbound  jwt.Error = "the token is not bound to a key: send it as Authorization: Bearer"
	errConfirm  jwt.Error = "the token is bound to its client by a method that is not supported"
	errInactive jwt.Error = "the token is not valid, or not valid any more"
)

// accessTypes are the values of typ that RFC 9068 allows.
var accessTypes = []string{"at+jwt"}

// OAuth checks access tokens of an OAuth authorization server, sent as `Authorization: Bearer …`, for the service
// behind it.
//
// A token is checked in one of three ways. If this process is the issuer's authorization server, the server is called
// directly, and a revoked token is refused at once. With introspection, each token is sent to the authorization server
// (RFC 7662). Otherwise the token must be a JWT (RFC 9068), which is checked with the issuer's keys, as user_jwt does;
// a revoked token is then accepted until it expires.
//
// The client learns where to get a token (RFC 9728) from the challenge and from the metadata document of the resource.
// This handler serves the document at /.well-known/oauth-protected-resource followed by the path of the resource, if
// the matcher of api_auth includes that path.
//
// A token that is bound to a key of its client (RFC 9449) is sent as `Authorization: DPoP …`. The header DPoP then has
// a proof, signed with that key for this request and at most a minute old. The proof's htu is the request's path at the
// origin of the first audience, or at the requested host if the audience is not an http or https URL. A proof can be
// used only once, on all nodes that share counters. A bound token that is sent as Bearer is refused, and so is a token
// that is bound in another way.
//
// Placeholders, beside {http.auth.user.id}, the claim sub:
//
//	{http.auth.user.issuer}        the claim iss
//	{http.auth.user.client_id}     the client
//	{http.auth.user.scope}         the scope of the token
//	{http.auth.user.claim.<name>}  any other claim that is a string
//
// A route that needs a stronger or a more recent sign-in has the options acr and max_age; the challenge then asks the
// client for such a sign-in (RFC 9470).
//
// Errors: 401 invalid_token, 401 insufficient_user_authentication, 403 insufficient_scope and 401 invalid_dpop_proof,
// with the challenge of RFC 6750, or that of RFC 9449 for a token that was sent as DPoP; 503 while the token cannot be
// checked.
type OAuth struct {
	// Issuer is the URL of the authorization server, which the claim iss must equal exactly. Required.
	Issuer string `json:"issuer,omitempty"`

	// Audiences are the names of this service. The claim aud must contain at least one of them. The first is the resource
	// that the metadata document describes. Required.
	Audiences []string `json:"audiences,omitempty"`

	// Scopes must all be in the token. Default: none.
	Scopes []string `json:"scopes,omitempty"`

	// ACR are authentication context classes (RFC 9470). The token must have one of them. For this product's authorization
	// server, 2 means a sign-in with two factors. Default: no class is required.
	ACR []string `json:"acr,omitempty"`

	// MaxAge limits the time since the user signed in (RFC 9470). Default: no limit.
	MaxAge caddy.Duration `json:"max_age,omitempty"`

	// JWKSURL is the URL of the issuer's keys. Default: the jwks_uri in <issuer>/.well-known/openid-configuration.
	JWKSURL string `json:"jwks_url,omitempty"`

	// Introspection makes the authorization server check each token.
	Introspection *Introspection `json:"introspection,omitempty"`

	// Algorithms are the accepted signature algorithms. Default: RS256, PS256, ES256, ES384 and EdDSA.
	Algorithms []string `json:"algorithms,omitempty"`

	// Types are the accepted values of the header typ; an empty value means that it may be absent. Default: at+jwt.
	Types []string `json:"types,omitempty"`

	// Leeway is the tolerance for clocks that differ, at most 5m. Default: 30s.
	Leeway caddy.Duration `json:"leeway,omitempty"`

	// ResourceMetadata is the URL of the metadata document, for the challenge. "off" leaves it out of the challenge and
	// serves no document. Default: the document of the first audience, which this handler serves.
	ResourceMetadata string `json:"resource_metadata,omitempty"`

	// ResourceName is the name of the service in the metadata document. Default: none.
	ResourceName string `json:"resource_name,omitempty"`

	app      *tollgate.App
	verifier jwt.Verifier         // checks JWTs; not set with Introspection
	cache    *jwt.Cache[*granted] // the users of tokens that were checked
	pooled   *jwks.Address        // key in the pool sources; nil if no source was taken from it
	resource *resource
	proofs   dpop.Verifier
}

// proofLife is how old a proof may be, and how far in the future its time may be.
const proofLife = time.Minute

// CaddyModule returns the Caddy module information.
func (*OAuth) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.authentication.providers.oauth",
		New: func() caddy.Module { return new(OAuth) },
	}
}

// Provision resolves placeholders and sets defaults. It fetches nothing.
func (o *OAuth) Provision(ctx caddy.Context) (err error) {
	if o.app, err = tollgate.From(ctx); err != nil {
		return err
	}
	o.proofs = dpop.Verifier{Lifetime: proofLife, Replays: o.app.Counters(), Prefix: "oauth:dpop:", Now: time.Now}
	return o.setUp()
}

// setUp does the part of Provision that does not need the app.
func (o *OAuth) setUp() (err error) {
	if err := o.resolve(); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = defaultAlgorithms
	}
	if len(o.Types) == 0 {
		o.Types = accessTypes
	}
	if o.Leeway == 0 {
		o.Leeway = caddy.Duration(defaultLeeway)
	}
	if o.resource, err = newResource(o); err != nil {
		return err
	}
	verify := o.verify
	if o.Introspection != nil {
		if err := o.Introspection.provision(); err != nil {
			return fmt.Errorf("introspection: %w", err)
		}
		verify = o.introspect
	} else {
		source, err := o.keys()
		if err != nil {
			return err
		}
		o.verifier = jwt.Verifier{
			Types: o.Types, Leeway: time.Duration(o.Leeway), ValidSubject: ValidUserID, Now: time.Now,
			Issuers: []*jwt.Issuer{{
				Name: o.Issuer, Audiences: o.Audiences, Algorithms: o.Algorithms, SubjectClaim: "sub", Keys: source,
			}},
		}
	}
	o.cache, err = jwt.NewCache(time.Now, verify)
	return err
}

// resolve replaces {env.*} and {file.*} in the settings.
func (o *OAuth) resolve() error {
	texts := map[string]*string{
		"issuer": &o.Issuer, "jwks_url": &o.JWKSURL, "resource_metadata": &o.ResourceMetadata,
		"resource_name": &o.ResourceName,
	}
	for i := range o.Audiences {
		texts[fmt.Sprintf("audience %d", i+1)] = &o.Audiences[i]
	}
	if i := o.Introspection; i != nil {
		texts["introspection url"], texts["client_id"], texts["client_secret"] = &i.URL, &i.ClientID, &i.ClientSecret
	}
	var errs []error
	for name, text := range texts {
		if *text == "" {
			continue
		}
		var err error
		if *text, err = placeholder.Resolve(*text); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// check returns an error for settings that contradict each other, or that would accept tokens meant for another
// service.
func (o *OAuth) check() error {
	switch {
	case o.Issuer == "":
		return errors.New("issuer is required")
	case len(o.Audiences) == 0 || slices.Contains(o.Audiences, ""):
		return errors.New("audience is required: a token made for another service must not pass here")
	case o.Introspection != nil && (o.JWKSURL != "" || len(o.Algorithms) > 0 || len(o.Types) > 0):
		return errors.New("jwks_url, algorithms and typ cannot be combined with introspection, which checks the token at the server")
	case time.Duration(o.Leeway) < 0 || time.Duration(o.Leeway) > maxLeeway:
		return fmt.Errorf("leeway must be at most %s", maxLeeway)
	}
	for _, algorithm := range o.Algorithms {
		if !slices.Contains(publicAlgorithms, algorithm) {
			return fmt.Errorf("the algorithm %q cannot be used with public keys; there are: %s",
				algorithm, strings.Join(publicAlgorithms, " "))
		}
	}
	if o.MaxAge < 0 {
		return errors.New("max_age must not be negative")
	}
	for _, class := range o.ACR {
		if !isScopeToken(class) {
			return fmt.Errorf("%q is not an authentication context class", class)
		}
	}
	for _, scope := range o.Scopes {
		if !isScopeToken(scope) {
			return fmt.Errorf("%q is not a scope", scope)
		}
	}
	return nil
}

// isScopeToken reports whether text is a scope (RFC 6749 section 3.3), and can therefore be quoted in a challenge.
func isScopeToken(text string) bool {
	return text != "" &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// keys returns the keys of the issuer, and sets pooled.
func (o *OAuth) keys() (jwks.Finder, error) {
	return pooledKeys(o.Issuer, o.JWKSURL, &o.pooled)
}

// Cleanup implements caddy.CleanerUpper. It empties the cache of checked tokens, closes idle connections to the
// introspection endpoint, and releases the issuer's keys in the pool. Requests in progress can continue.
func (o *OAuth) Cleanup() error {
	if o.cache != nil {
		o.cache.Close()
	}
	if o.Introspection != nil {
		o.Introspection.close()
	}
	return releaseKeys(o.pooled)
}

// Authenticate implements caddyauth.Authenticator.
func (o *OAuth) Authenticate(w http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	token, sentAsDPoP, err := accessTokenOf(r.Header)
	if err == nil && token == "" {
		o.resource.challenge(w, false, "", "") // without a token, the challenge has no error code
		return caddyauth.User{}, false, apierror.New(http.StatusUnauthorized, "invalid_token",
			"no access token was sent: send it as Authorization: Bearer …")
	}
	var grant *granted
	if err == nil {
		grant, err = o.find(r.Context(), token)
	}
	if err == nil {
		err = o.checkProof(r, token, sentAsDPoP, grant.key)
	}
	refuse := func(asDPoP bool, status int, code, message string) (caddyauth.User, bool, error) {
		o.resource.challenge(w, asDPoP, code, message)
		return caddyauth.User{}, false, apierror.New(status, code, "%s", message)
	}
	// An invalid proof and an invalid token have different challenges. Any other error is not about the credential: it
	// means that the token cannot be checked now.
	if proofErr, ok := errors.AsType[*dpop.Error](err); ok {
		return refuse(true, http.StatusUnauthorized, "invalid_dpop_proof", proofErr.Text)
	}
	if tokenErr, ok := errors.AsType[jwt.Error](err); ok {
		return refuse(sentAsDPoP, http.StatusUnauthorized, "invalid_token", string(tokenErr))
	}
	if err != nil {
		return caddyauth.User{}, false, err
	}
	if grant.missingScope != "" {
		return refuse(sentAsDPoP, http.StatusForbidden, "insufficient_scope",
			"the token does not have the scope "+grant.missingScope)
	}
	if message := o.signInFault(grant); message != "" {
		return refuse(sentAsDPoP, http.StatusUnauthorized, insufficientAuthentication, message)
	}
	caddyhttp.SetVar(r.Context(), userVar, grant.subject)
	return grant.user, true, nil
}

// insufficientAuthentication is the error code of RFC 9470 section 3.
const insufficientAuthentication = "insufficient_user_authentication"

// signInFault returns a message if the user's sign-in is not strong or recent enough for the options acr and max_age.
// It returns "" if the sign-in is strong and recent enough.
func (o *OAuth) signInFault(g *granted) string {
	switch acr, _ := g.subject.Claims["acr"].(string); {
	case len(o.ACR) > 0 && !slices.Contains(o.ACR, acr):
		return "a stronger sign-in is needed here"
	case o.MaxAge > 0 && time.Since(signedInAt(g.subject.Claims["auth_time"])) > time.Duration(o.MaxAge):
		return "a newer sign-in is needed here"
	}
	return ""
}

// signedInAt converts the claim auth_time to a time. It returns the zero time if there is no such claim.
func signedInAt(claim any) time.Time {
	switch seconds := claim.(type) {
	case float64:
		return time.Unix(int64(seconds), 0)
	case int64:
		return time.Unix(seconds, 0)
	case json.Number:
		n, err := seconds.Int64()
		if err != nil {
			return time.Time{}
		}
		return time.Unix(n, 0)
	}
	return time.Time{}
}

// granted is what a valid token grants: its user, if no required scope is missing.
type granted struct {
	verified
	key          string // the thumbprint of the key that the token is bound to; empty if it is not bound
	missingScope string // the first required scope that the token lacks; empty if it has all
}

// find checks a token and returns its user. If the authorization server is in this process, find calls it directly.
// Otherwise it uses the cache, which calls verify or introspect.
func (o *OAuth) find(ctx context.Context, token string) (*granted, error) {
	issuer := o.app.Issuer(o.Issuer)
	if issuer == nil {
		return o.cache.Verify(ctx, token)
	}
	claims, expires, ok, err := issuer.CheckToken(ctx, token)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errInactive
	}
	g, _, err := o.grant(claims, 0, expires) // the size does not matter, because the user is not cached
	return g, err
}

// verify checks a JWT. It returns the user, the user's approximate size in bytes, and when the token expires.
func (o *OAuth) verify(ctx context.Context, text string) (g *granted, size int64, expires time.Time, err error) {
	token, err := o.verifier.Verify(ctx, text)
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	g, size, err = o.grant(token.Claims, len(text), token.Expires)
	return g, size, token.Expires, err
}

// grant makes the user from the claims of a valid token. expires is the time at which the token expires, and encoded
// is the length of the text from which the claims were decoded. grant returns an error for the wrong issuer, audience
// or subject. A missing scope is no error, but is reported in missingScope, because the challenge for it differs.
// size is the user's approximate size in bytes.
func (o *OAuth) grant(claims map[string]any, encoded int, expires time.Time) (g *granted, size int64, err error) {
	text := func(name string) string {
		value, _ := claims[name].(string)
		return value
	}
	if issuer, ok := claims["iss"]; ok && issuer != o.Issuer { // the answer to an introspection may lack it
		return nil, 0, jwt.ErrIssuer
	}
	if !containsAudience(claims["aud"], o.Audiences) {
		return nil, 0, jwt.ErrAudience
	}
	key, err := boundKey(claims["cnf"])
	if err != nil {
		return nil, 0, err
	}
	subject := text("sub")
	if !ValidUserID(subject) {
		return nil, 0, jwt.ErrSubject
	}
	g = &granted{key: key}
	g.verified, size = newVerified(&User{ID: subject, Issuer: o.Issuer, Expires: expires, Claims: claims},
		map[string]string{"client_id": text("client_id"), "scope": text("scope")}, encoded)
	scopes := strings.Fields(text("scope"))
	if i := slices.IndexFunc(o.Scopes, func(scope string) bool { return !slices.Contains(scopes, scope) }); i >= 0 {
		g.missingScope = o.Scopes[i]
	}
	return g, size, nil
}

// containsAudience reports whether the claim aud, a string or a list, contains one of the audiences.
func containsAudience(aud any, audiences []string) bool {
	switch aud := aud.(type) {
	case string:
		return slices.Contains(audiences, aud)
	case []any:
		return slices.ContainsFunc(aud, func(element any) bool {
			text, ok := element.(string)
			return ok && slices.Contains(audiences, text)
		})
	case []string:
		return slices.ContainsFunc(aud, func(name string) bool { return slices.Contains(audiences, name) })
	}
	return false
}

// Interface guards
var (
	_ caddy.Provisioner       = (*OAuth)(nil)
	_ caddy.CleanerUpper      = (*OAuth)(nil)
	_ caddyauth.Authenticator = (*OAuth)(nil)
)
