package kernel

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Network returns the network of an address, as the key of a limit: the address itself for IPv4, and its first 64 bits
// for IPv6, since a single host can use any address within those. Text that is not an address is returned as it is.
func Network(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if at = at.Unmap().WithZone(""); at.Is4() {
		return at.String()
	}
	return netip.PrefixFrom(at, 64).Masked().String()
}

// TooMany returns the error for a client that exceeds the rate limit.
func TooMany() error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: SlowDown, Message: "rate limit exceeded",
		RetryAfter: time.Second,
	}
}
