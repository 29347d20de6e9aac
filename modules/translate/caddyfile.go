package translate

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	directive.Register[Handler]("translate")
}

// UnmarshalCaddyfile sets up the handler from its Caddyfile form:
//
//	translate [<matcher>] converse|messages|responses... {
//		model <name>
//		reasoning
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // translate
	for _, format := range d.RemainingArgs() {
		h.Formats = append(h.Formats, hub.Format(format))
	}
	if err := h.Validate(); err != nil {
		return d.Err(err.Error())
	}
	for d.NextBlock(0) {
		switch d.Val() {
		case "model":
			if h.Model != "" {
				return d.Err("model is given twice")
			}
			if !d.AllArgs(&h.Model) {
				return d.ArgErr()
			}
		case "reasoning":
			if h.Reasoning {
				return d.Err("reasoning is given twice")
			}
			if d.NextArg() {
				return d.ArgErr()
			}
			h.Reasoning = true
		default:
			return directive.NoOption(d, "unknown option %q; there are: model, reasoning", d.Val())
		}
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
