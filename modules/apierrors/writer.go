package apierrors

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// responseWriter records whether the response has begun. It sets the request id when the header is sent, so that later
// handlers and upstreams cannot replace it. It is not pooled, because a hijacked connection or a late flush may outlive
// the handler.
type responseWriter struct {
	edge.HeaderWriter

	id          [3]string // the values of the two response headers and the request header, kept here to save allocations
	otherHeader string    // another header for the id, or empty
	expects     bool      // the client waits for status 100 before it sends the body
}

// newResponseWriter returns a writer that adds the request id to the response, in X-Request-Id and in otherHeader,
// unless that is empty.
func newResponseWriter(w http.ResponseWriter, id, otherHeader string) *responseWriter {
	rw := &responseWriter{id: [3]string{id, id, id}, otherHeader: otherHeader}
	rw.Init(w, rw)
	return rw
}

// BeforeHeader implements edge.HeaderHook.
func (w *responseWriter) BeforeHeader(status int) {
	w.setRequestID()
	if w.expects && status >= http.StatusBadRequest {
		// net/http sets this header itself when it refuses a request whose body was not read. Through Caddy's wrapper of the
		// body, it cannot detect that the body was not read, and would read the body before it answers.
		w.Header().Set("Connection", "close")
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

// Hijack takes over the connection. http.ResponseController calls it. No response can be sent on a hijacked connection
// any more.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.Began = true
	}
	return conn, buf, err
}

var (
	_ http.ResponseWriter = (*responseWriter)(nil)
	_ http.Hijacker       = (*responseWriter)(nil)
	_ http.Pusher         = (*responseWriter)(nil)
	_ io.ReaderFrom       = (*responseWriter)(nil)
)
