package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// TestCut checks that running exchanges end with ErrShutdown over both versions of HTTP and that no new exchange
// begins. A connection that was closed before is forgotten.
func TestCut(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "begun")
				if r.URL.Path == "/long" {
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			var conns Connections
			transport := server.Client().Transport.(*http.Transport).Clone()
			transport.DialContext = new(net.Dialer).DialContext
			conns.Watch(transport)
			client := &http.Client{Transport: transport}
			open := func(path string) (*http.Response, error) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				return client.Do(request)
			}
			short, err := open("/short")
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(short.Body); err != nil || string(text) != "begun" {
				t.Fatalf("got %q with the error %v, want %q", text, err, "begun")
			}
			_ = short.Body.Close()
			transport.CloseIdleConnections()
			long, err := open("/long")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = long.Body.Close() }()
			if long.ProtoMajor == 2 != http2 {
				t.Fatalf("protocol %s", long.Proto)
			}
			conns.Cut()
			text, err := io.ReadAll(long.Body)
			if string(text) != "begun" || !errors.Is(err, ErrShutdown) {
				t.Errorf("under way: %q, error %v", text, err)
			}
			if resp, err := open("/short"); !errors.Is(err, ErrShutdown) {
				if err == nil {
					_ = resp.Body.Close()
				}
				t.Errorf("a new exchange: error %v", err)
			}
			conns.mu.Lock()
			defer conns.mu.Unlock()
			if len(conns.open) != 0 {
				t.Errorf("%d connections are kept", len(conns.open))
			}
		})
	}
}

// TestWatchedDialFails checks that the error of a failed dial is that of the dialer.
func TestWatchedDialFails(t *testing.T) {
	t.Parallel()
	want := errors.New("no route")
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, want }}
	new(Connections).Watch(transport)
	if _, err := transport.DialContext(t.Context(), "tcp", "192.0.2.1:80"); !errors.Is(err, want) {
		t.Errorf("got the error %v, want %v", err, want)
	}
}

// TestWatchedBody checks that a body of any size arrives whole, and that a truncated body is an error.
func TestWatchedBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	transport := &http.Transport{DialContext: new(net.Dialer).DialContext}
	defer transport.CloseIdleConnections()
	new(Connections).Watch(transport)
	send := func(body io.Reader, size int64) (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, struct{ io.Reader }{body})
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = size
		response, err := transport.RoundTrip(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}
	for _, size := range []int{1, 4096, bodyBufferSize - 1, bodyBufferSize, 3*bodyBufferSize + 7} {
		body := strings.Repeat("0123456789", size/10+1)[:size]
		if got, err := send(strings.NewReader(body), int64(size)); err != nil || got != body {
			t.Errorf("%d bytes: %d came, %v", size, len(got), err)
		}
	}
	want := errors.New("no more")
	broken := io.MultiReader(strings.NewReader(strings.Repeat("x", bodyBufferSize)), iotest.ErrReader(want))
	if _, err := send(broken, 2*bodyBufferSize); !errors.Is(err, want) {
		t.Errorf("got the error %v, want %v", err, want)
	}
}
