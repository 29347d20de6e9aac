package cascade

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// errBlocked is the error of a dial that the guard refuses.
var errBlocked = errors.New("the base URL leads to an address that is not allowed for custom models")

// NewTransport makes the connection pool to the providers of the catalog,
// whose base URLs the operator sets.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // streams must not wait for a decoder
	}
}

// NewGuardedTransport makes the pool to base URLs that users set. A dial to an
// address that is not public is refused unless allow has it: the check is on
// the address that is connected to, so a name cannot lead around it.
func NewGuardedTransport(allow []netip.Prefix) *http.Transport {
	t := NewTransport()
	t.Proxy = nil // a proxy would dial in the gateway's place, past the guard
	dialer := &net.Dialer{
		Timeout: 10 * time.Second, KeepAlive: 30 * time.Second,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %w", errBlocked, err)
			}
			if !Allowed(at.Addr(), allow) {
				return errBlocked
			}
			return nil
		},
	}
	t.DialContext = dialer.DialContext
	return t
}

// global is all of IPv6 that is given out as public (IANA, IPv6 global unicast
// address assignments): what lies outside embeds IPv4 or is of some other use.
var global = netip.MustParsePrefix("2000::/3")

// special are the ranges beyond those that netip names which do not lead to
// the public Internet (IANA special-purpose address registries).
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared address space, cloud metadata at some
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // with Teredo, which embeds IPv4
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4, embeds IPv4
	netip.MustParsePrefix("3fff::/20"),
}

// Allowed reports whether a custom base URL may lead to an address: a public
// one, or one that allow has.
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
