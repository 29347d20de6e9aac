package exchange

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
)

// checkConsents checks that the user has consented to the scope at each target, and stores the ids of the consents in
// r. The consents must belong to the client at which the user signed in, however many clients have exchanged the
// token since. The check does not apply to a client that exchanges its own token, if that is permitted; see
// Options.Self.
func (x *Exchange) checkConsents(ctx context.Context, r *Request) error {
	if r.user == "" || r.self && x.options.Self {
		return nil
	}
	consents, err := x.consents(ctx, r)
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		id, err := x.checkCovered(consents, t, intersect(r.scope, t.Names()))
		if err != nil {
			return err
		}
		r.consents = append(r.consents, id)
	}
	return nil
}

// consents returns the user's consents to the client at which the user signed in.
func (x *Exchange) consents(ctx context.Context, r *Request) ([]consent.Grant, error) {
	root, err := x.options.Clients.Find(ctx, r.subject.Root())
	if errors.Is(err, clients.ErrUnknown) || err == nil && !root.Active() {
		return nil, kernel.Refuse(kernel.InvalidGrant, "the client at which the user signed in was deleted or suspended")
	}
	if err != nil {
		return nil, err
	}
	return x.options.Consents.Between(ctx, r.user, root)
}

// checkCovered searches the given consents for the one that covers a scope of a resource, and returns its id. If no
// consent covers the scope, the error is a *kernel.ConsentError.
func (x *Exchange) checkCovered(
	consents []consent.Grant, t *resources.Resource, scope []string,
) (id string, err error) {
	index := consent.IndexOf(consents, t.ID)
	if index < 0 {
		return "", x.consentError(kernel.ConsentMissing, t, scope)
	}
	missing := slices.DeleteFunc(slices.Clone(scope),
		func(word string) bool { return slices.Contains(consents[index].Scope, word) })
	if len(missing) > 0 {
		return "", x.consentError(kernel.ScopeInsufficient, t, missing)
	}
	return consents[index].ID, nil
}

// consentError returns the error for scopes of a resource to which the user has not consented. The cause is one of
// those of kernel.ConsentError.
func (x *Exchange) consentError(cause string, t *resources.Resource, missing []string) error {
	ask := url.Values{"resource": {t.Slug}, "scope": {strings.Join(missing, " ")}}
	return kernel.RequireConsent(cause, x.Issuer+authorizePath+"?"+ask.Encode(),
		"the user has not granted the requested scopes for the resource %s; send the user to consent_url", t.Slug)
}

// authorizePath is the path of the authorization endpoint.
const authorizePath = "/oauth/authorize"

// exchangeUpstream exchanges the token for a token of a broker provider, from the user's connection. The scope is
// limited to the user's consents to the client.
func (x *Exchange) exchangeUpstream(ctx context.Context, r *Request) (answer tokens.Answer, err error) {
	target := r.targets[0]
	switch {
	case x.options.Upstream == nil:
		return answer, kernel.Refuse(kernel.InvalidTarget, "the resource %s has no provider here", target.Slug)
	case r.actor != nil:
		return answer, kernel.Refuse(kernel.InvalidRequest, "actor_token is not supported for a broker resource")
	case r.user == "":
		return answer, kernel.Refuse(kernel.InvalidGrant,
			"the subject of the subject_token must be a user, since only users can connect to the provider of a broker resource")
	}
	scope, err := resources.ParseScope(r.Scope)
	if err != nil {
		return answer, err
	}
	for _, word := range scope {
		if !slices.Contains(target.Names(), word) {
			return answer, kernel.Refuse(kernel.InvalidScope, "the resource %s does not declare the scope %s", target.Slug, word)
		}
	}
	consents, err := x.consents(ctx, r)
	if err != nil {
		return answer, err
	}
	if len(scope) == 0 { // the request names no scope: use all that the user has granted
		if index := consent.IndexOf(consents, target.ID); index >= 0 {
			scope = intersect(consents[index].Scope, target.Names())
		}
	}
	// This is checked even for an empty scope: if there is no consent at all, the error asks for one.
	if _, err := x.checkCovered(consents, target, scope); err != nil {
		return answer, err
	}
	if len(scope) == 0 {
		return answer, kernel.Refuse(kernel.InvalidScope,
			"the user has granted none of the scopes that the resource %s declares", target.Slug)
	}
	if answer, err = x.options.Upstream.Exchange(ctx, r.user, target, scope); err != nil {
		return answer, err
	}
	answer.Scope, answer.IssuedType = strings.Join(scope, " "), AccessToken
	return answer, nil
}

// intersect returns the scopes of a that are also in b, in the order of a.
func intersect(a, b []string) (common []string) {
	for _, scope := range a {
		if slices.Contains(b, scope) {
			common = append(common, scope)
		}
	}
	return common
}
