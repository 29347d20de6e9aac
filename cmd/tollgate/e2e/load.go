package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// AwayFromMinuteEnd sleeps until the next minute if the current minute is about to end, so that a count is not divided
// between two windows.
func AwayFromMinuteEnd() {
	if now := time.Now(); now.Second() >= 54 {
		time.Sleep(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
	}
}

// load is a number of clients that send one request after another until Stop is called.
type load struct {
	done    chan struct{} // closed by Stop
	clients sync.WaitGroup
	mu      sync.Mutex // guards answers, which the clients extend while a test reads them
	answers []Outcome
}

// Outcome is the outcome of a request of a load.
type Outcome struct {
	At     time.Time // the end of the response
	ID     string    // the request id
	Status int
	Code   string // the error code, if the status is not 200
	Err    error  // the exchange failed, or the stream is incomplete
}

// String returns the outcome for an error message.
func (o Outcome) String() string { return fmt.Sprintf("%d %s %v", o.Status, o.Code, o.Err) }

// oneShot opens a new connection for each request.
var oneShot = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

// Unanswered reports whether a request failed with its connection before any response. A reload can do that to new
// requests: a server of net/http that shuts down closes connections whose first request has not begun, and the kernel
// resets connections that were not accepted yet, unless net.ipv4.tcp_migrate_req moves them. SDKs repeat such requests.
func Unanswered(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

// StartLoad starts clients that send requests for the model keychain-high until Stop is called, with a pause after each
// request. Each client streams every second request. Every second client opens a new connection for each request. Like
// SDKs, all clients repeat a request that gets no response.
func StartLoad(base, key string, clients int, pause time.Duration) *load {
	l := &load{done: make(chan struct{})}
	for c := range clients {
		client := Client
		if c%2 == 0 {
			client = oneShot
		}
		l.clients.Go(func() {
			for i := c; ; i++ { // the clients begin differently, so that streams and whole answers overlap
				select {
				case <-l.done:
					return
				default:
				}
				o := ask(client, base, key, i%2 == 0)
				l.mu.Lock()
				l.answers = append(l.answers, o)
				l.mu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	return l
}

// ask sends a request to the model keychain-high, again if it gets no response, and returns its outcome.
func ask(client *http.Client, base, key string, stream bool) Outcome {
	resp, err := openVia(BackgroundContext, client, base, key, Prompt("keychain-high", stream)) //nolint:bodyclose // read does
	for attempt := 1; err != nil && attempt <= 5; attempt++ {
		time.Sleep(time.Duration(attempt) * 50 * time.Millisecond)
		resp, err = openVia(BackgroundContext, client, base, key, Prompt("keychain-high", stream)) //nolint:bodyclose // read does
	}
	a := Read(resp, err)
	o := Outcome{At: time.Now(), Status: a.Status, Err: a.Err}
	if a.Err != nil {
		return o
	}
	o.ID = a.Header.Get("X-Request-Id")
	if stream && a.Status == 200 && !strings.HasSuffix(a.Body, "data: [DONE]\n\n") {
		o.Err = errors.New("the stream has no end")
	}
	var f failure
	if a.Status != 200 && json.Unmarshal([]byte(a.Body), &f) == nil && f.Error.Code != nil {
		o.Code = *f.Error.Code
	}
	return o
}

// Stop stops the clients and waits for their last requests.
func (l *load) Stop() {
	close(l.done)
	l.clients.Wait()
}

// Outcomes returns the outcomes for which accept returns true, in order.
func (l *load) Outcomes(accept func(Outcome) bool) []Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.answers), func(o Outcome) bool { return !accept(o) })
}

// Failed returns the outcomes with an error or a status other than 200.
func (l *load) Failed() []Outcome {
	return l.Outcomes(func(o Outcome) bool { return o.Err != nil || o.Status != 200 })
}

// Succeeded returns the ids of the requests that did not fail.
func (l *load) Succeeded() []string {
	succeeded := l.Outcomes(func(o Outcome) bool { return o.Err == nil && o.Status == 200 })
	ids := make([]string, 0, len(succeeded))
	for _, o := range succeeded {
		ids = append(ids, o.ID)
	}
	return ids
}

// Await waits until there is an outcome after start for which accept returns true. description is for the error.
func (l *load) Await(
	t *testing.T, limit time.Duration, description string, start time.Time, accept func(Outcome) bool,
) {
	t.Helper()
	Eventually(t, limit, description, func() error {
		if len(l.Outcomes(func(o Outcome) bool { return o.At.After(start) && accept(o) })) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
}
