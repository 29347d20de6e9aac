// Package origin determines the scheme and host that a client used. The scheme is that of the connection or, if a
// trusted proxy has terminated TLS, the one that the proxy reports. The host is that of the request.
//
// The edge decides which proxies are trusted (Pass). The original host of a proxied request has to be configured. It is
// never read from a header, because many proxies pass such headers on unchanged from the client.
package origin

import (
	"context"
	"net/http"
	"strings"
)

type schemeKey struct{}

// Pass returns a copy of a request that a trusted proxy has passed on. The scheme of the copy is the one in
// forwardedProto, the value of the header X-Forwarded-Proto. In a list the first value counts. A value other than
// http and https changes nothing.
func Pass(r *http.Request, forwardedProto string) *http.Request {
	first, _, _ := strings.Cut(forwardedProto, ",")
	switch scheme := strings.ToLower(strings.TrimSpace(first)); scheme {
	case "http", "https":
		return r.WithContext(context.WithValue(r.Context(), schemeKey{}, scheme))
	}
	return r
}

// Scheme returns http or https.
func Scheme(r *http.Request) string {
	if reported, ok := r.Context().Value(schemeKey{}).(string); ok {
		return reported
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// Of returns the scheme and host, such as https://www.example.com.
func Of(r *http.Request) string { return Scheme(r) + "://" + r.Host }
