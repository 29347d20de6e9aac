package home

import (
	_ "embed"

	"github.com/tollgate-gateway/tollgate/backends/home"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

//go:embed service.caddyfile
var form string

// The short form has the options of the directive:
//
//	tollgate [<matcher>] home {
//		…
//	}
func init() {
	// No handler is named as one that uses the database: without the option oidc it has no need of one, and must not have
	// a start look for one that is nowhere else used.
	tollgate.Register(tollgate.Service{Name: home.SchemaName, Form: form, Block: optionNames, Schemas: []store.Schema{home.Schema()}})
}
