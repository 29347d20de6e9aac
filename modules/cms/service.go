package cms

import (
	_ "embed"
	"encoding/json"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// form is the template of the handlers of the short form below.
//
//go:embed service.caddyfile
var form string

// The short form of the service in a Caddyfile, with the options of the directive:
//
//	tollgate [<matcher>] cms {
//		…
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: serviceName, Form: form, Block: optionNames, Command: command,
		Schemas: cms.Schemas(), Sealed: cms.Sealed, Handlers: []string{serviceName}, Folder: folder,
	})
}

// folder returns the site folder of a handler.
func folder(_ *tollgate.App, handler json.RawMessage) (string, error) {
	var h Handler
	if err := json.Unmarshal(handler, &h); err != nil {
		return "", err
	}
	return h.folder()
}
