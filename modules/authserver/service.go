package authserver

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/apierrors"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

//go:embed service.caddyfile
var form string

// The short form of the service in a Caddyfile, with the options of the directive:
//
//	tollgate [<matcher>] authserver {
//		config   <file>
//		listener public | admin
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: serviceName, Form: form, Block: optionNames, Command: command,
		Schemas: []store.Schema{authserver.Schema()}, Handlers: []string{"authserver"}, Folder: keyFolder, Keys: true,
	})
	apierrors.Register("oauth", func(e *apierror.Error) (http.Header, []byte) {
		return http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}, kernel.ErrorBody(e)
	})
}

// keyFolder returns the folder of the signing keys of a handler.
func keyFolder(_ *tollgate.App, handler json.RawMessage) (string, error) {
	var h Handler
	if err := json.Unmarshal(handler, &h); err != nil {
		return "", err
	}
	return config.KeyFolder(caddy.NewReplacer().ReplaceKnown(h.Config, ""))
}
