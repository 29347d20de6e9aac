package runevents

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
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

// local reports whether the client is on this machine and no proxy: by the address of
// the connection, by that of the client where a header of a trusted proxy told it, and
// by what proxies add.
func local(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	if client, ok := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string); ok {
		addr, err := netip.ParseAddr(client)
		if err != nil || !addr.Unmap().WithZone("").IsLoopback() {
			return false
		}
	}
	for name := range r.Header {
		if ofProxy(name) {
			return false
		}
	}
	return ownName(r.Host)
}

// ofProxy reports whether a header, in its canonical form, is one that proxies add. An
// empty one counts too: the proxy is there all the same.
func ofProxy(name string) bool {
	switch name {
	case "Forwarded", "Via", "X-Real-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// ownName reports whether a host is none that somebody else's DNS could have led
// to this machine.
func ownName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
