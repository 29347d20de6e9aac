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
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

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
		if err := get(guarded, strings.Trim(host, "[]")); !errors.Is(err, outbound.ErrNotAllowed) {
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
	if err := get(open, "127.0.0.2"); !errors.Is(err, outbound.ErrNotAllowed) {
		t.Errorf("a neighbour: %v", err)
	}
	if open.Proxy != nil || guarded.Proxy != nil {
		t.Error("a proxy would dial past the guard")
	}
}

// TestGuardedCustomModel checks that a custom model on a private address is skipped, and that the next candidate
// answers.
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
	r.alpha.addSteps(reply(200, completion("hi")))
	e := r.ask("keychain-low")
	e.wantAnswer(t, "alpha/a-low", "hi")
	if len(private.requests()) != 0 {
		t.Error("the private server was reached")
	}
	if len(e.Failed) != 1 || e.Failed[0].Code != "address_not_allowed" || e.Failed[0].Provider != "custom" || strings.Contains(e.Failed[0].Message, "127.0.0.1") {
		t.Errorf("failed attempts %+v", e.Failed)
	}
	if r.engine.Memory.Health.failing(private.server.URL+"/v1", r.account.UserID) {
		t.Error("a refused address counts as a failure of the provider")
	}

	open := NewGuardedTransport([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	t.Cleanup(open.CloseIdleConnections)
	r.engine.Custom = open
	private.addSteps(reply(200, completion("from inside")))
	r.ask("local/x").wantAnswer(t, "local/x", "from inside")
	if keys := private.keys(); len(keys) != 1 || keys[0] != "local-key-1" {
		t.Errorf("keys %v", keys)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := newRig(t, setup{keys: []string{"alpha", "beta"}})
		trap := newUpstream(t, "trap")
		r.alpha.addSteps(reply(status, "", "Location", trap.server.URL+"/v1/chat/completions"))
		r.beta.addSteps(reply(200, completion("hi")))
		e := r.ask("keychain-low")
		e.wantAnswer(t, "beta/b-low", "hi")
		if len(trap.requests()) != 0 || e.Failed[0].Status != status || e.Failed[0].Code != "redirect" {
			t.Errorf("%d: %+v, and the target got %d requests", status, e.Failed, len(trap.requests()))
		}
	}
}
