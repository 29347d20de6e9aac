package cms

import (
	"cmp"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/oidc"
)

func init() {
	directive.Register[Handler](serviceName)
}

// optionNames are the options of the directive.
var optionNames = []string{"site", "admin", "base_url", "isolation", "oidc"}

// UnmarshalCaddyfile sets up the handler; see Handler for the syntax.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // cms
	if d.NextArg() {
		return d.ArgErr()
	}
	texts := map[string]*string{
		"site": &h.Site, "admin": &h.Admin, "base_url": &h.BaseURL, "isolation": &h.Isolation,
	}
	err := directive.Options(d, func(option string) (err error) {
		value := texts[option]
		switch {
		case option == "oidc":
			h.OIDC, err = oidc.Unmarshal(d)
			return err
		case value == nil:
			return directive.NoOption(d, "cms has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		case !d.AllArgs(value) || *value == "":
			return d.ArgErr()
		}
		return nil
	})
	h.Site = directive.ResolvePath(d, cmp.Or(h.Site, "site"))
	return err
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
