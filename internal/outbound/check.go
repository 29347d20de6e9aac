package outbound

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// lookupTime bounds the look-up of a name for Check.
const lookupTime = 2 * time.Second

// Check tells early, when a person enters an address, what Dialer would refuse
// later: ErrNotAllowed for an address that is not Allowed, and for a name that leads
// to none that is. A name that cannot be resolved now passes; Dialer has the last word.
func Check(ctx context.Context, host string, allow []netip.Prefix) error {
	return check(ctx, host, allow, net.DefaultResolver.LookupNetIP)
}

func check(ctx context.Context, host string, allow []netip.Prefix, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) error {
	addrs := make([]netip.Addr, 1)
	var err error
	if addrs[0], err = netip.ParseAddr(host); err != nil {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		if addrs, err = lookup(ctx, "ip", host); err != nil || len(addrs) == 0 {
			return nil //nolint:nilerr // see above
		}
	}
	for _, addr := range addrs {
		if Allowed(addr, allow) {
			return nil
		}
	}
	return ErrNotAllowed
}
