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

// granted checks the user's consents for each target. They must belong to the client at which the user signed in,
// however many clients have exchanged the token since. The check does not apply to a client that exchanges its own
// token, if that is permitted; see Options.Self.
func (x *Exchange) granted(ctx context.Context, r *Request) error {
	if r.person == "" || r.self && x.options.Self {
		return nil
	}
	needs := make([]consent.Need, len(r.targets))
	for i, t := range r.targets {
		needs[i] = consent.Need{Resource: t.ID, Scope: intersect(r.scope, t.Names())}
	}
	found, err := x.consents(ctx, r)
	if err != nil {
		return err
	}
	for i, need := range needs {
		ids, err := x.covered(found, r.targets[i], need.Scope)
		if err != nil {
			return err
		}
		r.consents = append(r.consents, ids)
	}
	return nil
}

// consents returns the user's consents to the client at which the user signed in.
func (x *Exchange) consents(ctx context.Context, r *Request) ([]consent.Grant, error) {
	root, err := x.options.Clients.Find(ctx, r.subject.Root())
	if errors.Is(err, clients.ErrUnknown) || err == nil && !root.Active() {
		return nil, kernel.Refuse(kernel.InvalidGrant, "the client at which the person signed in is not active any more")
	}
	if err != nil {
		return nil, err
	}
	return x.options.Consents.Between(ctx, r.person, root)
}

// covered returns the id of the consent, among those found, that covers a scope of a resource. If no consent covers it,
// the error is a *kernel.ConsentError.
func (x *Exchange) covered(found []consent.Grant, t *resources.Resource, scope []string) (id string, err error) {
	index := slices.IndexFunc(found, func(g consent.Grant) bool { return g.Resource == t.ID })
	if index < 0 {
		return "", x.lacking(kernel.ConsentMissing, t, scope)
	}
	missing := slices.DeleteFunc(slices.Clone(scope),
		func(word string) bool { return slices.Contains(found[index].Scope, word) })
	if len(missing) > 0 {
		return "", x.lacking(kernel.ScopeInsufficient, t, missing)
	}
	return found[index].ID, nil
}

func (x *Exchange) lacking(cause string, t *resources.Resource, missing []string) error {
	ask := url.Values{"resource": {t.Slug}, "scope": {strings.Join(missing, " ")}}
	return kernel.RequireConsent(cause, x.Issuer+authorizePath+"?"+ask.Encode(),
		"the person has not granted this for the resource %s; send them to consent_url", t.Slug)
}

// authorizePath is the path of the authorization endpoint.
const authorizePath = "/oauth/authorize"

// upstream exchanges the token for a token of a broker provider, from the user's connection. The scope is limited to
// the user's consents to the client.
func (x *Exchange) upstream(ctx context.Context, r *Request) (answer tokens.Answer, err error) {
	target := r.targets[0]
	switch {
	case x.options.Upstream == nil:
		return answer, kernel.Refuse(kernel.InvalidTarget, "the resource %s has no provider here", target.Slug)
	case r.actor != nil:
		return answer, kernel.Refuse(kernel.InvalidRequest, "a broker resource takes no actor_token")
	case r.person == "":
		return answer, kernel.Refuse(kernel.InvalidGrant,
			"the subject_token is not about a person, who alone can have a connection")
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
	found, err := x.consents(ctx, r)
	if err != nil {
		return answer, err
	}
	if len(scope) == 0 {
		if index := slices.IndexFunc(found, func(g consent.Grant) bool { return g.Resource == target.ID }); index >= 0 {
			scope = intersect(found[index].Scope, target.Names())
		}
	}
	if _, err := x.covered(found, target, scope); err != nil {
		return answer, err
	}
	if len(scope) == 0 {
		return answer, kernel.Refuse(kernel.InvalidScope, "the person has granted nothing that the resource %s declares",
			target.Slug)
	}
	if answer, err = x.options.Upstream.Exchange(ctx, r.person, target, scope); err != nil {
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
