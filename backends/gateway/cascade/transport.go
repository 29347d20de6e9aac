package cascade

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// NewTransport returns the connection pool to the providers of the catalog, whose base URLs are set by the operator.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		// Each open stream holds this buffer; larger bodies are written past it.
		WriteBufferSize:    2 << 10,
		DisableCompression: true, // streams must not wait for a decoder
	}
}

// NewGuardedTransport returns the connection pool to base URLs that users set. A dial to an address that is not public
// is refused unless allow contains it. The check is on the address that is connected to, so a host name cannot get
// around it.
func NewGuardedTransport(allow []netip.Prefix) *http.Transport {
	t := NewTransport()
	t.Proxy = nil // a proxy would dial in the gateway's place, past the guard
	t.DialContext = outbound.Dialer(allow).DialContext
	return t
}

// link holds what is known of the connection of an attempt.
type link struct {
	trace    httptrace.ClientTrace
	connect  *time.Timer // limits the time until there is a connection; nil if it is not limited
	now      func() time.Time
	began    time.Time
	reused   bool        // the connection had served another request before
	sent     atomic.Bool // the upstream has been sent the whole request
	answered atomic.Bool // the first byte of an answer has come
}

// watch returns a context under which exchanges report on their connections to l.
func (l *link) watch(ctx context.Context, now func() time.Time) context.Context {
	l.now = now
	l.trace.GotConn = l.connected
	l.trace.WroteRequest = l.wrote
	l.trace.GotFirstResponseByte = l.heard
	return httptrace.WithClientTrace(ctx, &l.trace)
}

// begin prepares for the next exchange. The timer connect, which may be nil, is stopped when there is a connection.
func (l *link) begin(connect *time.Timer) {
	l.connect, l.began, l.reused = connect, l.now(), false
	l.sent.Store(false)
	l.answered.Store(false)
}

// connected stops the timer for the connection. net/http calls it when an exchange has got one.
func (l *link) connected(c httptrace.GotConnInfo) {
	l.reused = c.Reused
	if l.connect != nil {
		l.connect.Stop()
	}
}

// wrote records that the request was sent. net/http calls it when the request has been written, or could not be.
func (l *link) wrote(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		l.sent.Store(true)
	}
}

// heard records that an answer has begun. net/http calls it when the first byte arrives.
func (l *link) heard() { l.answered.Store(true) }

// errUnprocessed is the error of an exchange whose request has not been processed, according to the upstream's server
// or the transport.
var errUnprocessed = errors.New("the upstream did not take the request")

// unprocessed returns errUnprocessed. As the GetBody of requests it keeps a transport from sending a request again by
// itself, possibly once for each connection that it has: the cascade sends a request once more itself.
func unprocessed() (io.ReadCloser, error) { return nil, errUnprocessed }

// ofAge is the time within which a connection may die of its age, because the upstream had closed it before it saw the
// request. If it dies later the request may be the cause, and the upstream has worked on it.
const ofAge = 5 * time.Second

// died reports whether a connection died before any byte of an answer came and possibly because of its age: upstreams
// close idle connections, sometimes just when a request is on its way. A new connection does not die of its age.
func (l *link) died(err error) bool {
	return errors.Is(err, errUnprocessed) || l.reused && !l.answered.Load() && l.now().Sub(l.began) < ofAge
}

// anew returns a transport like t that opens a new connection.
func anew(t http.RoundTripper) http.RoundTripper {
	pool, ok := t.(interface{ Clone() *http.Transport })
	if !ok { // without a pool there are no connections to choose from
		return t
	}
	fresh := pool.Clone() // a full clone, since HTTP/2 shares connections even with keep-alives disabled
	fresh.DisableKeepAlives = true
	return fresh
}
