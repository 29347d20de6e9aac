package keychain

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
)

func init() {
	httpcaddyfile.RegisterHandlerDirective("keychain", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		handler := new(Handler)
		return handler, handler.UnmarshalCaddyfile(h.Dispenser)
	})
}

// UnmarshalCaddyfile sets up the handler from its Caddyfile form:
//
//	keychain [<matcher>] {
//		console off | {
//			oidc <issuer> <client_id>
//			scopes <scope>...        # default: openid profile email
//			token access|id          # default: access
//			origins <origin>...
//		}
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // keychain
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		switch d.Val() {
		case "console":
			if h.Console != nil {
				return d.Err("console is given twice")
			}
			h.Console = new(Console)
			if err := h.Console.unmarshal(d); err != nil {
				return err
			}
		default:
			return d.Errf("unknown option %q; there is: console", d.Val())
		}
	}
	return nil
}

func (c *Console) unmarshal(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		if d.Val() != "off" || d.NextArg() {
			return d.ArgErr()
		}
		c.Off = true
		if d.NextBlock(1) {
			return d.Err("a console that is off has no options")
		}
		return nil
	}
	provider := new(management.OIDC)
	seen := make(map[string]bool)
	for d.NextBlock(1) {
		option := d.Val()
		if seen[option] {
			return d.Errf("%s is given twice", option)
		}
		seen[option] = true
		switch option {
		case "oidc":
			if !d.AllArgs(&provider.Issuer, &provider.ClientID) {
				return d.ArgErr()
			}
			c.OIDC = provider
		case "scopes":
			if provider.Scopes = d.RemainingArgs(); len(provider.Scopes) == 0 {
				return d.ArgErr()
			}
		case "token":
			if !d.AllArgs(&provider.Token) {
				return d.ArgErr()
			}
		case "origins":
			if c.Origins = d.RemainingArgs(); len(c.Origins) == 0 {
				return d.ArgErr()
			}
		default:
			return d.Errf("unknown option %q; there are: oidc, scopes, token, origins", option)
		}
	}
	if c.OIDC == nil && (seen["scopes"] || seen["token"] || seen["origins"]) {
		return d.Err("scopes, token and origins need a line oidc <issuer> <client_id>")
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
