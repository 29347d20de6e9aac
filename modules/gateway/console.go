package gateway

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// consoleVar is the Caddy variable of a request that OfferConsole sets.
const consoleVar = "tollgate.console"

// OfferConsole marks a request so that later handlers know that the site has a console. The handler that answers at /
// uses this.
func OfferConsole(r *http.Request) { caddyhttp.SetVar(r.Context(), consoleVar, true) }

// ConsoleOffered reports whether an earlier handler has called OfferConsole for the request.
func ConsoleOffered(r *http.Request) bool {
	offered, _ := caddyhttp.GetVar(r.Context(), consoleVar).(bool)
	return offered
}
