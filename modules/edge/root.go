package edge

import (
	"context"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// unhandledVar is the request variable that Caddy sets to true when no handler has answered the request. Caddy then
// sends an empty 200.
const unhandledVar = "unhandled"

// homeVar is the request variable that ServeHome sets to true while the later handlers run. It means that the home page
// answers the request if they do not.
const homeVar = "tollgate.home"

// Unhandled reports whether the request stays without an answer: no later handler has answered it, and no home page in
// front of the calling handler will. A handler calls it after the later handlers have returned.
func Unhandled(ctx context.Context) bool {
	homeWillAnswer, _ := caddyhttp.GetVar(ctx, homeVar).(bool)
	return !homeWillAnswer && passedAllHandlers(ctx)
}

// passedAllHandlers reports whether Caddy has set unhandledVar.
func passedAllHandlers(ctx context.Context) bool {
	passed, _ := caddyhttp.GetVar(ctx, unhandledVar).(bool)
	return passed
}

// ServeRoot answers a request for the root of a site, for a service whose pages are below the root. If no later handler
// answers and no home page is in front of the service, it redirects to targetPath. The redirect is relative, because a
// proxy may strip a part of the path.
func ServeRoot(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, targetPath string) error {
	if err := next.ServeHTTP(w, r); err != nil || !Unhandled(r.Context()) {
		return err
	}
	caddyhttp.SetVar(r.Context(), unhandledVar, nil) // the redirect is the answer
	w.Header().Set("Location", targetPath)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// ServeHome answers a request for the root of a site. It runs the later handlers and, if none of them answers, serves
// the page home. While the later handlers run, Unhandled returns false; so the ServeRoot of a service does not redirect
// the request, and the home page takes precedence over the service.
func ServeHome(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, home http.Handler) error {
	ctx := r.Context()
	caddyhttp.SetVar(ctx, homeVar, true)
	err := next.ServeHTTP(w, r)
	caddyhttp.SetVar(ctx, homeVar, nil)
	if err != nil || !passedAllHandlers(ctx) {
		return err
	}
	caddyhttp.SetVar(ctx, unhandledVar, nil) // the home page is the answer
	home.ServeHTTP(w, r)
	return nil
}
