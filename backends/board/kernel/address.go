package kernel

import (
	"net/http"
	"net/netip"
)

// Address returns the address of the client of a request. An IPv6 one is given as its network.
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
	network, _ := ip.Prefix(64) // in range
	return network.String()
}
