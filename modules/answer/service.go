package answer

import (
	_ "embed"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// form is the template of the Caddyfile blocks for which the short form stands.
//
//go:embed service.caddyfile
var form string

// The short form has the options of the directive:
//
//	tollgate [<matcher>] answer {
//		…
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: answer.SchemaName, Form: form, Block: optionNames, Command: command,
		Schemas: []store.Schema{answer.Schema()}, Sealed: answer.Sealed, Handlers: []string{"answer"},
	})
}
