package cms

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	directive.Register[Handler](serviceName)
}

var optionNames = []string{"site"}

// UnmarshalCaddyfile sets up the handler; see Handler for the syntax.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // cms
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		if d.Val() != "site" {
			return d.Errf("cms has no option %q; there are: %s", d.Val(), strings.Join(optionNames, ", "))
		}
		if h.Site != "" {
			return d.Err("site is given twice")
		}
		if !d.AllArgs(&h.Site) || h.Site == "" {
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
