package kernel

import (
	"testing"
	"time"
)

// TestLimiter checks that the number of buckets is bounded for very many addresses.
func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := NewLimiter(10, 1, func() time.Time { return now })
	buf := make([]byte, 4)
	for i := range 300_000 {
		buf[0], buf[1], buf[2] = byte(i), byte(i>>8), byte(i>>16)
		if !l.Allow(string(buf)) {
			t.Fatal("a newcomer is refused")
		}
	}
	if n := l.Size(); n > 100_000 {
		t.Errorf("%d buckets", n)
	}
	now = now.Add(time.Minute)
	l.Allow("x")
	if n := l.Size(); n != 1 {
		t.Errorf("%d buckets after a while", n)
	}
}

// TestNetwork checks that all addresses of an IPv6 network share one limit.
func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2::1": "2001:db8:1:2::/64", "2001:db8:1:2:ffff::1%eth0": "2001:db8:1:2::/64",
		"2001:db8:1:3::1": "2001:db8:1:3::/64", "": "", "@": "@",
	} {
		if got := Network(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
