// Package outboundtest has addresses, spelled as attackers spell them, to which no fetch from a foreign address may
// connect.
package outboundtest

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// Hosts are the host parts of URLs, including ports. No connection may be made to them.
var Hosts = []string{
	// this machine
	"127.0.0.1", "127.0.0.1:8080", "127.8.9.1", "127.255.255.254", "[::1]", "[::1]:9001", "0.0.0.0", "[::]", "0.1.2.3",
	// private networks
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1",
	"[fc00::1]", "[fd12:3456::1]", "[fec0::1]",
	// link-local, with the metadata services of clouds
	"169.254.169.254", "169.254.170.2", "169.254.0.1", "[fe80::1]", "[fe80::1%25eth0]", "[fd00:ec2::254]",
	"100.100.100.200", "192.0.0.192",
	// shared address space (RFC 6598)
	"100.64.0.1", "100.127.255.254",
	// IPv4 within IPv6: mapped, compatible, translated
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]",
	"[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
	// NAT64 (RFC 6052, RFC 8215)
	"[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::8.8.8.8]", "[64:ff9b:1::a00:1]",
	// 6to4 and Teredo
	"[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2002:c0a8:1::1]", "[2001:0:7f00:1::]", "[2001::80ff:fffe]",
	// documentation, benchmarks, multicast, the rest
	"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "[2001:db8::1]", "[3fff::1]",
	"224.0.0.1", "239.255.255.250", "240.0.0.1",
	"255.255.255.255", "192.88.99.1", "[ff02::1]", "[100::1]", "[5f00::1]",
	// other ways to write 127.0.0.1 and 169.254.169.254
	"2130706433", "0x7f000001", "0X7F000001", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1",
	"127.1", "127.0.1", "0", "2852039166", "0xa9fea9fe",
	"169.254.43518", "127.0.0.1.", "127.0.0.01", "00127.0.0.1", "127.000.000.001", "1.2.3.4.5", "4294967296",
	// characters of other scripts, which IDNA maps to digits and dots
	"１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①", "ⓛocalhost",
	// names that resolve to such addresses, see Lookup
	"localhost", "LOCALHOST", "localhost.", "app.localhost", "private.test", "metadata.test", "mapped.test",
	"both.test", "six.test", "both.test.",
	// ports
	"public.test:0", "8.8.8.8:0", "[2606:4700:4700::1111]:0",
}

// names has the addresses that Lookup returns, by name.
var names = map[string][]string{
	"localhost": {"127.0.0.1", "::1"}, "app.localhost": {"127.0.0.1"}, "private.test": {"192.168.0.1"},
	"metadata.test": {"169.254.169.254"},
	"mapped.test":   {"::ffff:10.0.0.1"}, "both.test": {"8.8.8.8", "10.0.0.1"},
	"six.test": {"2606:4700:4700::1111", "fd00::1"}, "public.test": {"8.8.8.8", "2606:4700:4700::1111"},
}

// Lookup replaces a resolver in tests. It knows the names in Hosts, and public.test, which has public addresses.
func Lookup(_ context.Context, _, host string) (addrs []netip.Addr, err error) {
	list, ok := names[strings.ToLower(strings.TrimSuffix(host, "."))]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	for _, text := range list {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}
