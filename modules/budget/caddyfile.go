package budget

import (
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	directive.Register[Handler]("budget")
}

// UnmarshalCaddyfile parses the directive. Syntax:
//
//	budget [<matcher>] {
//		name     <text>
//		key      <text with placeholders>
//		limit    <n>|<placeholder>
//		window   <duration>
//		cost     <n>|<placeholder> [<method>|*] <pattern>
//		charge   <placeholder>
//		on_error refuse|allow
//	}
//
// limit is required; cost may be repeated.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the directive's name
	if d.NextArg() {
		return d.ArgErr()
	}
	err := directive.Options(d, func(option string) error {
		if option == "cost" {
			return h.unmarshalCost(d)
		}
		field := map[string]*string{
			"name": &h.Name, "key": &h.Key, "limit": &h.Limit, "charge": &h.Charge, "on_error": &h.OnError,
		}[option]
		var value string
		switch {
		case field == nil && option != "window":
			return directive.NoOption(d, "budget has no option %q; there are: name, key, limit, window, cost, charge, on_error",
				option)
		case !d.AllArgs(&value):
			return d.ArgErr()
		case value == "":
			return d.Errf("%s is empty", option)
		case field != nil:
			*field = value
		default:
			window, err := caddy.ParseDuration(value)
			if err != nil {
				return d.Errf("window: %v", err)
			}
			if window == 0 { // zero means the default in JSON
				return d.Errf("window %s is not within 1s..31d", value)
			}
			h.Window = caddy.Duration(window)
		}
		return nil
	}, "cost")
	if err == nil && h.Limit == "" {
		err = d.Err("limit is required")
	}
	return err
}

// unmarshalCost parses the option cost.
func (h *Handler) unmarshalCost(d *caddyfile.Dispenser) error {
	c := Cost{}
	switch args := d.RemainingArgs(); len(args) {
	case 2:
		c.Cost, c.Pattern = args[0], args[1]
	case 3:
		c.Cost, c.Method, c.Pattern = args[0], strings.ToUpper(args[1]), args[2]
	default:
		return d.ArgErr()
	}
	h.Costs = append(h.Costs, c)
	return nil
}
