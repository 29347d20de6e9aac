// Package origin tells at which scheme and host a client has asked: the scheme is that of the connection, or what a
// proxy that is trusted says where it has ended TLS; the host is what the request names.
//
// Which proxies are trusted the edge decides (Pass). A host that a proxy was asked for under another name is never read
// from a header, which many proxies hand on as the client has sent it: it is configured.
package origin

import (
	"context"
	"net/http"
	"strings"
)

type schemeKey struct{}

// Pass is a request that a trusted proxy has passed on, with what it says the scheme was (X-Forwarded-Proto). Of a
// list the first counts; what is neither http nor https changes nothing.
func Pass(r *http.Request, said string) *http.Request {
	first, _, _ := strings.Cut(said, ",")
	switch scheme := strings.ToLower(strings.TrimSpace(first)); scheme {
	case "http", "https":
		return r.WithContext(context.WithValue(r.Context(), schemeKey{}, scheme))
	}
	return r
}

// Scheme is http or https.
func Scheme(r *http.Request) string {
	if said, ok := r.Context().Value(schemeKey{}).(string); ok {
		return said
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// Of is scheme and host, such as https://www.example.com.
func Of(r *http.Request) string { return Scheme(r) + "://" + r.Host }
