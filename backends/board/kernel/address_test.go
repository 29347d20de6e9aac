package kernel

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "2001:db8:1:2::9": "2001:db8:1:2::/64",
		"::ffff:192.0.2.1": "192.0.2.1", "fe80::1%eth0": "fe80::/64", "@": "@", "": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		if got := (&Server{}).Address(r); got != want {
			t.Errorf("%q: %s, want %s", remote, got, want)
		}
	}
}
