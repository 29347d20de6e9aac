// Package edge returns facts about a request that only Caddy knows: the client's address, according to the server's
// trusted_proxies, and whether any handler has answered the request. Its HeaderWriter changes headers of responses.
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
		if ok && !strings.HasPrefix(path, "//") { // in a link it would be read as a host name
			return strings.TrimSuffix(path, "/")
		}
	}
	return ""
}

// Request returns the request for use with the package origin. If a trusted proxy has sent r and reports the scheme
// that the client used, the result is a copy of r for which origin.Scheme returns that scheme. Otherwise the result is
// r.
func Request(r *http.Request) *http.Request {
	schemes := r.Header["X-Forwarded-Proto"]
	fromTrustedProxy, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool)
	if !fromTrustedProxy || len(schemes) == 0 {
		return r
	}
	return origin.Pass(r, schemes[len(schemes)-1]) // the nearest proxy has added the last value
}
