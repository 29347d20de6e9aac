package cascade

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// link is what is known of the connection of an attempt.
type link struct {
	trace    httptrace.ClientTrace
	connect  *time.Timer // over the time until there is one; nil: none
	now      func() time.Time
	began    time.Time
	reused   bool        // it had served another request before
	sent     atomic.Bool // the upstream has been sent all of the request
	answered atomic.Bool // something of an answer has come
}

// watch makes exchanges under the context tell of their connections.
func (l *link) watch(ctx context.Context, now func() time.Time) context.Context {
	l.now = now
	l.trace.GotConn = l.connected
	l.trace.WroteRequest = l.wrote
	l.trace.GotFirstResponseByte = l.heard
	return httptrace.WithClientTrace(ctx, &l.trace)
}

// begin is called before each exchange; connect is nil or what ends it without a
// connection.
func (l *link) begin(connect *time.Timer) {
	l.connect, l.began, l.reused = connect, l.now(), false
	l.sent.Store(false)
	l.answered.Store(false)
}

func (l *link) connected(c httptrace.GotConnInfo) {
	l.reused = c.Reused
	if l.connect != nil {
		l.connect.Stop()
	}
}

func (l *link) wrote(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		l.sent.Store(true)
	}
}

func (l *link) heard() { l.answered.Store(true) }

// errUnprocessed is the error of an exchange of which the upstream's server, or the
// transport, says that nobody has looked at the request.
var errUnprocessed = errors.New("the upstream did not take the request")

// unprocessed is asked by a transport for the body of a request that it would send
// again by itself, for each connection that it has: the cascade does that once.
func unprocessed() (io.ReadCloser, error) { return nil, errUnprocessed }

// ofAge is how soon a connection dies of its age: the upstream had closed it before it
// saw the request. One that dies later may have died of it, and has worked on it.
const ofAge = 5 * time.Second

// died reports whether a connection died before anything of an answer came, so that
// the reason may be its age: upstreams close what has been idle, just when a request
// is on its way. A new connection has no such excuse.
func (l *link) died(err error) bool {
	return errors.Is(err, errUnprocessed) || l.reused && !l.answered.Load() && l.now().Sub(l.began) < ofAge
}

// anew returns a transport like t that makes a new connection.
func anew(t http.RoundTripper) http.RoundTripper {
	pool, ok := t.(interface{ Clone() *http.Transport })
	if !ok { // it has no connections to choose from
		return t
	}
	fresh := pool.Clone() // whole, since one of HTTP/2 shares connections also where they are not kept
	fresh.DisableKeepAlives = true
	return fresh
}
