package apierrors

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// responseWriter records whether the response has begun. It sets the request id when the header is sent, so that later
// handlers and upstreams cannot replace it. It is not pooled, because a hijacked connection or a late flush may outlive
// the handler.
type responseWriter struct {
	caddyhttp.ResponseWriterWrapper

	id          [3]string // the values of the two response headers and the request header, kept here to save allocations
	otherHeader string    // another header for the id, or empty
	began       bool      // the final status was sent, or the connection was hijacked
	expects     bool      // the client waits for status 100 before it sends the body
}

// newResponseWriter returns a writer that adds the request id to the response, in X-Request-Id and in otherHeader,
// unless that is empty.
func newResponseWriter(w http.ResponseWriter, id, otherHeader string) *responseWriter {
	return &responseWriter{
		ResponseWriterWrapper: caddyhttp.ResponseWriterWrapper{ResponseWriter: w},
		id:                    [3]string{id, id, id},
		otherHeader:           otherHeader,
	}
}

// setRequestID sets the headers with the request id, replacing ids that an upstream has set.
func (w *responseWriter) setRequestID() {
	header := w.Header()
	header[requestIDHeader] = w.id[:1:1]
	if w.otherHeader != "" {
		header[w.otherHeader] = w.id[1:2:2]
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	if !w.began {
		w.setRequestID()
		if w.expects && status >= http.StatusBadRequest {
			// net/http sets this header itself when it refuses a request whose body was not read. It cannot detect that through
			// Caddy's wrapper of the body, and would read the body before it answers.
			w.Header().Set("Connection", "close")
		}
		w.began = status >= http.StatusOK || status == http.StatusSwitchingProtocols
	}
	w.ResponseWriter.WriteHeader(status)
}

// begin sends status 200, as net/http does for a handler that sets no status.
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

// FlushError flushes the response, which sends the header. http.ResponseController calls it.
func (w *responseWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack takes over the connection. http.ResponseController calls it. No response can be sent on a hijacked connection
// any more.
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
