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
		// Each open stream holds this buffer; larger bodies bypass it.
		WriteBufferSize:    2 << 10,
		DisableCompression: true, // streams must not wait for a decoder
	}
}

// NewGuardedTransport returns the connection pool to base URLs that users set. It refuses to connect to an address
// that is not public, unless allowed contains the address. The check is made on the address after name resolution, so
// a host name cannot circumvent it.
func NewGuardedTransport(allowed []netip.Prefix) *http.Transport {
	t := NewTransport()
	t.Proxy = nil // a proxy would dial in the gateway's place, past the guard
	t.DialContext = outbound.Dialer(allowed).DialContext
	return t
}

// link is the state of the connection that an attempt uses. net/http calls the methods that watch has registered: it
// calls connected in the goroutine of RoundTrip, and the others in goroutines of the connection, possibly after
// RoundTrip has returned.
type link struct {
	trace    httptrace.ClientTrace
	connect  *time.Timer // limits the time until there is a connection; nil if it is not limited
	now      func() time.Time
	began    time.Time
	reused   bool        // the connection had served another request before
	sent     atomic.Bool // the upstream has been sent the whole request
	answered atomic.Bool // the first byte of an answer has come
}

// watch returns a context under which the events of connections are recorded in l.
func (l *link) watch(ctx context.Context, now func() time.Time) context.Context {
	l.now = now
	l.trace.GotConn = l.connected
	l.trace.WroteRequest = l.wroteRequest
	l.trace.GotFirstResponseByte = l.gotFirstByte
	return httptrace.WithClientTrace(ctx, &l.trace)
}

// begin resets l for the next exchange. connectTimer, which may be nil, is stopped when a connection is made.
func (l *link) begin(connectTimer *time.Timer) {
	l.connect, l.began, l.reused = connectTimer, l.now(), false
	l.sent.Store(false)
	l.answered.Store(false)
}

// connected stops the timer for connecting. net/http calls it when an exchange has a connection.
func (l *link) connected(c httptrace.GotConnInfo) {
	l.reused = c.Reused
	if l.connect != nil {
		l.connect.Stop()
	}
}

// wroteRequest records that the request was sent. net/http calls it after the request was written, or could not be
// written.
func (l *link) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		l.sent.Store(true)
	}
}

// gotFirstByte records that an answer has begun. net/http calls it when the first byte arrives.
func (l *link) gotFirstByte() { l.answered.Store(true) }

// errUnprocessed is the error of an exchange whose request was not processed, as the upstream's server or the transport
// has stated.
var errUnprocessed = errors.New("the upstream did not process the request")

// unprocessed returns errUnprocessed. It is the GetBody function of requests. Its error keeps the transport from
// sending a request again by itself, which the transport might otherwise do once for each of its connections. The
// cascade repeats requests itself.
func unprocessed() (io.ReadCloser, error) { return nil, errUnprocessed }

// idleCloseTime limits the time from sending a request to the death of a reused connection. Within this time, the
// upstream's idle timeout is taken to be the cause: the upstream had closed the connection before it saw the request.
// If the connection dies later the request may be the cause, and the upstream may have worked on it.
const idleCloseTime = 5 * time.Second

// died reports whether a connection died before any byte of an answer came, possibly because of an idle timeout:
// upstreams close idle connections, sometimes just when a request is on its way. It reports false for a new connection,
// which has not been idle.
func (l *link) died(err error) bool {
	return errors.Is(err, errUnprocessed) || l.reused && !l.answered.Load() && l.now().Sub(l.began) < idleCloseTime
}

// withNewConnection returns a transport like t that opens a new connection for the request.
func withNewConnection(t http.RoundTripper) http.RoundTripper {
	pool, ok := t.(interface{ Clone() *http.Transport })
	if !ok { // without a pool there are no connections to choose from
		return t
	}
	fresh := pool.Clone() // a full clone, since HTTP/2 shares connections even with keep-alives disabled
	fresh.DisableKeepAlives = true
	return fresh
}
