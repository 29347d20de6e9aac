package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// maxHeader limits the header of a response from a foreign address, in bytes.
const maxHeader = 64 << 10

// NewClient returns a client for short fetches from addresses that may come from an attacker. A name is looked up once
// and refused if any of its addresses is not Allowed; connections are made only to the checked addresses. The client
// uses no proxy, follows no redirect, keeps no connection alive and decompresses nothing. timeout limits a whole fetch.
func NewClient(allow []netip.Prefix, timeout time.Duration) *http.Client {
	return newClient(foreign{allow, net.DefaultResolver.LookupNetIP, Dialer(allow).DialContext}, timeout)
}

// newClient returns a client like NewClient that connects by f.
func newClient(f foreign, timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: f.dial, TLSHandshakeTimeout: timeout, ForceAttemptHTTP2: true,
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		},
	}
}

// foreign dials connections for NewClient.
type foreign struct {
	allow   []netip.Prefix
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// connectShare limits the time for connecting to each of several addresses except the last, so that an address that
// does not answer leaves time for the next.
const connectShare = 3 * time.Second

// dial connects to the first reachable address of a host. It returns ErrNotAllowed if any of the addresses is not
// Allowed.
func (f foreign) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, ErrNotAllowed
	}
	addrs, err := f.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if !Allowed(addr, f.allow) {
			return nil, ErrNotAllowed
		}
	}
	for i, addr := range addrs {
		target, last := netip.AddrPortFrom(addr, uint16(port)).String(), i == len(addrs)-1
		var conn net.Conn
		if conn, err = f.try(ctx, network, target, last); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// try connects to an address, within connectShare unless it is the last one.
func (f foreign) try(ctx context.Context, network, address string, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, connectShare)
		defer cancel()
	}
	return f.connect(ctx, network, address)
}

// resolve returns the addresses of a host: the host itself if it is an address, or those of its name.
func (f foreign) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if numeric(host) {
		return nil, fmt.Errorf("%w: a number is given instead of a name or an IP address", ErrNotAllowed)
	}
	addrs, err := f.lookup(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("the name has no address")
	}
	return addrs, err
}

// numeric reports whether a host that is not an IP address ends in a number, such as 127.1, 0x7f.1 and 2130706433. Some
// resolvers interpret such hosts as IP addresses (WHATWG URL Standard, ends in a number).
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
