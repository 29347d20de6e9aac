// Package outbound guards connections to addresses that users set: webhooks, base URLs of models, documents of clients.
// It prevents connections to the operator's own network. It also cuts connections when the process ends.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// ErrNotAllowed is the error of a dial that the guard refuses.
var ErrNotAllowed = errors.New("the address is not public and not among the allowed networks")

// Dialer returns a dialer that refuses addresses that are not Allowed. It checks the IP address to which it connects,
// so a name cannot circumvent the check. A transport with this dialer must have no proxy, which would connect in its
// place.
func Dialer(allow []netip.Prefix) *net.Dialer {
	return &net.Dialer{
		Timeout: 10 * time.Second, KeepAlive: 30 * time.Second,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrNotAllowed, err)
			}
			if !Allowed(at.Addr(), allow) {
				return ErrNotAllowed
			}
			return nil
		},
	}
}

// global is the part of IPv6 that is assigned for public use (IANA, IPv6 global unicast address assignments). Addresses
// outside it embed IPv4 or have another use.
var global = netip.MustParsePrefix("2000::/3")

// special are address ranges that do not belong to the public Internet (IANA special-purpose address registries),
// besides those for which netip has methods.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared address space, used by some clouds for metadata
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // includes Teredo, which embeds IPv4
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4, which embeds IPv4
	netip.MustParsePrefix("3fff::/20"),
}

// Allowed reports whether a connection may be made to an address that a user has set: a public address, or an address
// in allow.
func Allowed(addr netip.Addr, allow []netip.Prefix) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range allow {
		if p.Contains(addr) {
			return true
		}
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || (addr.Is6() && !global.Contains(addr)) {
		return false
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
