package cms

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/oidc"
)

func init() {
	directive.Register[Handler](serviceName)
}

var optionNames = []string{"site", "admin", "base_url", "isolation", "oidc"}

// UnmarshalCaddyfile sets up the handler; see Handler for the syntax.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // cms
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		if d.Val() == "oidc" {
			if h.OIDC != nil {
				return d.Errf("%s is given twice", d.Val())
			}
			var err error
			if h.OIDC, err = oidc.Unmarshal(d); err != nil {
				return err
			}
			continue
		}
		into := &h.Site
		switch d.Val() {
		case "site":
		case "admin":
			into = &h.Admin
		case "base_url":
			into = &h.BaseURL
		case "isolation":
			into = &h.Isolation
		default:
			return directive.NoOption(d, "cms has no option %q; there are: %s", d.Val(), strings.Join(optionNames, ", "))
		}
		if *into != "" {
			return d.Errf("%s is given twice", d.Val())
		}
		if !d.AllArgs(into) || *into == "" {
			return d.ArgErr()
		}
	}
	if h.Site == "" {
		h.Site = "site"
	}
	h.Site = directive.Beside(d, h.Site)
	return nil
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
