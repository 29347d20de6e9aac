// Package exchange implements the token-exchange grant type (RFC 8693). A client exchanges an access token of this
// server for another access token: with fewer scopes, for another resource, or with the claim act, which names the
// party that acts for the subject.
//
// A token from an exchange depends on the tokens from which it was exchanged and on the consents of its user. If one of
// these tokens or consents ends, the new token ends too; see package tokens.
package exchange

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
)

// The supported token types (RFC 8693 section 3). This server treats both in the same way.
const (
	AccessToken = "urn:ietf:params:oauth:token-type:access_token" //nolint:gosec // G101: a type
	JWT         = "urn:ietf:params:oauth:token-type:jwt"
)

// The kinds of exchanges in the metrics.
const (
	Impersonation = "impersonation" // a client's own token, without a further actor
	Delegation    = "delegation"
	Brokered      = "broker" // for a token of an upstream provider
)

// Options are the settings of Exchange. Clients, Catalog, Tokens and Consents are required.
type Options struct {
	Clients  *clients.Clients
	Catalog  *resources.Catalog
	Tokens   *tokens.Tokens
	Consents *consent.Consents
	// Upstream provides the tokens of broker resources. If it is nil, such exchanges are refused.
	Upstream Upstream

	// Self permits a client to exchange its own token without naming a resource. The consents of the user are not
	// checked in that case.
	Self bool
	// Depth is the maximum number of nested actors in a token. Default: 5.
	Depth int
	// Life is the maximum life of a token. Default: 1 hour. A token never outlives the token from which it was
	// exchanged.
	Life time.Duration
}

// Upstream provides the tokens of broker resources.
type Upstream interface {
	// Exchange returns a token for the given scopes, which are scopes of this server. The token comes from the user's
	// connection to the broker provider of the resource. If the user has no connection, or too few scopes were granted,
	// the error is a *kernel.ConsentError.
	Exchange(ctx context.Context, user string, r *resources.Resource, scope []string) (tokens.Answer, error)
}

// Exchange implements the grant.
type Exchange struct {
	*kernel.Server
	options Options
}

// New returns an Exchange.
func New(s *kernel.Server, o Options) *Exchange {
	if o.Depth == 0 {
		o.Depth = 5
	}
	if o.Life == 0 {
		o.Life = time.Hour
	}
	return &Exchange{s, o}
}

// Request is a request for an exchange (RFC 8693 section 2.1).
type Request struct {
	Client               *clients.Client // the authenticated client
	Subject, SubjectType string
	Actor, ActorType     string
	RequestedType        string
	Resources            []string // URIs or slugs, of the parameters resource and audience
	Scope                string
	JKT                  string // the thumbprint of the key in the DPoP proof; empty if there was none

	// The methods of Exchange set the other fields, in the order in which it calls them.
	subject, actor *tokens.Claims        // of the tokens; actor is nil without an actor token
	self           bool                  // the subject token was issued to this client
	user           string                // the id of the subject token's user; empty if the subject is not a user
	targets        []*resources.Resource // the resources of the new token
	scope          []string              // of the new token
	consents       []string              // the ids of the consents, in the order of targets
	act            []byte                // the claim act; empty for an impersonation
	agentChain     []string              // the claim agent_chain
}

// Result is the issued token, with details for the audit feed.
type Result struct {
	tokens.Answer
	Kind    string
	Subject string // the claim sub
	JTI     string // of the new token; empty for a token of an upstream provider
	Parent  string // the claim jti of the subject token
	Depth   int    // the number of actors in the claim act
}

// Exchange exchanges a token. If it returns an error, it has changed nothing.
func (x *Exchange) Exchange(ctx context.Context, r Request) (result Result, err error) {
	if err := x.checkParameters(&r); err != nil {
		return result, err
	}
	for _, check := range [...]func(context.Context, *Request) error{x.verifyTokens, x.setTargets, x.checkPermitted} {
		if err := check(ctx, &r); err != nil {
			return result, err
		}
	}
	result.Subject, result.Parent = r.subject.Subject, r.subject.ID
	if r.brokered() {
		result.Kind = Brokered
		result.Answer, err = x.exchangeUpstream(ctx, &r)
		return result, err
	}
	for _, check := range [...]func(context.Context, *Request) error{x.setScope, x.checkConsents, x.setActors} {
		if err := check(ctx, &r); err != nil {
			return result, err
		}
	}
	result.Kind, result.Depth = Delegation, depth(r.act)
	if r.newActor() == nil {
		result.Kind = Impersonation
	}
	result.Answer, result.JTI, err = x.options.Tokens.Exchange(ctx, tokens.Order{
		Client: r.Client, Subject: r.subject.Subject, Scope: r.scope, Resources: r.targets, JKT: r.JKT, Act: r.act,
		Chain: r.agentChain, Life: x.options.Life,
	}, r.subject, r.consents)
	result.IssuedType = AccessToken
	return result, err
}

// checkParameters checks the parameters of a request, except for the tokens in them.
func (x *Exchange) checkParameters(r *Request) error {
	refuse := func(format string, args ...any) error {
		return kernel.Refuse(kernel.InvalidRequest, format, args...)
	}
	switch {
	case r.Client.Public():
		return kernel.Refuse(kernel.UnauthorizedClient, "a public client must not use the grant %s", clients.GrantExchange)
	case r.Subject == "":
		return refuse("subject_token is required")
	case !supported(r.SubjectType):
		return refuse("subject_token_type must be %s or %s", AccessToken, JWT)
	case r.Actor == "" && r.ActorType != "":
		return refuse("actor_token_type must not be sent without actor_token")
	case r.Actor != "" && !supported(r.ActorType):
		return refuse("actor_token_type must be %s or %s", AccessToken, JWT)
	case r.RequestedType != "" && !supported(r.RequestedType):
		return refuse("requested_token_type must be %s or %s", AccessToken, JWT)
	}
	return nil
}

// supported reports whether this server supports a token type.
func supported(kind string) bool { return kind == AccessToken || kind == JWT }

// verifyTokens verifies the tokens of a request. If a token is bound to a key, verifyTokens also checks that the
// request has a proof of that key.
func (x *Exchange) verifyTokens(ctx context.Context, r *Request) (err error) {
	if r.subject, err = x.verifyToken(ctx, "subject_token", r.Subject); err != nil {
		return err
	}
	r.user = r.subject.User()
	r.self = r.subject.Client == r.Client.ID
	if r.Actor != "" {
		if r.actor, err = x.verifyToken(ctx, "actor_token", r.Actor); err != nil {
			return err
		}
		if r.actor.Client != r.Client.ID {
			return kernel.Refuse(kernel.InvalidGrant, "the actor_token was issued to another client")
		}
		if jkt := r.actor.Confirm.JKT; jkt != "" && jkt != r.JKT {
			return kernel.Refuse(kernel.InvalidProof, "the actor_token is bound to a key: a DPoP proof of that key is required")
		}
	}
	if jkt := r.subject.Confirm.JKT; jkt != "" && jkt != r.JKT {
		return kernel.Refuse(kernel.InvalidProof, "the subject_token is bound to a key: a DPoP proof of that key is required")
	}
	return nil
}

// verifyToken returns the claims of a token in the request. The error is invalid_grant if the token is invalid, or if
// its subject is a user of an identity provider who has no account here. The error message contains name, the name of
// the request parameter.
func (x *Exchange) verifyToken(ctx context.Context, name, text string) (*tokens.Claims, error) {
	c, _, ok, err := x.options.Tokens.Live(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, kernel.Refuse(kernel.InvalidGrant, "the %s is not a valid access token of this server", name)
	case c.Foreign():
		// Only the policies for assertions decide about the access of such a user.
		return nil, kernel.Refuse(kernel.InvalidGrant,
			"the subject of the %s is a user of an external identity provider and has no account at this server", name)
	}
	return c, nil
}

// setTargets sets the resources of the new token: those that the request names, or else those of the subject token.
func (x *Exchange) setTargets(ctx context.Context, r *Request) (err error) {
	names := r.Resources
	if len(names) == 0 {
		names = slices.DeleteFunc(slices.Clone([]string(r.subject.Audience)),
			func(name string) bool { return name == x.Issuer })
	}
	if r.targets, err = x.options.Catalog.Resolve(ctx, names); err != nil {
		return err
	}
	if len(r.targets) > 1 && r.brokered() {
		return kernel.Refuse(kernel.InvalidTarget, "a broker resource must be the only resource of the request")
	}
	return nil
}

// brokered reports whether the request names a broker resource and so requests a token of its provider. A request that
// names no resource only narrows the subject token.
func (r *Request) brokered() bool {
	return len(r.Resources) > 0 &&
		slices.ContainsFunc(r.targets, func(t *resources.Resource) bool { return t.Kind == resources.Broker })
}

// checkPermitted checks that the client may exchange the subject token. If the request names resources, a client may
// exchange its own token, unless the policy of a resource lists only other clients. It may exchange another client's
// token if each policy lists it, as a client that may exchange tokens or as one that serves the resource. Without a
// resource, a client may exchange only its own token, and only if Options.Self is set.
func (x *Exchange) checkPermitted(_ context.Context, r *Request) error {
	if len(r.Resources) == 0 {
		switch {
		case !r.self:
			return kernel.Refuse(kernel.AccessDenied,
				"resource or audience is required to exchange the token of another client")
		case !x.options.Self:
			return kernel.Refuse(kernel.AccessDenied,
				"resource or audience is required: this server does not let clients exchange their own tokens without it")
		}
		return nil
	}
	for _, t := range r.targets {
		allowed := t.Policy.Exchange.AllowedClientIDs
		permitted := slices.Contains(allowed, r.Client.ID)
		if !permitted && r.self {
			permitted = len(allowed) == 0 // without a list, clients may exchange their own tokens
		} else if !permitted {
			permitted = slices.Contains(t.Policy.Runtime.ClientIDs, r.Client.ID) // the client serves the resource
		}
		if !permitted {
			return kernel.Refuse(kernel.AccessDenied, "the policy of the resource %s does not allow this client to exchange tokens",
				t.Slug)
		}
	}
	return nil
}

// setScope sets the scope of the new token: the requested scopes that the subject token has and that the targets
// declare.
func (x *Exchange) setScope(_ context.Context, r *Request) error {
	subjectScope := strings.Fields(r.subject.Scope)
	requested, err := resources.ParseScope(r.Scope)
	if err != nil {
		return err
	}
	// Without a requested resource, the new token may have each scope of the subject token.
	declared := func(word string) bool {
		return len(r.Resources) == 0 ||
			slices.ContainsFunc(r.targets, func(t *resources.Resource) bool { return slices.Contains(t.Names(), word) })
	}
	if len(requested) == 0 {
		for _, word := range subjectScope {
			if declared(word) {
				r.scope = append(r.scope, word)
			}
		}
	}
	for _, word := range requested {
		switch {
		case !slices.Contains(subjectScope, word):
			return kernel.Refuse(kernel.InvalidScope, "the subject_token does not have the scope %s", word)
		case !declared(word):
			return kernel.Refuse(kernel.InvalidScope, "none of the requested resources declares the scope %s", word)
		}
		r.scope = append(r.scope, word)
	}
	if len(r.scope) == 0 {
		return kernel.Refuse(kernel.InvalidScope,
			"the resources of the request declare none of the scopes of the subject_token")
	}
	return nil
}
