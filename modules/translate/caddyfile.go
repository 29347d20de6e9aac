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
	return directive.Options(d, func(option string) error {
		switch option {
		case "model":
			return directive.Text(d, &h.Model)
		case "reasoning":
			return directive.Flag(d, &h.Reasoning)
		}
		return directive.NoOption(d, "unknown option %q; there are: model, reasoning", option)
	})
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
