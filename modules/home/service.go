package home

import (
	_ "embed"

	"github.com/tollgate-gateway/tollgate/backends/home"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// shortForm is the Caddyfile to which the line "tollgate home" expands.
//
//go:embed service.caddyfile
var shortForm string

// The short form has the options of the directive:
//
//	tollgate [<matcher>] home {
//		…
//	}
func init() {
	// With the option oidc, the handler uses a database. Handlers is empty nevertheless, because without that option a
	// start must not check a database that no other handler uses.
	tollgate.Register(tollgate.Service{
		Name: home.SchemaName, Form: shortForm, Block: optionNames, Schemas: []store.Schema{home.Schema()},
	})
}
