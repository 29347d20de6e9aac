package scriptedmodel

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"
)

// trickle makes the call send the headers of the answer line by line, spread over the delay of the script. For this,
// it hijacks the connection, which only HTTP/1 allows. With any other protocol, it pauses before the headers. ok is
// false if the client has left. At the end of the answer the caller must call stop, which closes a hijacked
// connection.
func (c *call) trickle() (stop func(), ok bool) {
	headerTime := c.scr.delay
	if headerTime == 0 {
		headerTime = time.Second
	}
	conn, rw, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		return func() {}, c.pause(headerTime)
	}
	_ = conn.SetDeadline(time.Now().Add(MaxDuration))
	ctx, cancel := context.WithCancel(c.r.Context())
	go func() { // detects that the client has left, because the server does not for a hijacked connection
		_, _ = io.Copy(io.Discard, rw.Reader)
		cancel()
	}()
	c.r = c.r.WithContext(ctx)
	c.w = &slowWriter{call: c, conn: conn, out: rw.Writer, header: c.w.Header().Clone(), headerTime: headerTime}
	return func() {
		if c.complete { // otherwise the answer was cut, and what is in the buffer must not be sent
			_ = rw.Flush()
		}
		_ = conn.Close()
		cancel()
	}, true
}

// slowWriter is an http.ResponseWriter on a hijacked connection. The body ends with the connection or after the
// Content-Length.
type slowWriter struct {
	call        *call
	conn        net.Conn
	out         *bufio.Writer
	header      http.Header
	headerTime  time.Duration // over which the lines of the headers are spread
	wroteHeader bool
}

// Header implements http.ResponseWriter.
func (w *slowWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *slowWriter) WriteHeader(status int) {
	if w.wroteHeader {
		return
	}
	w.wroteHeader = true
	lines := []string{fmt.Sprintf("HTTP/1.1 %d %s\r\n", status, http.StatusText(status))}
	w.header.Set("Connection", "close")
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		for _, v := range w.header[name] {
			lines = append(lines, name+": "+v+"\r\n")
		}
	}
	lines = append(lines, "\r\n")
	gap := w.headerTime / time.Duration(len(lines))
	for _, line := range lines {
		if !w.call.pause(gap) {
			return
		}
		_, _ = w.out.WriteString(line)
		if w.out.Flush() != nil {
			w.call.gone = true
			return
		}
	}
}

// Write implements io.Writer.
func (w *slowWriter) Write(b []byte) (int, error) {
	if !w.wroteHeader {
		w.WriteHeader(http.StatusOK)
	}
	return w.out.Write(b)
}

// FlushError implements the method that http.ResponseController calls.
func (w *slowWriter) FlushError() error { return w.out.Flush() }

var (
	_ http.ResponseWriter = (*slowWriter)(nil)
	_ io.Writer           = (*slowWriter)(nil)
)
