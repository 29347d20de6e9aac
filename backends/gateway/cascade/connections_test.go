package cascade

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// warm opens n connections to alpha and leaves them idle.
func (r *rig) warm(n int) {
	r.t.Helper()
	var inside, all sync.WaitGroup
	inside.Add(n)
	r.alpha.addSteps(make([]step, n)...)
	r.alpha.mu.Lock()
	for i := range r.alpha.script {
		r.alpha.script[i] = func(w http.ResponseWriter, q *http.Request) {
			inside.Done()
			inside.Wait() // so that each request has its own connection
			reply(200, completion("warm"))(w, q)
		}
	}
	r.alpha.mu.Unlock()
	for range n {
		all.Go(func() { r.ask("keychain-low").wantAnswer(r.t, "alpha/a-low", "warm") })
	}
	all.Wait()
}

// TestDeadConnections checks that a request whose reused connection dies without an answer is sent once more, on a new
// connection, however many idle connections there are.
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	const idle = 8
	t.Run("the new one lives", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha", "beta"}})
		r.warm(idle)
		r.alpha.addSteps(drop, reply(200, completion("alive")))
		opened := r.alpha.opened.Load()
		e := r.ask("keychain-low")
		e.wantAnswer(t, "alpha/a-low", "alive")
		if n := len(r.alpha.requests()) - idle; n != 2 || e.Attempts != 2 || len(e.Failed) != 1 || e.Failed[0].Code != connectionError {
			t.Errorf("%d requests were sent, %d attempts: %+v", n, e.Attempts, e.Failed)
		}
		if n := r.alpha.opened.Load() - opened; n != 1 {
			t.Errorf("%d connections were made", n)
		}
		if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); !state.LastFailure.IsZero() {
			t.Errorf("the age of a connection is a failure of its provider: %+v", state)
		}
		if first := r.observed[len(r.observed)-2]; first.Outcome != "connection_lost" || first.Cooldown != "" {
			t.Errorf("observed %+v", first)
		}
	})
	t.Run("the new one dies too", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha", "beta"}})
		r.warm(idle)
		r.alpha.setDefault(drop)
		r.beta.addSteps(answers("beta"))
		e := r.askStream("keychain-low")
		e.wantAnswer(t, "beta/b-low", "beta")
		if n := len(r.alpha.requests()) - idle; n != 2 || e.Attempts != 3 {
			t.Errorf("%d requests were sent, %d attempts", n, e.Attempts)
		}
		if !r.engine.Memory.Health.Provider("alpha", r.account.UserID).LastFailure.After(r.clock.now().Add(-1)) {
			t.Error("a new connection that dies is no failure")
		}
	})
	t.Run("a new one at once", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.setDefault(drop)
		e := r.ask("keychain-low")
		e.wantError(t, 502, "all_providers_failed")
		if len(r.alpha.requests()) != 1 || e.Attempts != 1 {
			t.Errorf("%d requests were sent, %d attempts", len(r.alpha.requests()), e.Attempts)
		}
		// The operator's log has the cause, the answer does not.
		const prefix = "the last one was alpha/a-low: connection_error: the connection to the upstream failed: "
		if cause := e.err.Cause; cause == nil || !strings.HasPrefix(cause.Error(), prefix) || len(cause.Error()) == len(prefix) || strings.Contains(e.err.Message, "alpha") {
			t.Errorf("the cause is %v", cause)
		}
	})
	t.Run("an old one after minutes", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.warm(idle)
		r.alpha.addSteps(func(http.ResponseWriter, *http.Request) {
			r.clock.advance(3 * time.Minute)
			panic(http.ErrAbortHandler)
		})
		e := r.ask("keychain-low")
		e.wantError(t, 502, "all_providers_failed")
		if n := len(r.alpha.requests()) - idle; n != 1 || e.Attempts != 1 {
			t.Errorf("%d requests were sent, %d attempts", n, e.Attempts)
		}
	})
	t.Run("one that has answered", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.warm(idle)
		r.alpha.addSteps(inOrder(reply(200, `{"choices":`), func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }, drop))
		e := r.ask("keychain-low")
		e.wantError(t, 502, "all_providers_failed")
		if n := len(r.alpha.requests()) - idle; n != 1 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// refuser is an HTTP/2 server that ends each stream by calling end.
type refuser struct {
	requests, connections atomic.Int32
	end                   func(f *http2.Framer, stream uint32) error
}

func (s *refuser) serve(conn net.Conn) error {
	defer conn.Close()
	s.connections.Add(1)
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return err
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		return err
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			s.requests.Add(1)
			err = s.end(f, frame.StreamID)
		}
		if err != nil {
			return err
		}
	}
}

// TestRefusedOnHTTP2 checks that an HTTP/2 server which refuses streams in a retryable way gets one retry, not as many
// as the transport would make.
func TestRefusedOnHTTP2(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *http2.Framer, stream uint32) error{
		"REFUSED_STREAM": func(f *http2.Framer, stream uint32) error {
			return f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		},
		"GOAWAY":         func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"PROTOCOL_ERROR": func(f *http2.Framer, stream uint32) error { return f.WriteRSTStream(stream, http2.ErrCodeProtocol) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cert := httptest.NewUnstartedServer(nil)
			cert.StartTLS()
			t.Cleanup(cert.Close)
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			server := &refuser{end: end}
			all.Go(func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					all.Go(func() { _ = server.serve(conn) })
				}
			})
			pool := NewTransport()
			pool.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			r := newRig(t, setup{transport: pool, keys: []string{"alpha"}})
			r.catalog.Providers()[0].BaseURL = "https://" + listener.Addr().String() + "/v1"
			e := r.ask("keychain-low")
			e.wantError(t, 502, "all_providers_failed")
			if n, c := server.requests.Load(), server.connections.Load(); n != 2 || c != 2 || e.Attempts != 2 {
				t.Errorf("%d requests were sent on %d connections, %d attempts", n, c, e.Attempts)
			}
			pool.CloseIdleConnections()
			_ = listener.Close()
			all.Wait()
		})
	}
}

// noFiles is a transport that fails like one without file descriptors.
type noFiles struct{ err error }

func (n noFiles) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return nil, n.err
}

// TestOutOfFileDescriptors checks that a gateway which cannot make connections, or is shutting down, answers that it is
// busy and does not blame its providers.
func TestOutOfFileDescriptors(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"of the process": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)},
		"of the machine": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.ENFILE)},
		"of a lookup":    &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "dial udp 192.0.2.1:53: socket: too many open files", Name: "x"}},
		"shutting down":  &net.OpError{Op: "dial", Net: "tcp", Err: outbound.ErrShutdown},
	} {
		r := newRig(t, setup{transport: noFiles{err}, keys: []string{"alpha", "alpha", "beta"}})
		e := r.ask("keychain-low")
		e.wantError(t, http.StatusServiceUnavailable, "overloaded")
		if e.err.RetryAfter <= 0 || e.Attempts != 1 || !errors.Is(e.err, err) {
			t.Errorf("%s: %+v after %d attempts", name, e.err, e.Attempts)
		}
		if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); !state.LastFailure.IsZero() {
			t.Errorf("%s: alpha is blamed: %+v", name, state)
		}
		if r.observed[0].Outcome != "gateway_busy" || r.observed[0].Cooldown != "" {
			t.Errorf("%s: observed %+v", name, r.observed[0])
		}
	}
}
