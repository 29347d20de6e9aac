package inbound

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// written is the result of writing an answer on the server.
type written struct {
	took       time.Duration
	err, later error // later is the error of a write one hour after the answer
}

// answer runs a server that writes one long response, under a WriteTimeout of limit, to a client that reads it with
// take.
func answer(t *testing.T, limit time.Duration, take func(io.Reader)) written {
	t.Helper()
	results := make(chan written, 1)
	server := &http.Server{ReadHeaderTimeout: time.Hour, WriteTimeout: limit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		err := Default.Write(r.Context(), w, []byte(strings.Repeat("x", 1<<20)))
		got := written{took: time.Since(began), err: err}
		if err == nil {
			time.Sleep(time.Hour) // in the time of the test
			_, _ = io.WriteString(w, "more")
			got.later = http.NewResponseController(w).Flush()
		}
		results <- got
	})}
	listener := make(pipes, 1)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	client, conn := net.Pipe()
	listener <- conn
	_, _ = fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	took := make(chan struct{})
	go func() {
		defer close(took)
		take(client)
	}()
	got := <-results
	_ = client.Close()
	<-took
	close(listener)
	if err := <-ended; err == nil {
		t.Error("the server ended without a reason")
	}
	_ = server.Close()
	time.Sleep(time.Second) // in the time of the test: the server lingers on a connection that it closes
	return got
}

// sip returns a client that reads so many bytes each second.
func sip(bytes int64) func(io.Reader) {
	return func(r io.Reader) {
		for {
			if _, err := io.CopyN(io.Discard, r, bytes); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}
}

// TestPaceOfAnswers checks that a client that does not read a large answer cannot hold it forever, and that the time
// limit ends with the answer.
func TestPaceOfAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit    time.Duration // the WriteTimeout of the server
		take     func(io.Reader)
		slow     bool
		from, to time.Duration
	}{
		"at once":          {0, func(r io.Reader) { _, _ = io.Copy(io.Discard, r) }, false, 0, time.Second},
		"at a modem's":     {0, sip(20 << 10), false, 50 * time.Second, 55 * time.Second},
		"not at all":       {0, func(io.Reader) {}, true, 30 * time.Second, 30 * time.Second},
		"by drops":         {0, sip(100), true, 30 * time.Second, time.Minute},
		"a pace too slow":  {0, sip(8 << 10), true, 30 * time.Second, 2 * time.Minute},
		"a server's limit": {5 * time.Second, func(io.Reader) {}, true, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := answer(t, c.limit, c.take)
				if (got.err != nil) != c.slow || got.later != nil || got.took < c.from || got.took > c.to {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}
