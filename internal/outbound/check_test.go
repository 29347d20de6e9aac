package outbound

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	names := map[string][]string{
		"public.test": {"8.8.8.8"}, "private.test": {"192.168.0.1", "fd00::1"}, "both.test": {"192.168.0.1", "8.8.8.8"}, "allowed.test": {"::1", "10.1.2.3"},
		"none.test": {},
	}
	lookup := func(_ context.Context, network, host string) (addrs []netip.Addr, err error) {
		list, ok := names[host]
		if !ok || network != "ip" {
			return nil, &net.DNSError{Name: host, IsNotFound: true}
		}
		for _, text := range list {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		return addrs, nil
	}
	for host, passes := range map[string]bool{
		"8.8.8.8": true, "2606:4700:4700::1111": true, "10.1.2.3": true, "::ffff:10.1.2.3": true,
		"10.2.0.1": false, "127.0.0.1": false, "::1": false, "fe80::1%eth0": false, "::ffff:127.0.0.1": false, "169.254.169.254": false,
		"public.test": true, "private.test": false, "both.test": true, "allowed.test": true, "none.test": true, "unknown.test": true, "127.1": true, "": true,
	} {
		if err := check(t.Context(), host, allow, lookup); (err == nil) != passes || (err != nil && !errors.Is(err, ErrNotAllowed)) {
			t.Errorf("%q: got the error %v, want it allowed: %t", host, err, passes)
		}
	}
}

// TestCheckIsBounded checks that Check does not wait for a resolver that does not answer.
func TestCheckIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := check(t.Context(), "slow.test", nil, func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if took := time.Since(begun); err != nil || took != lookupTime {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// TestCheckLocalhost checks localhost with the resolver of the machine.
func TestCheckLocalhost(t *testing.T) {
	t.Parallel()
	if err := Check(t.Context(), "localhost", nil); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("localhost: %v", err)
	}
	if err := Check(t.Context(), "localhost", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}); err != nil {
		t.Errorf("localhost, allowed: %v", err)
	}
}
