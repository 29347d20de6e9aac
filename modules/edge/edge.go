// Package edge returns what Caddy knows of a request: its client, according to the server's trusted_proxies, and
// whether any handler has answered it.
package edge

import (
	"context"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/origin"
)

// Address returns the IP address of the client.
func Address(r *http.Request) string { return AddressIn(r.Context()) }

// AddressIn returns the IP address of the client whose request has the context.
func AddressIn(ctx context.Context) string {
	address, _ := caddyhttp.GetVar(ctx, caddyhttp.ClientIPVarKey).(string)
	return address
}

// StrippedPath returns what handlers such as handle_path have taken from the beginning of the request's path, or "" if
// they have changed it in another way or not at all.
func StrippedPath(r *http.Request) string {
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && original.URL != nil {
		path, ok := strings.CutSuffix(original.URL.Path, r.URL.Path)
		if ok && !strings.HasPrefix(path, "//") { // in a link that would be another host
			return strings.TrimSuffix(path, "/")
		}
	}
	return ""
}

// Request returns r with the scheme that the client used, which only a trusted proxy can report.
func Request(r *http.Request) *http.Request {
	reported := r.Header["X-Forwarded-Proto"]
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); !trusted || len(reported) == 0 {
		return r
	}
	return origin.Pass(r, reported[len(reported)-1]) // the last value is the proxy's own, as reverse_proxy takes it
}
