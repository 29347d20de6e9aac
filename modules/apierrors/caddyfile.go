package apierrors

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	directive.RegisterFunc("api_errors", parseCaddyfile)
}

func parseCaddyfile(helper httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h := new(Handler)
	return h, h.unmarshal(helper)
}

// UnmarshalCaddyfile parses the directive. Syntax:
//
//	api_errors [<matcher>] <format> {
//		<format> <matcher>
//	}
//
// Named matchers must be defined in the site block.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return h.unmarshal(httpcaddyfile.Helper{Dispenser: d})
}

// unmarshal parses the directive. It needs the helper of the site to resolve named matchers.
func (h *Handler) unmarshal(d httpcaddyfile.Helper) error {
	d.Next() // the directive's name
	if d.Args(&h.Format) && d.NextArg() {
		return d.ArgErr()
	}
	if err := checkFormat(h.Format); err != nil {
		return d.WrapErr(err)
	}
	for d.NextBlock(0) {
		o := Other{Format: d.Val()}
		if err := checkFormat(o.Format); err != nil {
			return d.WrapErr(err)
		}
		matchers, ok, err := d.MatcherToken()
		if err != nil {
			return d.WrapErr(err)
		}
		if !ok || matchers == nil { // nil stands for *
			return d.Errf("%s needs a matcher such as /v1/* or @name", o.Format)
		}
		if d.NextArg() {
			return d.ArgErr()
		}
		o.MatcherSetsRaw = caddyhttp.RawMatcherSets{matchers}
		h.Others = append(h.Others, o)
	}
	return nil
}
