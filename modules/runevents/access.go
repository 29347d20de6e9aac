package runevents

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/loopback"
	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// Access determines the clients that have a right: those that match at least one of its rules.
type Access struct {
	// Any allows everybody.
	Any bool `json:"any,omitempty"`

	// Loopback allows clients on this machine. It does not allow a proxy on this machine, which is recognized by its
	// headers. The request must be for localhost or an IP address, so that web pages of other sites are not allowed
	// either. A proxy that adds no header cannot be distinguished from a client.
	Loopback bool `json:"loopback,omitempty"`

	// AnyUser allows every user whom an earlier api_auth has authenticated.
	AnyUser bool `json:"any_user,omitempty"`

	// Users are the IDs of users that are allowed.
	Users []string `json:"users,omitempty"`

	// Certificate allows every client with a certificate that the server has verified (client_auth of the site's
	// tls).
	Certificate bool `json:"certificate,omitempty"`

	// Certnames are the common names of client certificates that are allowed.
	Certnames []string `json:"certnames,omitempty"`
}

// The default rules. Submitting a report and deactivating a node cannot be undone, so the default for submit requires a
// known client.
var (
	readDefault   = Access{Loopback: true}
	submitDefault = Access{Certificate: true, AnyUser: true}
)

// restricted reports whether the rules name users or certificates.
func (a *Access) restricted() bool {
	return !a.Any && (len(a.Users) > 0 || len(a.Certnames) > 0)
}

// allows reports whether the sender of a request has the right, according to the client's address, its certificate, or
// the user that an earlier handler has authenticated.
func (a *Access) allows(r *http.Request) bool {
	if a.Any || a.Loopback && isLocal(r) {
		return true
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 &&
		(a.Certificate || slices.Contains(a.Certnames, r.TLS.PeerCertificates[0].Subject.CommonName)) {
		return true
	}
	if !a.AnyUser && len(a.Users) == 0 {
		return false
	}
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return false
	}
	id, _ := repl.GetString("http.auth.user.id")
	return id != "" && (a.AnyUser || slices.Contains(a.Users, id))
}

// isLocal reports whether a program on this machine has sent the request, without a proxy.
func isLocal(r *http.Request) bool {
	return loopback.Direct(r, cmp.Or(edge.Address(r), r.RemoteAddr))
}
