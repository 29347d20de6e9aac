package sqlite

import (
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
		case "readers":
			return directive.Number(d, &s.Readers)
		case "busy_timeout":
			return directive.Duration(d, &s.BusyTimeout, "5s")
		case "synchronous":
			err := directive.Text(d, &s.Synchronous)
			if err == nil && s.Synchronous != "full" && s.Synchronous != "normal" {
				err = d.Errf("synchronous: %q is neither full nor normal", s.Synchronous)
			}
			return err
		}
		return directive.NoOption(d, "unknown option %q; there are: readers, synchronous, busy_timeout", option)
	})
}
