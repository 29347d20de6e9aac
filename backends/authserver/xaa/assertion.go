package xaa

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
)

// Type is the header typ of an assertion.
const Type = "oauth-id-jag+jwt"

// Algorithms are the signature algorithms accepted for assertions.
var Algorithms = []string{"ES256", "RS256", "PS256", "EdDSA"}

const (
	// maxJTI is the maximum length of the claim jti.
	maxJTI = 256
	// maxActors is the maximum length of the chain of actors in an assertion.
	maxActors = 10
)

// Request is a token request with an assertion (RFC 7523 section 2.1).
type Request struct {
	Client    *clients.Client // the authenticated client
	Assertion string
	Scope     string
	Resources []string // URIs or slugs
	JKT       string   // the key of the DPoP proof; empty if there was none
}

// Result is the issued token, with details for the audit feed.
type Result struct {
	tokens.Answer
	Subject string // the subject of the token
	IdP     string // the id of the identity provider that issued the assertion
}

// assertion is an assertion whose signature, times and audience have been checked.
type assertion struct {
	idp         *IdP
	subject     string
	tenant      string // the claim tenant; may be empty
	jti         string
	usableUntil time.Time       // when it becomes too old to be accepted, or expires
	act         json.RawMessage // the claim act, reduced by reduceActors; nil if it has none
	scope       []string        // nil if it has no scope
	resource    []string        // URIs or slugs; nil if it names no resource
	jkt         string          // the thumbprint of the key that it is bound to; empty if there is no binding
}

// refuseGrant returns the error invalid_grant.
func refuseGrant(format string, args ...any) error {
	return kernel.Refuse(kernel.InvalidGrant, format, args...)
}

// Redeem issues an access token for an assertion, which can be used once.
func (x *XAA) Redeem(ctx context.Context, r Request) (result Result, err error) {
	trusted, err := x.snapshots.Get(ctx, "")
	if err != nil {
		return result, err
	}
	a, err := x.verify(ctx, trusted, r)
	if err != nil {
		return result, err
	}
	targets, err := x.targets(ctx, a, r)
	if err != nil {
		return result, err
	}
	permitted, err := permittedScopes(trusted.policies[a.idp.ID], r.Client.ID, targets)
	if err != nil {
		return result, err
	}
	scope, err := x.grantedScope(ctx, a, r, targets, permitted)
	if err != nil {
		return result, err
	}
	subject, err := x.tokenSubject(ctx, a)
	if err != nil {
		return result, err
	}
	order := tokens.Order{
		Client: r.Client, Subject: subject, Scope: scope, Resources: targets, JKT: r.JKT, Act: actClaim(a),
		Life: x.options.Life,
	}
	result.Answer, err = x.options.Tokens.Assert(ctx, order, func() error { return x.spend(ctx, a) })
	result.Subject, result.IdP = subject, a.idp.ID
	return result, err
}

// verify checks everything that depends only on the assertion, its issuer and its client: the signature, the times, the
// audience and the claims.
func (x *XAA) verify(ctx context.Context, trusted *snapshot, r Request) (*assertion, error) {
	issuer, ok := jwt.Unverified(r.Assertion, "iss")
	idp := trusted.idps[issuer]
	if !ok || idp == nil || !idp.Enabled {
		return nil, refuseGrant("the issuer of the assertion is not a trusted identity provider")
	}
	audience := idp.Audience
	if audience == "" {
		audience = x.Issuer
	}
	verifier := jwt.Verifier{
		Issuers: []*jwt.Issuer{{
			Name: issuer, Audiences: []string{audience}, SoleAudience: true, Algorithms: Algorithms,
			SubjectClaim: "sub", Keys: x.keySource(idp),
		}},
		Types: []string{Type}, Leeway: kernel.Skew, Now: x.Now,
		ValidSubject: func(s string) bool {
			return s != "" && len(s) <= maxSubject && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
		},
	}
	token, err := verifier.Verify(ctx, r.Assertion)
	if invalid, ok := errors.AsType[jwt.Error](err); ok {
		return nil, refuseGrant("the assertion is invalid: %s", invalid)
	}
	if refusal, ok := apierror.From(err); ok { // the keys could not be fetched
		return nil, errors.Join(kernel.Refuse(kernel.Unavailable,
			"the keys of the identity provider cannot be fetched right now, try again shortly"), refusal.Cause)
	}
	if err != nil {
		return nil, err
	}
	a := &assertion{idp: idp, subject: token.Subject}
	return a, x.checkClaims(a, token, r)
}

// checkClaims checks the claims that are specific to an ID-JAG, and stores them in the assertion a.
func (x *XAA) checkClaims(a *assertion, token *jwt.Token, r Request) error {
	claims, now := token.Claims, x.Now()
	if id, _ := claims["client_id"].(string); id != r.Client.ID {
		return refuseGrant("the client_id of the assertion is not that of the client")
	}
	if a.jti, _ = claims["jti"].(string); a.jti == "" || len(a.jti) > maxJTI {
		return refuseGrant("the assertion must have a jti of at most %d characters", maxJTI)
	}
	issued, ok := claims["iat"].(float64)
	if !ok {
		return refuseGrant("the assertion has no claim iat, or it is not a number")
	}
	if !now.Before(token.Expires) {
		return refuseGrant("the assertion has expired")
	}
	a.usableUntil = time.Unix(int64(issued), 0).Add(x.options.MaxAge)
	if now.After(a.usableUntil) {
		return refuseGrant("the assertion is too old")
	}
	if token.Expires.Before(a.usableUntil) {
		a.usableUntil = token.Expires
	}
	if a.tenant, ok = optionalString(claims["tenant"]); !ok {
		return refuseGrant("the tenant of the assertion must be a string of at most %d bytes", maxURI)
	}
	scopeText, ok := optionalString(claims["scope"])
	if !ok {
		return refuseGrant("the scope of the assertion must be a string of at most %d bytes", maxURI)
	}
	if scopeText != "" {
		words, err := resources.ParseScope(scopeText)
		if err != nil {
			return refuseGrant("the scope of the assertion is invalid")
		}
		a.scope = append([]string{}, words...) // not nil, even if there are only spaces
	}
	if a.resource, ok = optionalStrings(claims["resource"]); !ok {
		return refuseGrant("the resource of the assertion must be a string or a non-empty array of strings")
	}
	if a.act, ok = reduceActors(claims["act"], 0); !ok {
		return refuseGrant("the act of the assertion must be a chain of at most %d actors", maxActors)
	}
	if confirm, exists := claims["cnf"]; exists {
		members, _ := confirm.(map[string]any)
		if a.jkt, _ = members["jkt"].(string); a.jkt == "" {
			return refuseGrant("the cnf of the assertion must have a jkt; other bindings are not supported")
		}
		if a.jkt != r.JKT {
			return kernel.Refuse(kernel.InvalidProof, "the assertion is bound to a key, but the request has no DPoP proof for that key")
		}
	}
	return nil
}

// optionalString returns an optional string claim, or "" if the claim is missing. It returns false for a claim that has
// another type, is too long or contains NUL.
func optionalString(claim any) (string, bool) {
	if claim == nil {
		return "", true
	}
	text, ok := claim.(string)
	return text, ok && len(text) <= maxURI && strings.IndexByte(text, 0) < 0
}

// optionalStrings returns an optional claim that is a string or a non-empty array of strings, or nil if the claim is
// missing. It returns false for any other claim.
func optionalStrings(claim any) (list []string, ok bool) {
	switch claim := claim.(type) {
	case nil:
		return nil, true
	case string:
		return []string{claim}, true
	case []any:
		for _, item := range claim {
			text, ok := item.(string)
			if !ok {
				return nil, false
			}
			list = append(list, text)
		}
		return list, len(list) > 0
	}
	return nil, false
}

// reduceActors returns the claim act of an assertion (RFC 8693 section 4.1), reduced to the members that identify
// actors, or nil if the claim is missing. The depth is the number of actors around this one. It returns false if the
// claim is invalid or nested too deeply.
func reduceActors(claim any, depth int) (json.RawMessage, bool) {
	if claim == nil {
		return nil, true
	}
	members, ok := claim.(map[string]any)
	if !ok || depth == maxActors {
		return nil, false
	}
	reduced := make(map[string]any)
	for _, name := range []string{"sub", "iss", "client_id", "actor_type"} {
		text, ok := optionalString(members[name])
		if !ok {
			return nil, false
		}
		if text != "" {
			reduced[name] = text
		}
	}
	inner, ok := reduceActors(members["act"], depth+1)
	if inner != nil {
		reduced["act"] = inner
	}
	return encode(reduced), ok
}

// actClaim returns the claim act of the new token. The outermost actor is the identity provider, followed by the actors
// of the assertion.
func actClaim(a *assertion) json.RawMessage {
	act := map[string]any{"sub": a.idp.Issuer}
	if a.act != nil {
		act["act"] = a.act
	}
	return encode(act)
}

// encode returns the JSON form of a value in a token.
func encode(v any) json.RawMessage {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // texts can be encoded
	}
	return bytes.TrimSpace(out.Bytes())
}

// targets returns the resources of the new token: the resources that the request names, or else those of the assertion.
// If both name resources, the resources of the request must be among those of the assertion.
func (x *XAA) targets(ctx context.Context, a *assertion, r Request) ([]*resources.Resource, error) {
	asserted, err := x.options.Catalog.Resolve(ctx, a.resource)
	if err != nil {
		return nil, err
	}
	targets, err := x.options.Catalog.Resolve(ctx, r.Resources)
	if err != nil {
		return nil, err
	}
	isAsserted := func(target *resources.Resource) bool {
		// The resources are compared by id, since the catalog may have been reloaded between the two calls of Resolve.
		return slices.ContainsFunc(asserted, func(r *resources.Resource) bool { return r.ID == target.ID })
	}
	if len(targets) == 0 {
		targets = asserted
	}
	for _, target := range targets {
		if len(asserted) > 0 && !isAsserted(target) {
			return nil, kernel.Refuse(kernel.InvalidTarget, "the assertion is for another resource")
		}
	}
	if len(targets) == 0 && x.options.RequireResource {
		return nil, kernel.Refuse(kernel.InvalidTarget, "neither the assertion nor the request names a resource")
	}
	for _, target := range targets {
		if target.Kind != resources.Mint {
			return nil, kernel.Refuse(kernel.InvalidTarget, "this server does not issue tokens for the resource")
		}
	}
	return targets, nil
}

// permittedScopes returns the scopes that the policies of an identity provider permit to a client at the target
// resources. A nil result permits any scope: there are no policies, or a policy that applies does not limit the scopes.
// If there are policies but none applies, the error is access_denied.
func permittedScopes(policies []*Policy, client string, targets []*resources.Resource) (scopes []string, err error) {
	applicable := 0
	for _, p := range policies {
		if !p.Enabled || len(p.ClientIDs) > 0 && !slices.Contains(p.ClientIDs, client) || !p.covers(targets) {
			continue
		}
		if len(p.Scopes) == 0 {
			return nil, nil
		}
		applicable++
		scopes = append(scopes, p.Scopes...)
	}
	if len(policies) > 0 && applicable == 0 {
		return nil, kernel.Refuse(kernel.AccessDenied,
			"no policy permits the client to use assertions of this identity provider for the resource")
	}
	return scopes, nil
}

// covers reports whether a policy applies to all of the target resources. A policy without resources applies to every
// request, and a policy with resources only to requests that name targets.
func (p *Policy) covers(targets []*resources.Resource) bool {
	if len(p.Resources) == 0 {
		return true
	}
	for _, r := range targets {
		isTarget := func(name string) bool {
			return name == r.ID || name == r.Slug || r.URI != "" && kernel.SameURI(name, r.URI)
		}
		if !slices.ContainsFunc(p.Resources, isTarget) {
			return false
		}
	}
	return len(targets) > 0
}

// grantedScope returns the scope of the new token. It starts from the scopes of the target resources, or from all
// scopes of the catalog if there are no target resources. It keeps the scopes that the client, the policies (see
// permittedScopes), the request and the assertion all allow.
func (x *XAA) grantedScope(
	ctx context.Context, a *assertion, r Request, targets []*resources.Resource, permitted []string,
) (scope []string, err error) {
	requested, err := resources.ParseScope(r.Scope)
	if err != nil {
		return nil, err
	}
	if scope, err = x.options.Catalog.Scopes(ctx); err != nil {
		return nil, err
	}
	if len(targets) > 0 {
		scope = nil
		for _, target := range targets {
			scope = append(scope, target.Names()...)
		}
	}
	for _, allowed := range [][]string{x.options.Clients.Ceiling(r.Client), permitted, requested} {
		scope = resources.Cut(scope, allowed) // an empty list allows everything
	}
	// DeleteFunc changes its argument, so scope is cloned: it may be a list of the catalog, which other requests read.
	if a.scope != nil {
		scope = slices.DeleteFunc(slices.Clone(scope), func(word string) bool { return !slices.Contains(a.scope, word) })
	}
	seen := make(map[string]bool, len(scope)) // several resources may declare the same scope
	scope = slices.DeleteFunc(slices.Clone(scope), func(word string) bool {
		duplicate := seen[word]
		seen[word] = true
		return duplicate
	})
	if len(scope) == 0 && (len(requested) > 0 || a.scope != nil) {
		return nil, kernel.Refuse(kernel.InvalidScope,
			"none of the requested scopes may be granted for this assertion")
	}
	return scope, nil
}

// tokenSubject returns the subject of the new token: the user to whom the subject of the assertion is mapped or, unless
// Options.Strict is set, a foreign subject that begins with the issuer.
func (x *XAA) tokenSubject(ctx context.Context, a *assertion) (string, error) {
	user, err := x.userOf(ctx, a.idp.ID, a.subject)
	if err != nil {
		return "", err
	}
	if user != "" {
		active, err := x.options.Active(ctx, user)
		if err == nil && !active {
			err = refuseGrant("the user to whom the subject of the assertion is mapped is not active")
		}
		return user, err
	}
	if x.options.Strict {
		return "", kernel.Refuse(kernel.AccessDenied, "the subject of the assertion is not mapped to a user")
	}
	if a.tenant != "" {
		return a.idp.Issuer + ":" + a.tenant + ":" + a.subject, nil
	}
	return a.idp.Issuer + ":" + a.subject, nil
}

// spend marks an assertion as used, on all nodes. If it has been used before, the error is invalid_grant.
func (x *XAA) spend(ctx context.Context, a *assertion) error {
	digest := sha256.New()
	digest.Write([]byte(a.idp.Issuer + "\x00" + a.jti))
	isFirstUse, err := x.Counters.SetNX(ctx, "authserver:idjag:"+hex.EncodeToString(digest.Sum(nil)),
		a.usableUntil.Sub(x.Now())+time.Second)
	if err == nil && !isFirstUse {
		err = refuseGrant("the assertion was used before")
	}
	return err
}
