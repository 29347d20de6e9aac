package kernel

import "testing"

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
