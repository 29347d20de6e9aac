package cms

import (
	_ "embed"
	"encoding/json"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

//go:embed service.caddyfile
var form string

// The short form, with the option of the directive:
//
//	tollgate [<matcher>] cms {
//		site <folder>
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: serviceName, Form: form, Block: optionNames, Command: command,
		Schemas: cms.Schemas(), Handlers: []string{serviceName}, Folder: folder,
	})
}

// folder is the site of a handler.
func folder(_ *tollgate.App, handler json.RawMessage) (string, error) {
	var h Handler
	if err := json.Unmarshal(handler, &h); err != nil {
		return "", err
	}
	return h.folder()
}
