// Package edge tells what Caddy knows of a request: who sent it, by the trusted_proxies of the server, and whether any
// handler has answered it.
package edge

import (
	"context"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/origin"
)

// Address is that of the client.
func Address(r *http.Request) string { return AddressIn(r.Context()) }

// AddressIn is that of the client whose request has the context.
func AddressIn(ctx context.Context) string {
	address, _ := caddyhttp.GetVar(ctx, caddyhttp.ClientIPVarKey).(string)
	return address
}

// Request is a request with the scheme that the client has asked by, which a trusted proxy tells. Nobody else is
// believed.
func Request(r *http.Request) *http.Request {
	said := r.Header["X-Forwarded-Proto"]
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); !trusted || len(said) == 0 {
		return r
	}
	return origin.Pass(r, said[len(said)-1]) // the proxy's own line, as reverse_proxy takes it
}
