package runevents

import (
	_ "embed"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

//go:embed service.caddyfile
var form string

// The short form of the service in a Caddyfile, with these options in addition to those of the directive:
//
//	tollgate [<matcher>] events {
//		user_jwt { … }            # tokens that identify users: the options of api_auth user_jwt
//		budget <units> [<window>] # for each user or, without a user, each address; default: none, window 1m
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: runevents.SchemaName, Form: form, Block: optionNames, Costs: costs, Command: command,
		Schemas: []store.Schema{runevents.Schema()}, Handlers: []string{"run_events"},
		Options: []tollgate.Option{{Name: "user_jwt"}, {Name: "budget", Read: readBudget}},
	})
}

// readBudget returns the limit and the optional window of the option budget. The long form puts both on one line. The
// default window is one minute.
func readBudget(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	tokens := d.RemainingArgsAsTokens()
	if len(tokens) != 1 && len(tokens) != 2 {
		return nil, d.ArgErr()
	}
	return tokens, nil
}

// costs returns the costs of the routes whose cost is not 1. A {prefix} in a path stands for any prefix of the
// service.
func costs() map[string][]tollgate.Cost {
	var all []tollgate.Cost
	for _, r := range runevents.Routes() {
		if r.Cost != 1 {
			all = append(all, tollgate.Cost{Units: r.Cost, Method: "*", Path: "/{prefix}" + r.Path})
			if r.Beside {
				all = append(all, tollgate.Cost{Units: r.Cost, Method: "*", Path: r.Path})
			}
		}
	}
	return map[string][]tollgate.Cost{"all": all}
}
