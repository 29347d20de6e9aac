package apierrors

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// responseWriter notes whether the response has begun and puts the request id
// on it, last, so that no handler or upstream below can set another one. It is
// not pooled: a hijacked connection or a late flush may outlive the handler.
type responseWriter struct {
	caddyhttp.ResponseWriterWrapper

	id    [3]string // the values of the two headers and of the request's, here to save allocations
	both  bool      // the header Request-Id too
	began bool
	// expects: the client waits to be asked for the body.
	expects bool
}

func newResponseWriter(w http.ResponseWriter, id string, both bool) *responseWriter {
	return &responseWriter{
		ResponseWriterWrapper: caddyhttp.ResponseWriterWrapper{ResponseWriter: w},
		id:                    [3]string{id, id, id},
		both:                  both,
	}
}

func (w *responseWriter) stamp() {
	header := w.Header()
	header[requestIDHeader] = w.id[:1:1]
	if w.both {
		header["Request-Id"] = w.id[1:2:2]
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	if !w.began {
		w.stamp()
		if w.expects && status >= http.StatusBadRequest {
			// What net/http does for a refusal of which the body is not asked for; it
			// cannot tell through the body that Caddy has put before it, and would
			// read before it answers.
			w.Header().Set("Connection", "close")
		}
		w.began = status >= http.StatusOK || status == http.StatusSwitchingProtocols
	}
	w.ResponseWriter.WriteHeader(status)
}

// begin does what net/http does for a handler that sends no status.
func (w *responseWriter) begin() {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom, which lets the server use sendfile.
func (w *responseWriter) ReadFrom(src io.Reader) (int64, error) {
	w.begin()
	return w.ResponseWriterWrapper.ReadFrom(src)
}

// FlushError is what http.ResponseController calls; a flush sends the header.
func (w *responseWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack is what http.ResponseController calls; on a taken connection nothing
// can be answered any more.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.began = true
	}
	return conn, buf, err
}

var (
	_ http.ResponseWriter = (*responseWriter)(nil)
	_ http.Hijacker       = (*responseWriter)(nil)
	_ http.Pusher         = (*responseWriter)(nil)
	_ io.ReaderFrom       = (*responseWriter)(nil)
)
