package outbound

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// lookupTime limits the time for looking up a name in Check.
const lookupTime = 2 * time.Second

// Check returns ErrNotAllowed if Dialer would later refuse a host. Callers use it when a person enters an address. It
// refuses an IP address that is not Allowed, and a name if none of its addresses is Allowed. A name that cannot be
// resolved now is accepted, because Dialer checks again.
func Check(ctx context.Context, host string, allow []netip.Prefix) error {
	return check(ctx, host, allow, net.DefaultResolver.LookupNetIP)
}

// check works like Check with another resolver.
func check(
	ctx context.Context, host string, allow []netip.Prefix,
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error),
) error {
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{addr}
	} else {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		if addrs, err = lookup(ctx, "ip", host); err != nil || len(addrs) == 0 {
			return nil // a name that cannot be resolved passes
		}
	}
	for _, addr := range addrs {
		if Allowed(addr, allow) {
			return nil
		}
	}
	return ErrNotAllowed
}
