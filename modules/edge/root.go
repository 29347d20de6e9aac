package edge

import (
	"context"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// unhandledVar is the request variable that Caddy sets to true when no handler has answered the request. Caddy then
// sends an empty 200.
const unhandledVar = "unhandled"

// homeVar is the request variable that ServeHome sets while the next handlers run.
const homeVar = "tollgate.home"

// Unhandled reports whether no handler has answered the request, and no earlier handler will. A handler calls it after
// the next handlers have returned.
func Unhandled(ctx context.Context) bool {
	waiting, _ := caddyhttp.GetVar(ctx, homeVar).(bool)
	return unhandled(ctx) && !waiting
}

func unhandled(ctx context.Context) bool {
	passed, _ := caddyhttp.GetVar(ctx, unhandledVar).(bool)
	return passed
}

// ServeRoot answers a request for the root of a site, for a service whose pages are below the root. If no later handler
// answers and no home page is in front of the service, it redirects to the path to. The redirect is relative, because a
// proxy may strip a part of the path.
func ServeRoot(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, to string) error {
	if err := next.ServeHTTP(w, r); err != nil || !Unhandled(r.Context()) {
		return err
	}
	caddyhttp.SetVar(r.Context(), unhandledVar, nil)
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// ServeHome answers a request for the root of a site with home if no later handler answers it. While the later handlers
// run, Unhandled returns false, so that services do not redirect the request.
func ServeHome(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, home http.Handler) error {
	ctx := r.Context()
	caddyhttp.SetVar(ctx, homeVar, true)
	err := next.ServeHTTP(w, r)
	caddyhttp.SetVar(ctx, homeVar, nil)
	if err != nil || !unhandled(ctx) {
		return err
	}
	caddyhttp.SetVar(ctx, unhandledVar, nil)
	home.ServeHTTP(w, r)
	return nil
}
