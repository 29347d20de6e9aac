package cascade

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestEarlyLeaverPaysForPrompt checks that the prompt is charged if the client leaves before the first content, because
// an upstream has worked on it. It is charged for the candidate that was asked last.
func TestEarlyLeaverPaysForPrompt(t *testing.T) {
	t.Parallel()
	head := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
	}
	for name, c := range map[string]struct {
		streams bool
		alpha   step // nil: alpha is not asked
		beta    step // step of beta before it hangs
	}{
		"stream, no head": {true, nil, nil},
		"stream, head":    {true, nil, stream()},
		"stream, role":    {true, nil, stream(role)},
		"stream, second":  {true, refusal(500, "", "m"), nil},
		"whole, no head":  {false, nil, nil},
		"whole, head":     {false, nil, head},
		"whole, half an answer": {false, nil, inOrder(head, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(completion("hi")[:100]))
			_ = http.NewResponseController(w).Flush()
		})},
		"whole, second": {false, refusal(429, "", "m"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup{keys: []string{"beta"}}
			if c.alpha != nil {
				s.keys = append(s.keys, "alpha")
			}
			r := newRig(t, s)
			if c.alpha != nil {
				r.alpha.addSteps(c.alpha)
			}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r.beta.addSteps(inOrder(func(w http.ResponseWriter, req *http.Request) {
				if c.beta != nil {
					c.beta(w, req)
				}
				leave()
			}, r.beta.hang))
			e := r.send(ctx, "keychain-low", c.streams, []string{`"messages":[{"role":"user","content":"` + long + `"}]`})
			if e.Status != 499 || e.Candidate != nil || !e.Estimated || len(e.Lost) != 1 {
				t.Fatalf("%v, %+v", e.rawErr, e.Result)
			}
			l := e.Lost[0]
			if l.Candidate.Entry != "beta/b-low" || l.Usage.Prompt != 101 || l.Usage.Completion != 0 || l.Usage.Known {
				t.Errorf("lost %+v by %s", l.Usage, l.Candidate.Entry)
			}
			last := e.Failed[len(e.Failed)-1]
			if len(e.Failed) != e.Attempts || last.Provider != "beta" || last.Model != "b-low" || last.Code != codeClientLeft {
				t.Errorf("%d attempts, failed %+v", e.Attempts, e.Failed)
			}
		})
	}
}

// TestLeavingBeforeTheRequestIsSent checks that nothing is charged if the client leaves before a request has been sent.
func TestLeavingBeforeTheRequestIsSent(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	huge := `"messages":[{"role":"user","content":"` + strings.Repeat("word ", 1<<20) + `"}]`
	for name, c := range map[string]struct {
		more string
		dial func(ctx context.Context, leave func()) (net.Conn, error)
	}{
		"no connection": {helloMessages, func(ctx context.Context, leave func()) (net.Conn, error) {
			leave()
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"half a request": {huge, func(ctx context.Context, leave func()) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
			if err != nil {
				return nil, err
			}
			return &leavesAt{Conn: conn, leave: leave, closed: make(chan struct{})}, nil
		}},
	} {
		for _, streams := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streams %t", name, streams), func(t *testing.T) {
				t.Parallel()
				ctx, leave := context.WithCancel(context.WithoutCancel(t.Context()))
				defer leave()
				transport := NewTransport()
				transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx, leave) }
				defer transport.CloseIdleConnections()
				r := newRig(t, setup{keys: []string{"alpha"}, transport: transport})
				e := r.send(ctx, "keychain-low", streams, []string{c.more})
				if e.Status != 499 || len(e.Lost) != 0 || e.Estimated || e.Usage.Prompt != 0 {
					t.Errorf("%v, %+v", e.rawErr, e.Result)
				}
				if e.Attempts != 1 || len(e.Failed) != 1 || e.Failed[0].Code != codeClientLeft {
					t.Errorf("failed %+v", e.Failed)
				}
			})
		}
	}
}

// leavesAt is a connection that accepts a megabyte, and then makes its client leave.
type leavesAt struct {
	net.Conn
	leave   func()
	written int
	once    sync.Once
	closed  chan struct{}
}

func (l *leavesAt) Write(p []byte) (int, error) {
	if l.written += len(p); l.written > 1<<20 {
		l.leave()
		<-l.closed
		return 0, net.ErrClosed
	}
	return len(p), nil
}

func (l *leavesAt) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.Close()
}
