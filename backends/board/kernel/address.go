package kernel

import (
	"net/http"
	"net/netip"
)

// Address returns the client address of a request, by which attempts are counted. An IPv6 address is returned as its
// /64 network, as one client usually has a whole network. A text that is not an IP address is returned unchanged.
func (s *Server) Address(r *http.Request) string {
	text := r.RemoteAddr
	if s.Options.Address != nil {
		text = s.Options.Address(r)
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		port, err := netip.ParseAddrPort(text)
		if err != nil {
			return text
		}
		ip = port.Addr()
	}
	ip = ip.WithZone("").Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // 64 is a valid length, so there is no error
	return network.String()
}
