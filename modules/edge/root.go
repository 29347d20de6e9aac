package edge

import (
	"context"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// unhandledVar is the request variable that Caddy sets to true when a request has passed every handler and none has
// answered it. Caddy then sends an empty 200.
const unhandledVar = "unhandled"

// homeVar is the request variable that Home sets.
const homeVar = "tollgate.home"

// Unhandled reports, after the next handlers have run, that none of them has answered the request and that no handler
// in front of them will.
func Unhandled(ctx context.Context) bool {
	waiting, _ := caddyhttp.GetVar(ctx, homeVar).(bool)
	return unhandled(ctx) && !waiting
}

func unhandled(ctx context.Context) bool {
	passed, _ := caddyhttp.GetVar(ctx, unhandledVar).(bool)
	return passed
}

// ServeRoot answers a request for the root of a site on behalf of a service whose pages are below the root: it redirects to
// them if no handler behind the service answers and no home page is in front of it. The address is relative, for
// proxies that strip a part of the path.
func ServeRoot(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, to string) error {
	if err := next.ServeHTTP(w, r); err != nil || !Unhandled(r.Context()) {
		return err
	}
	caddyhttp.SetVar(r.Context(), unhandledVar, nil)
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// ServeHome answers a request for the root of a site with home if no next handler answers it. Until then Unhandled returns
// false, so that services leave the root to the home page.
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
