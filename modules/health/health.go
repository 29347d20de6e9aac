// Package health reports to load balancers and supervisors whether a node is alive and ready for requests.
package health

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Handler{})
	directive.RegisterFunc("health", parse)
}

// The paths that a Handler serves.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// Handler serves two routes without authentication:
//
//	GET /livez   200 while the process serves; otherwise it should be restarted
//	GET /readyz  200, or 503 while it should get no requests: {"status","parts"}
//
// A node is ready while all parts that its services need are available: database, keyring, counters and the node
// itself. The part node is "unavailable" once the process has been asked to stop. With the global option
// shutdown_delay, the node continues to serve for that time, so that load balancers notice and send no more requests.
// Other paths go to the next handler.
//
// In the Caddyfile:
//
//	health [<matcher>] [<service>...]
type Handler struct {
	// Services are the services whose parts are checked: gateway, board, events … Default: all services in the
	// configuration.
	Services []string `json:"services,omitempty"`

	app *tollgate.App
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.health",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision gets the app, but does not make the app open anything.
func (h *Handler) Provision(ctx caddy.Context) (err error) {
	h.app, err = tollgate.From(ctx)
	return err
}

// Validate checks the names.
func (h *Handler) Validate() error {
	for _, service := range h.Services {
		if err := tollgate.CheckService(service); err != nil {
			return err
		}
	}
	return nil
}

// ServeHTTP answers the two routes, and passes other requests to the next handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if r.URL.Path != livePath && r.URL.Path != readyPath {
		return next.ServeHTTP(w, r)
	}
	rest.NoSniff(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return caddyhttp.Error(http.StatusMethodNotAllowed, fmt.Errorf("%s takes GET only", r.URL.Path))
	}
	answer := struct {
		Status string            `json:"status"`
		Parts  map[string]string `json:"parts,omitempty"`
	}{Status: "ok"}
	status := http.StatusOK
	if r.URL.Path == readyPath {
		answer.Parts = make(map[string]string)
		for name, err := range h.app.Parts(r.Context(), h.Services...) {
			answer.Parts[name] = "ok"
			if err != nil {
				answer.Parts[name], answer.Status, status = "unavailable", "unavailable", http.StatusServiceUnavailable
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(answer)
}

// parse parses the directive health.
func parse(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next() // health
	handler := &Handler{Services: h.RemainingArgs()}
	if h.NextBlock(0) {
		return nil, h.Errf("health has no options")
	}
	return handler, nil
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
