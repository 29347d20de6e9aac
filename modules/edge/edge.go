// Package edge returns what Caddy knows of a request: its client, according to the server's trusted_proxies, and
// whether any handler has answered it.
package edge

import (
	"context"
	"net/http"

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

// Request returns r with the scheme that the client used, which only a trusted proxy can report.
func Request(r *http.Request) *http.Request {
	reported := r.Header["X-Forwarded-Proto"]
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); !trusted || len(reported) == 0 {
		return r
	}
	return origin.Pass(r, reported[len(reported)-1]) // the last value is the proxy's own, as reverse_proxy takes it
}
