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

var optionNames = []string{"docs", "base_url", "oidc"}

// UnmarshalCaddyfile parses the directive. The comment of Handler has its syntax.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) (err error) {
	d.Next() // home
	if d.NextArg() {
		return d.ArgErr()
	}
	seen := make(map[string]bool)
	for d.NextBlock(0) {
		option := d.Val()
		if seen[option] {
			return d.Errf("%s is given twice", option)
		}
		seen[option] = true
		switch option {
		case "docs":
			err = one(d, &h.Docs)
		case "base_url":
			err = one(d, &h.BaseURL)
		case "oidc":
			h.OIDC, err = oidc.Unmarshal(d)
		default:
			err = directive.NoOption(d, "home has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one parses the only argument of an option.
func one(d *caddyfile.Dispenser, text *string) error {
	if !d.AllArgs(text) {
		return d.ArgErr()
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
