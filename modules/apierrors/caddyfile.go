package apierrors

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func init() {
	httpcaddyfile.RegisterHandlerDirective("api_errors", parseCaddyfile)
}

func parseCaddyfile(helper httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h := new(Handler)
	return h, h.UnmarshalCaddyfile(helper.Dispenser)
}

// UnmarshalCaddyfile reads the directive. Syntax:
//
//	api_errors [<matcher>] chat_completions|responses|messages|board|cms|answer|problem
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the directive's name
	if !d.Args(&h.Format) || d.NextArg() {
		return d.ArgErr()
	}
	if err := checkFormat(h.Format); err != nil {
		return d.WrapErr(err)
	}
	if d.NextBlock(0) {
		return d.Errf("api_errors has no option %q", d.Val())
	}
	return nil
}
