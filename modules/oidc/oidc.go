// Package oidc provides the option oidc for services whose users sign in at an OpenID provider.
package oidc

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// Provider is an OpenID provider at which users sign in. It includes the credentials with which the service is a client
// of the provider. {env.*} and {file.*} are resolved in issuer, client_id and client_secret.
type Provider struct {
	// Issuer is the issuer, exactly as in its tokens.
	Issuer string `json:"issuer,omitempty"`

	// ClientID and ClientSecret are the credentials of the service at the provider. Without a secret, the service is a
	// public client.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`

	// Scopes are the requested scopes. Default: openid, profile, email.
	Scopes []string `json:"scopes,omitempty"`

	// Label is the name of the provider on the sign-in page. Default: single sign-on.
	Label string `json:"label,omitempty"`

	// GroupsClaim is the claim with the groups of a user. Default: groups.
	GroupsClaim string `json:"groups_claim,omitempty"`

	// Groups maps a group of the provider to groups of the service. At each sign-in, a user joins the service's groups
	// that the user's provider groups map to, and leaves all other service groups that are named here.
	Groups map[string][]string `json:"groups,omitempty"`
}

// Unmarshal parses the option. Syntax:
//
//	oidc <issuer> <client_id> [<client_secret>] {
//		scopes       <scope>...
//		label        <text>
//		groups_claim <claim>
//		group        <provider group> <group>...
//	}
func Unmarshal(d *caddyfile.Dispenser) (*Provider, error) {
	p := new(Provider)
	args := d.RemainingArgs()
	if len(args) < 2 || len(args) > 3 {
		return nil, d.ArgErr()
	}
	if p.Issuer, p.ClientID = args[0], args[1]; len(args) == 3 {
		p.ClientSecret = args[2]
	}
	return p, directive.Options(d, func(option string) error {
		args := d.RemainingArgs()
		switch {
		case option == "scopes" && len(args) > 0:
			p.Scopes = args
		case option == "label" && len(args) == 1:
			p.Label = args[0]
		case option == "groups_claim" && len(args) == 1:
			p.GroupsClaim = args[0]
		case option == "group" && len(args) > 1:
			if _, twice := p.Groups[args[0]]; twice {
				return d.Errf("group %s is given twice", args[0])
			}
			if p.Groups == nil {
				p.Groups = make(map[string][]string)
			}
			p.Groups[args[0]] = args[1:]
		case slices.Contains([]string{"scopes", "label", "groups_claim", "group"}, option):
			return d.ArgErr()
		default:
			return directive.NoOption(d, "oidc has no option %q; there are: scopes, label, groups_claim, group", option)
		}
		return nil
	}, "group")
}

// DisplayName returns the name of the provider for users.
func (p *Provider) DisplayName() string { return cmp.Or(p.Label, "single sign-on") }

// Make returns the provider. It sends no requests yet. key returns a secret of the service that is the same on all
// nodes. digest is equal for providers with the same settings.
func (p *Provider) Make(
	app *tollgate.App, key func() []byte,
) (provider *oidclogin.Provider, digest [sha256.Size]byte, err error) {
	resolved := *p
	for _, text := range []*string{&resolved.Issuer, &resolved.ClientID, &resolved.ClientSecret} {
		if *text, err = placeholder.Resolve(*text); err != nil {
			return nil, digest, fmt.Errorf("oidc: %w", err)
		}
	}
	settings, err := json.Marshal(resolved)
	if err != nil {
		return nil, digest, err
	}
	provider, err = oidclogin.New(oidclogin.Options{
		Issuer: resolved.Issuer, ClientID: resolved.ClientID, Secret: resolved.ClientSecret, Scopes: p.Scopes,
		GroupsClaim: p.GroupsClaim, Groups: p.Groups,
		Networks: app.AllowedNetworks(), Key: key, Counters: func() counters.Store { return app.Counters() },
	})
	if err != nil {
		return nil, digest, fmt.Errorf("oidc: %w", err)
	}
	return provider, sha256.Sum256(settings), nil
}
