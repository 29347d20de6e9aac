package kernel

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// maxBuckets bounds how many addresses a Limiter knows. A bucket takes about 100 bytes.
const maxBuckets = 100_000

// Limiter is a set of token buckets, one for each address or other key. Each allows a number of requests per second and
// a burst at once.
type Limiter struct {
	perSecond, burst float64
	now              func() time.Time

	mu      sync.Mutex
	buckets map[string]bucket
	swept   time.Time
}

type bucket struct {
	left float64
	at   time.Time
}

// NewLimiter returns a limiter.
func NewLimiter(perSecond float64, burst int, now func() time.Time) *Limiter {
	return &Limiter{perSecond: perSecond, burst: float64(burst), now: now, buckets: make(map[string]bucket)}
}

// Allow reports whether an address may send a request now. If so, the request is counted.
func (l *Limiter) Allow(address string) bool { return l.allow(address, 1) }

// Borrow reports like Allow whether an address may send a request, but for a more important one, which may use a token
// that the bucket has yet to gain.
func (l *Limiter) Borrow(address string) bool { return l.allow(address, 0) }

func (l *Limiter) allow(address string, needed float64) bool {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[address]
	if !ok {
		l.makeRoom(now)
		b = bucket{l.burst, now}
	}
	if b.left = l.filled(b, now); b.left < needed {
		return false
	}
	l.buckets[address] = bucket{b.left - 1, now}
	return true
}

// filled returns how many tokens a bucket holds by now.
func (l *Limiter) filled(b bucket, now time.Time) float64 {
	return min(l.burst, b.left+max(0, now.Sub(b.at).Seconds())*l.perSecond)
}

// makeRoom drops the buckets that are full again, as often as an empty bucket takes to fill. It drops arbitrary ones
// while there are too many.
func (l *Limiter) makeRoom(now time.Time) {
	every := max(time.Second, time.Duration(l.burst/l.perSecond*float64(time.Second)))
	if now.Sub(l.swept) >= every || now.Before(l.swept) {
		l.swept = now
		for address, b := range l.buckets {
			if l.filled(b, now) >= l.burst {
				delete(l.buckets, address)
			}
		}
	}
	for address := range l.buckets {
		if len(l.buckets) < maxBuckets {
			return
		}
		delete(l.buckets, address)
	}
}

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

// Size returns how many addresses have a bucket now.
func (l *Limiter) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.buckets)
}
