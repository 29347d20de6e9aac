package authserver

import (
	_ "embed"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/apierrors"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

//go:embed service.caddyfile
var form string

// The short form, with the options of the directive:
//
//	tollgate [<matcher>] authserver {
//		config   <file>
//		listener public | admin
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: serviceName, Form: form, Block: optionNames, Command: command,
		Schemas: []store.Schema{authserver.Schema()}, Handlers: []string{"authserver"},
	})
	apierrors.Register("oauth", func(e *apierror.Error) (http.Header, []byte) {
		return http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}, kernel.ErrorBody(e)
	})
}
