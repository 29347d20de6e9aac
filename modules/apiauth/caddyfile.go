package apiauth

import (
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// providers is the namespace of authentication providers, with a dot at the end.
const providers = "http.authentication.providers."

func init() {
	directive.Register[Handler]("api_auth")
}

// UnmarshalCaddyfile sets up the handler from its Caddyfile form:
//
//	api_auth [<matcher>] <provider> …
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // api_auth
	available := tollgate.Guests(strings.TrimSuffix(providers, "."))
	if !d.NextArg() {
		return d.Errf("api_auth needs a provider; there are: %s", available)
	}
	name := d.Val()
	if _, err := caddy.GetModule(providers + name); err != nil {
		return d.Errf("there is no authentication provider %q; there are: %s", name, available)
	}
	module, err := caddyfile.UnmarshalModule(d, providers+name)
	if err != nil {
		return err
	}
	h.ProviderRaw = caddyconfig.JSONModuleObject(module, "provider", name, nil)
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
