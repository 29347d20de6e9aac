package home

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/oidc"
)

func init() {
	directive.Register[Handler]("home")
}

// optionNames are the options of the directive.
var optionNames = []string{"docs", "base_url", "oidc"}

// UnmarshalCaddyfile parses the directive. The comment of Handler has its syntax.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // home
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "docs":
			err = directive.Text(d, &h.Docs)
		case "base_url":
			err = directive.Text(d, &h.BaseURL)
		case "oidc":
			h.OIDC, err = oidc.Unmarshal(d)
		default:
			err = directive.NoOption(d, "home has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		return err
	})
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
