// Package loopback recognises requests that programs on this machine make directly. Such requests may be trusted
// without a credential.
package loopback

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Direct reports whether a program on this machine has sent a request directly to this machine. It reports false
//
//   - if the connection or the client comes from another machine; client is the address that a trusted proxy reports,
//     or else the address of the connection;
//   - if the request has a header that proxies add, even an empty one, because the proxy passes on another client's
//     request;
//   - if the request is for a host name that anybody's DNS may have pointed here, as a page in a browser on this
//     machine could do (DNS rebinding). localhost, names below it and IP addresses are safe.
//
// A connection over a Unix socket is from this machine. A proxy on this machine that adds no header cannot be
// distinguished from another program.
func Direct(r *http.Request, client string) bool {
	if !isLocal(r.RemoteAddr) || !isLocal(client) || !isSafeHost(r.Host) {
		return false
	}
	for name := range r.Header {
		if isProxyHeader(name) {
			return false
		}
	}
	return true
}

// isLocal reports whether an address, with or without a port, is a loopback address or that of a Unix socket.
func isLocal(address string) bool {
	if address == "" || address[0] == '@' || address[0] == '/' {
		return true
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Unmap().WithZone("").IsLoopback()
}

// isProxyHeader reports whether proxies add the header with the given name, which is in canonical form.
func isProxyHeader(name string) bool {
	switch name {
	case "Forwarded", "Via", "X-Real-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// isSafeHost reports whether a host, with or without a port, is localhost, a name below it, or an IP address.
func isSafeHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
