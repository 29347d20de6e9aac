package sqlite

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// UnmarshalCaddyfile sets up the module from its Caddyfile form:
//
//	sqlite <path> {
//		readers      <n>
//		synchronous  full|normal
//		busy_timeout <duration>
//	}
func (s *SQLite) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the name of the module
	if !d.AllArgs(&s.Path) {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) error {
		switch option {
		case "readers", "synchronous", "busy_timeout":
		default:
			return directive.NoOption(d, "unknown option %q; there are: readers, synchronous, busy_timeout", option)
		}
		var value string
		if !d.AllArgs(&value) {
			return d.ArgErr()
		}
		switch option {
		case "readers":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return d.Errf("readers: %q is not a number from 1 up", value)
			}
			s.Readers = n
		case "synchronous":
			if value != "full" && value != "normal" {
				return d.Errf("synchronous: %q is neither full nor normal", value)
			}
			s.Synchronous = value
		case "busy_timeout":
			timeout, err := caddy.ParseDuration(value)
			if err != nil || timeout <= 0 {
				return d.Errf("busy_timeout: %q is not a duration above zero", value)
			}
			s.BusyTimeout = caddy.Duration(timeout)
		}
		return nil
	})
}
