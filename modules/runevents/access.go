package runevents

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/loopback"
	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// Access says whom a right belongs to: a client that any of its rules names.
type Access struct {
	// Any lets everybody in.
	Any bool `json:"any,omitempty"`

	// Loopback lets clients on this machine in, but not a proxy, which a header of its
	// kind gives away, nor a web page of another site: the request must be for localhost
	// or an IP address. A proxy that adds no header cannot be told from a client.
	Loopback bool `json:"loopback,omitempty"`

	// AnyUser lets in whoever an api_auth before this handler has let pass.
	AnyUser bool `json:"any_user,omitempty"`

	// Users are the ids of such users.
	Users []string `json:"users,omitempty"`

	// Certificate lets in whoever has a client certificate that the server has
	// verified (client_auth of the site's tls).
	Certificate bool `json:"certificate,omitempty"`

	// Certnames are the common names of such certificates.
	Certnames []string `json:"certnames,omitempty"`
}

// Who has a right of which no line says so. What was submitted or deactivated cannot be
// taken back: whoever does it must be known.
var (
	readDefault   = Access{Loopback: true}
	submitDefault = Access{Certificate: true, AnyUser: true}
)

// names reports whether only some users or certificates have the right.
func (a *Access) names() bool {
	return !a.Any && (len(a.Users) > 0 || len(a.Certnames) > 0)
}

func (a *Access) allows(r *http.Request) bool {
	if a.Any || a.Loopback && local(r) {
		return true
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && (a.Certificate || slices.Contains(a.Certnames, r.TLS.PeerCertificates[0].Subject.CommonName)) {
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

// local reports whether a program on this machine has sent the request itself.
func local(r *http.Request) bool {
	return loopback.Direct(r, cmp.Or(edge.Address(r), r.RemoteAddr))
}
