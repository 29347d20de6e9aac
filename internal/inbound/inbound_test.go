package inbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory, whose deadlines follow the clock of a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error { return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// read is the result of reading a body on the server.
type read struct {
	n    int
	took time.Duration
	err  error
}

// serve runs a server that reads one request body through Default.Body, under a ReadTimeout of limit. The request
// declares a Content-Length of length, and send writes its body.
func serve(t *testing.T, limit time.Duration, length int, send func(net.Conn)) read {
	t.Helper()
	results := make(chan read, 2)
	server := &http.Server{ReadTimeout: limit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		body := Default.Body(w, r)
		text, err := io.ReadAll(body)
		if err == nil {
			body.Done()
		}
		results <- read{len(text), time.Since(began), err}
	})}
	listener := make(pipes, 1)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	client, conn := net.Pipe()
	listener <- conn
	go func() { _, _ = io.Copy(io.Discard, client) }()
	_, _ = fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", length)
	send(client)
	got := <-results
	_ = client.Close()
	close(listener)
	if err := <-ended; err == nil {
		t.Error("the server ended without a reason")
	}
	_ = server.Close()
	time.Sleep(time.Second) // in the time of the test: the server lingers on a connection that it closes
	return got
}

// drip returns a client that writes so many bytes each second.
func drip(seconds, bytes int) func(net.Conn) {
	return func(c net.Conn) {
		piece := []byte(strings.Repeat("x", bytes))
		for range seconds {
			if _, err := c.Write(piece); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  time.Duration
		length int
		send   func(net.Conn)
		slow   bool
		within time.Duration
	}{
		"a byte a second":           {0, 1000, drip(1000, 1), true, 31 * time.Second},
		"nothing":                   {0, 1000, func(net.Conn) {}, true, 31 * time.Second},
		"below the rate":            {0, 10 << 20, drip(1000, 8<<10), true, 61 * time.Second},
		"much, then nothing":        {0, 10 << 20, drip(1, 9<<20), true, 31 * time.Second},
		"32 MB over a slow line":    {0, 32_000_000, drip(1600, 20_000), false, 1601 * time.Second},
		"a small one, slowly":       {0, 20, drip(20, 1), false, 20 * time.Second},
		"what the server is set to": {5 * time.Second, 100, drip(100, 1), true, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := serve(t, c.limit, c.length, c.send)
				if TooSlow(got.err) != c.slow || !c.slow && (got.err != nil || got.n != c.length) || got.took > c.within {
					t.Errorf("%d bytes in %s, error %v", got.n, got.took, got.err)
				}
			})
		})
	}
}

// TestDoneRemovesDeadline checks that both the time limit of the pace and that of the server end with the body, as the
// server's does without this package.
func TestDoneRemovesDeadline(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{0, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			left := make(chan error, 1)
			server := &http.Server{ReadTimeout: limit, ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := Default.Body(w, r)
				_, _ = io.Copy(io.Discard, body)
				body.Done()
				time.Sleep(time.Hour)
				left <- r.Context().Err()
			})}
			listener := make(pipes, 1)
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(listener) }()
			client, conn := net.Pipe()
			listener <- conn
			go func() { _, _ = io.Copy(io.Discard, client) }()
			_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
			if err := <-left; err != nil {
				t.Errorf("limit %s: the request ended by the limit of its body: %v", limit, err)
			}
			_ = client.Close()
			close(listener)
			if err := <-ended; err == nil {
				t.Error("the server ended without a reason")
			}
			_ = server.Close()
			time.Sleep(time.Second) // in the time of the test: the server lingers on a connection that it closes
		})
	}
}

// TestKeepReplacesBody checks that a handler that knows nothing of the pace gets a body that must keep it, and that the
// limit ends with the body.
func TestKeepReplacesBody(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]bool{"in time": false, "a byte a second": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					Default.Keep(w, r)
					err := r.ParseForm()
					if err == nil {
						time.Sleep(time.Hour)
						err = r.Context().Err()
					}
					ended <- err
				})}
				listener := make(pipes, 1)
				closed := make(chan error, 1)
				go func() { closed <- server.Serve(listener) }()
				client, conn := net.Pipe()
				listener <- conn
				go func() { _, _ = io.Copy(io.Discard, client) }()
				_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n")
				if slow {
					drip(100, 1)(client)
				} else {
					drip(1, 100)(client)
				}
				if err := <-ended; TooSlow(err) != slow || !slow && err != nil {
					t.Errorf("error %v", err)
				}
				_ = client.Close()
				close(listener)
				if err := <-closed; err == nil {
					t.Error("the server ended without a reason")
				}
				_ = server.Close()
				time.Sleep(time.Second) // in the time of the test: the server lingers on a connection that it closes
			})
		})
	}
}

// TestWriterWithoutDeadlines checks that a body is read even if the ResponseWriter has no deadlines.
func TestWriterWithoutDeadlines(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("hello"))
	body := Default.Body(httptest.NewRecorder(), r)
	if text, err := io.ReadAll(body); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	body.Done()
	if TooSlow(io.ErrUnexpectedEOF) || TooSlow(nil) || TooSlow(context.Canceled) || !TooSlow(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}) || TooSlow(errors.New("x")) {
		t.Error("TooSlow misjudges an error")
	}
}

// TestLongReplacesReadTimeout checks that a long request must keep its pace, is not subject to the server's
// ReadTimeout, and may continue after its body.
func TestLongReplacesReadTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error, 1)
		server := &http.Server{ReadTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := Default.Long(w, r)
			_, err := io.ReadAll(body)
			body.Done()
			select {
			case <-r.Context().Done():
				err = r.Context().Err()
			case <-time.After(time.Hour):
			}
			done <- err
		})}
		listener := make(pipes, 1)
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		client, conn := net.Pipe()
		listener <- conn
		go func() { _, _ = io.Copy(io.Discard, client) }()
		_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n")
		drip(20, 1)(client)
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = client.Close()
		close(listener)
		if err := <-ended; err == nil {
			t.Error("the server ended without a reason")
		}
		_ = server.Close()
		time.Sleep(time.Second) // in the time of the test: the server lingers on a connection that it closes
	})
}

// TestHTTP2 checks that over HTTP/2 a body that does not keep the pace is cut off too, while the other requests of its
// connection continue, and that a request may continue after its body.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		results := make(chan read, 2)
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		server := &http.Server{Protocols: &protocols, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			body := Default.Body(w, r)
			text, err := io.ReadAll(body)
			if err == nil {
				body.Done()
				time.Sleep(time.Hour)
				err = r.Context().Err()
			}
			results <- read{len(text), time.Since(began), err}
		})}
		listener := make(pipes, 1)
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		dialed := 0
		transport := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			dialed++
			client, conn := net.Pipe()
			listener <- conn
			return client, nil
		}}
		post := func(body io.Reader) error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", body)
			if err != nil {
				return err
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				return err
			}
			return response.Body.Close()
		}
		whole := make(chan error, 1)
		go func() { whole <- post(strings.NewReader("hello")) }()
		synctest.Wait()
		source, rest := io.Pipe()
		slow := make(chan struct{})
		go func() {
			_ = post(source)
			close(slow)
		}()
		_, _ = io.WriteString(rest, "x")
		if got := <-results; got.n != 1 || !TooSlow(got.err) || got.took > 31*time.Second {
			t.Errorf("a byte, then nothing: %d bytes in %s, error %v", got.n, got.took, got.err)
		}
		if got := <-results; got.n != 5 || got.err != nil || got.took != time.Hour {
			t.Errorf("a whole body: %d bytes in %s, error %v", got.n, got.took, got.err)
		}
		if err := <-whole; err != nil || dialed != 1 {
			t.Errorf("the client of the whole body: %v; %d connections", err, dialed)
		}
		_ = rest.Close()
		<-slow
		transport.CloseIdleConnections()
		close(listener)
		if err := <-ended; err == nil {
			t.Error("the server ended without a reason")
		}
		_ = server.Close()
	})
}
