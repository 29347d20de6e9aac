package cascade

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
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

func TestGuardedTransport(t *testing.T) {
	t.Parallel()
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	get := func(transport *http.Transport, host string) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(request)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	guarded := NewGuardedTransport(nil)
	t.Cleanup(guarded.CloseIdleConnections)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1.2.3", "[::1]", "0.0.0.0"} {
		if err := get(guarded, strings.Trim(host, "[]")); !errors.Is(err, errBlocked) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if reached != 0 {
		t.Fatalf("%d requests passed the guard", reached)
	}
	open := NewGuardedTransport([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
	t.Cleanup(open.CloseIdleConnections)
	for _, host := range []string{"127.0.0.1", "::ffff:127.0.0.1"} {
		if err := get(open, host); err != nil {
			t.Errorf("%s, allowed: %v", host, err)
		}
	}
	if reached != 2 {
		t.Errorf("%d requests came through", reached)
	}
	if err := get(open, "127.0.0.2"); !errors.Is(err, errBlocked) {
		t.Errorf("a neighbour: %v", err)
	}
	if open.Proxy != nil || guarded.Proxy != nil {
		t.Error("a proxy would dial past the guard")
	}
}

// A custom model on a private address is skipped, and the next candidate answers.
func TestGuardedCustomModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, prefer: keychain.Preferences{PreferredProviders: []string{keychain.CustomProvider}}})
	private := newUpstream(t, "private")
	r.account = newAccount(t, r.catalog, setup{
		keys: []string{"alpha"}, prefer: keychain.Preferences{PreferredProviders: []string{keychain.CustomProvider}},
		custom: []keychain.CustomModel{{Entry: "local/x", BaseURL: private.server.URL + "/v1", Model: "x", Tier: catalog.Low, APIKey: "local-key-1"}},
	})
	guarded := NewGuardedTransport(nil)
	t.Cleanup(guarded.CloseIdleConnections)
	r.engine.Custom = guarded
	r.alpha.does(reply(200, completion("hi")))
	e := r.ask("keychain-low")
	e.wants(t, "alpha/a-low", "hi")
	if len(private.got()) != 0 {
		t.Error("the private server was reached")
	}
	if len(e.Failed) != 1 || e.Failed[0].Code != "address_not_allowed" || e.Failed[0].Provider != "custom" || strings.Contains(e.Failed[0].Message, "127.0.0.1") {
		t.Errorf("failed attempts %+v", e.Failed)
	}
	if r.engine.Memory.Health.failing(private.server.URL + "/v1") {
		t.Error("a refused address counts as a failure of the provider")
	}

	open := NewGuardedTransport([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	t.Cleanup(open.CloseIdleConnections)
	r.engine.Custom = open
	private.does(reply(200, completion("from inside")))
	r.ask("local/x").wants(t, "local/x", "from inside")
	if keys := private.keys(); len(keys) != 1 || keys[0] != "local-key-1" {
		t.Errorf("keys %v", keys)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := newRig(t, setup{keys: []string{"alpha", "beta"}})
		trap := newUpstream(t, "trap")
		r.alpha.does(reply(status, "", "Location", trap.server.URL+"/v1/chat/completions"))
		r.beta.does(reply(200, completion("hi")))
		e := r.ask("keychain-low")
		e.wants(t, "beta/b-low", "hi")
		if len(trap.got()) != 0 || e.Failed[0].Status != status || e.Failed[0].Code != "redirect" {
			t.Errorf("%d: %+v, and the target got %d requests", status, e.Failed, len(trap.got()))
		}
	}
}
