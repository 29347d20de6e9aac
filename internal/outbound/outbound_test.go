package outbound

import (
	"net/netip"
	"testing"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "93.184.216.34": true, "2606:4700:4700::1111": true, "2a00:1450::1": true,

		"127.0.0.1": false, "127.8.9.1": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "169.254.170.2": false, "100.64.0.1": false, "100.100.100.200": false, "192.0.0.192": false, "192.0.2.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false, "192.88.99.1": false,

		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "fec0::1": false, "2001:db8::1": false, "100::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:8.8.8.8": true,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::808:808": false, "64:ff9b:1::7f00:1": false,
		"::7f00:1": false, "::a9fe:a9fe": false, "::ffff:0:7f00:1": false, "2002:7f00:1::": false, "2002:a9fe:a9fe::1": false, "2001::1": false, "2001:0:7f00:1::": false,
		"3fff::1": false, "5f00::1": false, "4000::1": false,
	} {
		if got := Allowed(netip.MustParseAddr(addr), nil); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	if Allowed(netip.Addr{}, nil) {
		t.Error("no address is allowed")
	}
}

func TestAllowedByList(t *testing.T) {
	t.Parallel()
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.1.2.3/32"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("fe80::/10")}
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "::ffff:127.0.0.1": true, "10.1.2.3": true, "10.1.2.4": false, "fd00::1": true, "fe80::1%eth0": true, "::1": false, "192.168.0.1": false, "8.8.8.8": true,
	} {
		if got := Allowed(netip.MustParseAddr(addr), allow); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
}
