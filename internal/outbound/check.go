package outbound

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// lookupTime is the time limit for looking up a name in Check.
const lookupTime = 2 * time.Second

// Check returns ErrNotAllowed early, when a person enters an address, if Dialer would refuse it later: an IP address
// that is not Allowed, or a name with no address that is. A name that cannot be resolved now passes; Dialer has the
// last word.
func Check(ctx context.Context, host string, allow []netip.Prefix) error {
	return check(ctx, host, allow, net.DefaultResolver.LookupNetIP)
}

func check(
	ctx context.Context, host string, allow []netip.Prefix,
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error),
) error {
	addrs := make([]netip.Addr, 1)
	var err error
	if addrs[0], err = netip.ParseAddr(host); err != nil {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		if addrs, err = lookup(ctx, "ip", host); err != nil || len(addrs) == 0 {
			return nil //nolint:nilerr // a name that cannot be resolved passes
		}
	}
	for _, addr := range addrs {
		if Allowed(addr, allow) {
			return nil
		}
	}
	return ErrNotAllowed
}
