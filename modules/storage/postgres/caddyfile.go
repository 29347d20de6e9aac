package postgres

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// UnmarshalCaddyfile sets up the module from its Caddyfile form:
//
//	postgres <dsn> {
//		max_conns <n>
//	}
func (p *Postgres) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the name of the module
	if !d.AllArgs(&p.DSN) {
		// d.ArgErr is not used because it quotes the argument, which may contain a password.
		return d.Err("postgres takes one argument, the dsn; if it contains spaces, put it in quotes")
	}
	return directive.Options(d, func(option string) error {
		if option != "max_conns" {
			return directive.NoOption(d, "unknown option %q; there is: max_conns", option)
		}
		return directive.Number(d, &p.MaxConns)
	})
}
