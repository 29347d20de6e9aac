package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/outbound/outboundtest"
)

var errDialed = errors.New("dialed")

// fetch requests a URL and returns the addresses that were dialed.
func fetch(t *testing.T, f foreign, url string) (dialed []string, err error) {
	t.Helper()
	f.connect = func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return nil, errDialed
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := newClient(f, time.Minute).Do(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	return dialed, err
}

// TestForeignHosts checks that no spelling of an address leads to a forbidden network.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	for _, host := range outboundtest.Hosts {
		for _, scheme := range []string{"http", "https"} {
			if dialed, err := fetch(t, foreign{lookup: outboundtest.Lookup}, scheme+"://"+host+"/x"); len(dialed) > 0 || err == nil {
				t.Errorf("%s: %v was dialed, error %v", host, dialed, err)
			}
			if dialed, err := fetch(t, foreign{lookup: outboundtest.Lookup}, scheme+"://public.test@"+host+"/x"); len(dialed) > 0 || err == nil {
				t.Errorf("behind a user, %s: %v was dialed, error %v", host, dialed, err)
			}
		}
	}
}

func TestForeignDials(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][]string{
		"http://public.test/x":            {"8.8.8.8:80", "[2606:4700:4700::1111]:80"},
		"https://public.test.:8443/x":     {"8.8.8.8:8443", "[2606:4700:4700::1111]:8443"},
		"https://[2606:4700:4700::1111]/": {"[2606:4700:4700::1111]:443"},
		"http://8.8.8.8:65535/":           {"8.8.8.8:65535"},
		"http://8.8.8.8:65536/":           nil,
		"http://unknown.test/":            nil,
	} {
		if dialed, err := fetch(t, foreign{lookup: outboundtest.Lookup}, url); !slices.Equal(dialed, want) || errors.Is(err, errDialed) != (want != nil) {
			t.Errorf("%s: %v was dialed, error %v", url, dialed, err)
		}
	}
	allow := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	if dialed, err := fetch(t, foreign{allow: allow, lookup: outboundtest.Lookup}, "http://both.test/"); len(dialed) != 2 || !errors.Is(err, errDialed) {
		t.Errorf("allowed: %v was dialed, error %v", dialed, err)
	}
}

// TestForeignRebinding checks that a name that resolves differently each time is resolved once, and that the checked
// address is the one that is dialed.
func TestForeignRebinding(t *testing.T) {
	t.Parallel()
	looks := 0
	lookup := func(context.Context, string, string) ([]netip.Addr, error) {
		if looks++; looks == 1 {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if dialed, err := fetch(t, foreign{lookup: lookup}, "http://rebind.test/"); looks != 1 || !slices.Equal(dialed, []string{"8.8.8.8:80"}) || !errors.Is(err, errDialed) {
		t.Errorf("%d looks, %v was dialed, error %v", looks, dialed, err)
	}
}

// TestForeignDialerChecks checks that the dialer checks the address again.
func TestForeignDialerChecks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	f := foreign{lookup: net.DefaultResolver.LookupNetIP, connect: Dialer(nil).DialContext}
	if conn, err := f.try(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"), true); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got the connection %v with the error %v, want %v", conn, err, ErrNotAllowed)
	}
}

// TestForeignAnswers checks that a redirect is returned like any other answer, that the client asks for no compression,
// and that a long header is refused.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "/header":
			w.Header().Set("X", strings.Repeat("x", 2*maxHeader))
		default:
			_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding")+r.Header.Get("Cookie"))
		}
	}))
	defer server.Close()
	client := NewClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, time.Minute)
	get := func(path string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text), err
	}
	if status, text, err := get("/"); status != http.StatusOK || text != "" || err != nil {
		t.Errorf("got the status %d and %q with the error %v, want an empty 200", status, text, err)
	}
	if status, _, err := get("/redirect"); status != http.StatusFound || err != nil {
		t.Errorf("got the status %d with the error %v, want 302", status, err)
	}
	if status, _, err := get("/header"); err == nil {
		t.Errorf("a long header: %d", status)
	}
	client = NewClient(nil, time.Minute)
	if _, _, err := get("/"); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got the error %v, want %v", err, ErrNotAllowed)
	}
}

// TestDialerHosts checks that the dialer of other transports refuses the forbidden addresses themselves, whatever name
// resolved to them.
func TestDialerHosts(t *testing.T) {
	t.Parallel()
	refused := 0
	for _, host := range outboundtest.Hosts {
		if hostname, _, err := net.SplitHostPort(host); err == nil {
			host = hostname
		}
		host = strings.ReplaceAll(strings.Trim(host, "[]"), "%25", "%")
		addrs, _ := outboundtest.Lookup(t.Context(), "ip", host) // empty if host is not a name
		if addr, err := netip.ParseAddr(host); err == nil {
			addrs = []netip.Addr{addr}
		}
		for _, addr := range addrs {
			if Allowed(addr, nil) { // a name may also lead to a public address
				continue
			}
			refused++
			if _, err := Dialer(nil).DialContext(t.Context(), "tcp", netip.AddrPortFrom(addr, 1).String()); !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%s: got the error %v, want %v", host, err, ErrNotAllowed)
			}
		}
	}
	if refused < 50 {
		t.Errorf("%d addresses were refused", refused)
	}
}
