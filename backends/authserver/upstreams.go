package authserver

import (
	"fmt"

	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/web"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// furtherUpstreams creates the identity providers of the list upstreams.
func (s *Server) furtherUpstreams() (*upstreams.Upstreams, error) {
	c := s.config
	o := upstreams.Options{Users: s.components.users, Lasts: c.OAuth.StateMaxAge}
	for i := range c.Upstreams {
		provider, err := s.furtherUpstream(&c.Upstreams[i])
		if err != nil {
			return nil, fmt.Errorf("upstreams[%d] (%s): %w", i, c.Upstreams[i].Slug, err)
		}
		o.List = append(o.List, provider)
	}
	if c.OIDC.ShowLocalLogin {
		o.Ways = append(o.Ways, users.HasPassword)
	}
	if c.OIDC.Enabled {
		o.Ways = append(o.Ways, func(conn store.Conn, user string) (bool, error) {
			return users.IsOf(conn, user, c.OIDC.Issuer)
		})
	}
	return upstreams.New(s.kernel, o), nil
}

// furtherUpstream creates an identity provider from its entry in the list upstreams.
func (s *Server) furtherUpstream(u *config.Upstream) (*upstreams.Upstream, error) {
	groups := make(map[string][]string, len(u.Groups))
	for upstreamGroup, groupsHere := range u.Groups {
		groups[upstreamGroup] = groupsHere
	}
	p, err := oidclogin.New(oidclogin.Options{
		Issuer: u.Issuer, ClientID: u.ClientID, Secret: u.Secret(), Scopes: u.Scopes, Parameters: u.Parameters,
		Lasts:       s.config.OAuth.StateMaxAge,
		GroupsClaim: u.Claims.Groups, Groups: groups, TrustEmail: u.TrustEmail,
		Claims:   oidclogin.Claims{Username: u.Claims.Username, Email: u.Claims.Email, Name: u.Claims.Name},
		Networks: s.networks, Key: func() []byte { return s.kernel.Key },
		Counters: func() counters.Store { return s.kernel.Counters }, Now: s.kernel.Now,
	})
	if err != nil {
		return nil, err
	}
	return &upstreams.Upstream{
		Slug: u.Slug, Name: u.DisplayName, ClientID: u.ClientID, Redirect: s.config.UpstreamRedirect(u.Slug), Provider: p,
		Hidden: u.Hidden, Domains: u.Domains, Registers: u.Registration == config.RegistrationOpen,
		RegistrationDomains: u.RegistrationDomains,
	}, nil
}

// allUpstreams returns all identity providers. The first is oidcProvider, which is the provider of the section oidc;
// the providers of the list upstreams follow. If oidcProvider is nil, it is omitted.
func (s *Server) allUpstreams(oidcProvider *web.Upstream) []*upstreams.Upstream {
	list := s.components.upstreams.List
	if oidcProvider == nil {
		return list
	}
	c := &s.config.OIDC
	return append([]*upstreams.Upstream{{
		Name: oidcProvider.Name, ClientID: c.ClientID, Redirect: c.RedirectURI, Provider: oidcProvider.Provider,
		Registers: true,
	}}, list...)
}
