package admin

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
)

// checkTimeout is the time limit for checking all providers.
const checkTimeout = 10 * time.Second

// upstream is the response about a provider at which people sign in.
type upstream struct {
	Slug                string   `json:"slug"` // empty for the provider of the section oidc
	DisplayName         string   `json:"display_name"`
	Issuer              string   `json:"issuer"`
	ClientID            string   `json:"client_id"`
	RedirectURI         string   `json:"redirect_uri"`
	Hidden              bool     `json:"hidden"`
	Domains             []string `json:"domains"`
	Registration        bool     `json:"registration"`
	RegistrationDomains []string `json:"registration_domains"`
	// Users is the number of connected users.
	Users int64 `json:"users"`
	// LastSignIn is the time of the last sign-in by a currently connected user. LastFailure is the last refused sign-in
	// in the audit feed.
	LastSignIn  string           `json:"last_sign_in_at,omitempty"`
	LastFailure *upstreamFailure `json:"last_failure,omitempty"`
	// Discovery is "ok" or "failed". Error is the reason of the failure.
	Discovery string `json:"discovery"`
	Error     string `json:"error,omitempty"`
	// The following members are from the discovery document and the key set.
	AuthorizationEndpoint string `json:"authorization_endpoint,omitempty"`
	TokenEndpoint         string `json:"token_endpoint,omitempty"`
	Keys                  int    `json:"keys"`
	TellsIssuer           bool   `json:"tells_issuer"` // whether its authorization responses contain iss (RFC 9207)
}

// upstreamFailure is the response about a sign-in that a provider or this server refused.
type upstreamFailure struct {
	At string `json:"at"`
	// Reason is the reason code, followed by the cause if that is known. The cause may quote the provider's response.
	Reason string `json:"reason"`
	User   string `json:"user_id,omitempty"`
}

// The actions in the audit feed for sign-ins at providers, and the number of recent events of each action that are
// searched.
const (
	upstreamLogin       = "user.oidc_login"
	upstreamLoginFailed = "user.oidc_login_failed"
	maxSearched         = 500
)

// upstreams returns the providers at which people sign in. It fetches the discovery document and the keys of each
// provider.
func (a *API) upstreams(c *call) (any, error) {
	uses, err := a.SignsIn.Used(c.R.Context()) // by issuer
	if err != nil {
		return nil, err
	}
	succeeded, err := a.lastByUpstream(c.R.Context(), upstreamLogin)
	if err != nil {
		return nil, err
	}
	failures, err := a.lastByUpstream(c.R.Context(), upstreamLoginFailed)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), checkTimeout)
	defer cancel()
	results := make([]upstream, len(a.Upstreams))
	var checks sync.WaitGroup
	for i, provider := range a.Upstreams {
		checks.Go(func() {
			response := checkUpstream(ctx, provider, uses[provider.Issuer()])
			if r, ok := succeeded[provider.Slug]; ok && response.LastSignIn == "" {
				response.LastSignIn = stamp(r.CreatedAt)
			}
			if r, ok := failures[provider.Slug]; ok {
				response.LastFailure = &upstreamFailure{At: stamp(r.CreatedAt), Reason: failureOf(r.Detail), User: r.Actor}
			}
			results[i] = response
		})
	}
	checks.Wait()
	return map[string]any{"upstreams": results}, nil
}

// lastByUpstream returns, for each provider, the last event with the given action, by the slug of the provider. It
// searches only recent events.
func (a *API) lastByUpstream(ctx context.Context, action string) (map[string]audit.Record, error) {
	last := make(map[string]audit.Record)
	if len(a.Upstreams) == 0 {
		return last, nil
	}
	now := a.Now()
	events, _, err := a.Feed.List(ctx, audit.Query{Action: action, Since: now.Add(-a.MaxLookback), Until: now},
		maxSearched, 0)
	for _, e := range events {
		slug, _ := audit.Value(e.Detail, "upstream")
		if _, ok := last[slug]; !ok {
			last[slug] = e
		}
	}
	return last, err
}

// failureOf returns the reason of a failed sign-in from the detail of its event.
func failureOf(detail string) string {
	reason, _ := audit.Value(detail, "reason")
	if cause, ok := audit.Value(detail, "cause"); ok {
		return shorten(reason + ": " + cause)
	}
	return shorten(reason)
}

// checkUpstream fetches the discovery document and the keys of a provider, and returns the response about it.
func checkUpstream(ctx context.Context, provider *upstreams.Upstream, use upstreams.Use) upstream {
	result := upstream{
		Slug:                provider.Slug,
		DisplayName:         provider.Name,
		Issuer:              provider.Issuer(),
		ClientID:            provider.ClientID,
		RedirectURI:         provider.Redirect,
		Hidden:              provider.Hidden,
		Domains:             words(provider.Domains),
		Registration:        provider.Registers,
		RegistrationDomains: words(provider.RegistrationDomains),
		Users:               use.Users,
		Discovery:           "ok",
	}
	if !use.LastAt.IsZero() {
		result.LastSignIn = stamp(use.LastAt)
	}
	facts, err := provider.Provider.Check(ctx)
	if err != nil {
		result.Discovery, result.Error = "failed", shorten(err.Error())
	}
	result.AuthorizationEndpoint, result.TokenEndpoint, result.Keys, result.TellsIssuer = facts.Authorization, facts.Token,
		facts.Keys, facts.TellsIssuer
	return result
}

// maxError is the maximum length of an error in a response, in bytes. An error may quote the provider's response.
const maxError = 500

// shorten cuts an error for a response.
func shorten(text string) string { return storable(text[:min(len(text), maxError)]) }

// identity is the response about a user's connected account.
type identity struct {
	ID          string  `json:"id"`
	Upstream    string  `json:"upstream"` // the slug, or empty if the provider is no longer configured
	DisplayName string  `json:"display_name"`
	Issuer      string  `json:"issuer"`
	Username    string  `json:"username"`
	CreatedAt   string  `json:"created_at"`
	UsedAt      *string `json:"used_at"`
}

// userIdentities returns the connected accounts of a user.
func (a *API) userIdentities(c *call) (any, error) {
	ctx, id := c.R.Context(), c.Path("id")
	if _, err := a.Users.Find(ctx, id); err != nil {
		return nil, err
	}
	list, err := a.SignsIn.Of(ctx, id)
	if err != nil {
		return nil, err
	}
	identities := make([]identity, len(list))
	for i := range list {
		linked := &list[i]
		identities[i] = identity{
			ID: strconv.FormatInt(linked.ID, 10), DisplayName: linked.Name(), Issuer: linked.Issuer,
			Username: linked.Username, CreatedAt: stamp(linked.Since),
		}
		if linked.Upstream != nil {
			identities[i].Upstream = linked.Upstream.Slug
		}
		if !linked.UsedAt.IsZero() {
			used := stamp(linked.UsedAt)
			identities[i].UsedAt = &used
		}
	}
	return map[string]any{"identities": identities}, nil
}

// removeIdentity disconnects an account from a user.
func (a *API) removeIdentity(c *call) (any, error) {
	id, err := strconv.ParseInt(c.Path("identity"), 10, 64)
	if err != nil {
		return nil, notFound("connection")
	}
	return nil, a.SignsIn.Remove(c.R.Context(), c.Path("id"), id, actor)
}
