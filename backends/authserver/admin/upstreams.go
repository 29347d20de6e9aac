package admin

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
)

// checkMost limits the time that the providers have to respond.
const checkMost = 10 * time.Second

// upstream is a provider at which people sign in, in a response.
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
	// Discovery is ok or failed, and Error is the reason of a failure.
	Discovery string `json:"discovery"`
	Error     string `json:"error,omitempty"`
	// From the discovery document and the key set.
	AuthorizationEndpoint string `json:"authorization_endpoint,omitempty"`
	TokenEndpoint         string `json:"token_endpoint,omitempty"`
	Keys                  int    `json:"keys"`
	TellsIssuer           bool   `json:"tells_issuer"`
}

// upstreams returns the providers at which people sign in. It fetches the discovery document and the keys of each.
func (a *API) upstreams(c *call) (any, error) {
	counted, err := a.SignsIn.Count(c.R.Context())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), checkMost)
	defer cancel()
	told := make([]upstream, len(a.Upstreams))
	var asking sync.WaitGroup
	for i, up := range a.Upstreams {
		asking.Go(func() { told[i] = checked(ctx, up, counted[up.Issuer()]) })
	}
	asking.Wait()
	return map[string]any{"upstreams": told}, nil
}

// checked returns a provider with the result of a check.
func checked(ctx context.Context, up *upstreams.Upstream, users int64) upstream {
	told := upstream{
		Slug: up.Slug, DisplayName: up.Name, Issuer: up.Issuer(), ClientID: up.ClientID, RedirectURI: up.Redirect,
		Hidden: up.Hidden, Domains: words(up.Domains),
		Registration: up.Registers, RegistrationDomains: words(up.RegistrationDomains), Users: users, Discovery: "ok",
	}
	facts, err := up.Provider.Check(ctx)
	if err != nil {
		told.Discovery, told.Error = "failed", short(err.Error())
	}
	told.AuthorizationEndpoint, told.TokenEndpoint, told.Keys, told.TellsIssuer = facts.Authorization, facts.Token,
		facts.Keys, facts.TellsIssuer
	return told
}

// errorMost is the maximum length of an error in a response, in bytes. It may quote the provider.
const errorMost = 500

func short(text string) string { return stored(text[:min(len(text), errorMost)]) }

// identity is a connected account of a user, in a response.
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
	told := make([]identity, len(list))
	for i := range list {
		one := &list[i]
		told[i] = identity{
			ID: strconv.FormatInt(one.ID, 10), DisplayName: one.Name(), Issuer: one.Issuer,
			Username: one.Username, CreatedAt: stamp(one.Since),
		}
		if one.Upstream != nil {
			told[i].Upstream = one.Upstream.Slug
		}
		if !one.UsedAt.IsZero() {
			at := stamp(one.UsedAt)
			told[i].UsedAt = &at
		}
	}
	return map[string]any{"identities": told}, nil
}

// removeIdentity disconnects an account from a user.
func (a *API) removeIdentity(c *call) (any, error) {
	id, err := strconv.ParseInt(c.Path("identity"), 10, 64)
	if err != nil {
		return nil, notFound("connection")
	}
	return nil, a.SignsIn.Remove(c.R.Context(), c.Path("id"), id, by)
}
