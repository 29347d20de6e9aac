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

	// Loopback lets clients on this machine in, but not what a proxy forwards, nor
	// a web page of another site: the request must be for localhost or an IP address.
	Loopback bool `json:"loopback,omitempty"`

	// AnyUser lets in whoever an api_auth before this handler has let pass.
	AnyUser bool `json:"any_user,omitempty"`

	// Users are the ids of such users.
	Users []string `json:"users,omitempty"`

	// Certnames are the common names of client certificates that the server has
	// verified (client_auth of the site's tls).
	Certnames []string `json:"certnames,omitempty"`
}

func (a *Access) allows(r *http.Request) bool {
	if a.Any || a.Loopback && local(r) {
		return true
	}
	if len(a.Certnames) > 0 && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && slices.Contains(a.Certnames, r.TLS.PeerCertificates[0].Subject.CommonName) {
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

// local reports whether the client is on this machine: by the address of the
// connection, and by that of the client where a trusted proxy told it. A proxy
// on this machine that is not trusted gives itself away by what it adds.
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
	return r.Header.Get("Forwarded") == "" && r.Header.Get("X-Forwarded-For") == "" && ownName(r.Host)
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
