// Package edge returns facts about a request that only Caddy knows: the client's address, according to the server's
// trusted_proxies, and whether any handler has answered the request.
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

// AddressIn returns the IP address of the client whose request has the context ctx.
func AddressIn(ctx context.Context) string {
	address, _ := caddyhttp.GetVar(ctx, caddyhttp.ClientIPVarKey).(string)
	return address
}

// StrippedPath returns the prefix that handlers such as handle_path have removed from the request's path. It returns ""
// if the path was not changed, or was changed in another way.
func StrippedPath(r *http.Request) string {
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && original.URL != nil {
		path, ok := strings.CutSuffix(original.URL.Path, r.URL.Path)
		if ok && !strings.HasPrefix(path, "//") { // in a link that would be another host
			return strings.TrimSuffix(path, "/")
		}
	}
	return ""
}

// Request returns r with the scheme that the client used, as a trusted proxy may report it.
func Request(r *http.Request) *http.Request {
	reported := r.Header["X-Forwarded-Proto"]
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); !trusted || len(reported) == 0 {
		return r
	}
	return origin.Pass(r, reported[len(reported)-1]) // the last value is the proxy's own, as reverse_proxy takes it
}
