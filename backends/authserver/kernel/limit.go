package kernel

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Network returns the key under which the requests of an address are limited. For IPv4 this is the address itself, and
// for IPv6 its first 64 bits, since a single host can use any address within those. If the text is not an address,
// Network returns it unchanged.
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
