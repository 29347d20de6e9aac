package query

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Serve answers a query request for an entity: "events", "reports", "event-counts", "aggregate-event-counts", "nodes",
// "environments", "producers", or an entity that is never stored. An empty entity means the root endpoint, where the
// query names the entity. With a scope, "metrics" and "logs" return the lists of one report, and "node", "environment",
// "producer" and "catalog" return one object. "fact-names" returns an empty list of names. "mbeans" and "mbean" return
// beans in the format of Jolokia.
//
// scope restricts the answer, for example to the events of one report. The objects in it must exist.
//
// Serve also writes the answer for an error. If an error occurs after the answer has begun, Serve panics with
// http.ErrAbortHandler to close the connection.
func (s *Service) Serve(w http.ResponseWriter, r *http.Request, entity string, scope Scope) {
	inbound.Default.Keep(w, r) // limits the time for the request body
	pl, err := s.admit(r, entity, scope)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	answerTimer := time.AfterFunc(s.o.MaxTime, func() { cancel(errTimeout) })
	defer answerTimer.Stop()
	out := &output{
		w: w, control: http.NewResponseController(w), timeout: s.o.Timeout, gzip: acceptsGzip(r),
		lease: lease{querySlots: &s.slots},
	}
	defer out.release()
	if pl.pretty {
		out.indenter = new(indenter)
	}
	out.pieceTimer = time.AfterFunc(s.o.Timeout, func() { cancel(errTimeout) })
	defer out.pieceTimer.Stop()
	err = s.execute(ctx, pl, out)
	if err == nil {
		err = out.close()
	}
	if err == nil {
		return
	}
	if !out.begun {
		s.fail(w, r, statusError(ctx, err))
		return
	}
	if !errors.As(err, new(*clientError)) && r.Context().Err() == nil {
		s.o.Logger.Warn("the answer to a query is incomplete", zap.Error(err))
	}
	// The status has been sent, so closing the connection is the only way to show the error to the client.
	panic(http.ErrAbortHandler)
}

// admit checks a request and returns its plan, without using the database. The error is for the client.
func (s *Service) admit(r *http.Request, entity string, scope Scope) (*plan, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return nil, &Error{Status: http.StatusMethodNotAllowed, Text: "queries must be made via GET or POST"}
	}
	if !AcceptsJSON(r.Header.Values("Accept")) {
		return nil, &Error{Status: http.StatusNotAcceptable, Text: "must accept application/json"}
	}
	p, err := readParams(r, entity)
	if err != nil {
		return nil, err
	}
	return s.plan(entity, p, scope)
}

// AcceptsJSON reports whether the values of a request's Accept headers allow JSON. A request without Accept headers,
// or with only empty ones, allows it.
func AcceptsJSON(accept []string) bool {
	list := strings.Join(accept, ",")
	if strings.Trim(list, ", \t") == "" {
		return true
	}
	for part := range strings.SplitSeq(list, ",") {
		media, quality, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "application/json", "application/*", "*/*":
			if !excludes(quality) {
				return true
			}
		}
	}
	return false
}

// excludes reports whether the parameters of a media type or a coding contain "q=0", with which a client excludes
// that media type or coding.
func excludes(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, v, _ := strings.Cut(strings.TrimSpace(p), "=")
		if q, err := strconv.ParseFloat(v, 64); strings.EqualFold(name, "q") && err == nil && q == 0 {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether the client accepts an answer that is compressed with gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, quality, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			return !excludes(quality)
		}
	}
	return false
}

// fail answers with an error. If err is not an [Error], it is logged, and the answer does not contain it.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := asError(err)
	if e == nil {
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		s.o.Logger.Error("query failed", zap.Error(err))
		e = &Error{Status: http.StatusInternalServerError, Text: "the query failed; the reason is in the log of the server"}
	}
	if e.cause != nil {
		s.o.Logger.Warn("query failed", zap.Error(e.cause))
	}
	h := w.Header()
	if e.Status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET, HEAD, POST")
	}
	if e.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "2")
	}
	body := []byte(e.Text)
	h.Set("Content-Type", "text/plain;charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	if e.JSON {
		h.Set("Content-Type", "application/json;charset=utf-8")
		body = append(jsontext.AppendQuoted([]byte(`{"error":`), e.Text), '}')
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(body) // an error means that the client has gone
}

// outputSize is the size of the pieces in which an answer is sent.
const outputSize = 32 << 10

// output is the body of a successful answer. The status and headers are sent with the first piece of the body.
type output struct {
	w          http.ResponseWriter
	control    *http.ResponseController
	timeout    time.Duration
	pieceTimer *time.Timer // ends the query if no rows arrive
	gzip       bool
	total      string // value of the header X-Records, or empty
	begun      bool   // the status and headers have been sent
	lease
	lenAtReset int          // length of the buffer when the timer was last reset
	buf        []byte       // not yet sent
	*indenter               // nil for compact JSON
	gzipWriter *gzip.Writer // nil if the answer is not compressed
	dst        io.Writer    // w or gzipWriter
}

// gzipWriters contains writers for reuse, because a new one allocates much memory.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// Write buffers a part of the answer, and sends the buffer in pieces. Before the first piece is sent, Write may buffer
// the entire answer; see lease.mayBuffer.
func (o *output) Write(b []byte) (int, error) {
	if o.indenter != nil {
		o.buf = o.append(o.buf, b)
	} else {
		o.buf = append(o.buf, b...)
	}
	if len(o.buf) < o.lenAtReset+outputSize {
		return len(b), nil
	}
	if !o.begun {
		if o.mayBuffer(len(o.buf)) {
			o.lenAtReset = len(o.buf)
			o.pieceTimer.Reset(o.timeout)
			return len(b), nil
		}
		if err := o.acquireLong(); err != nil {
			return 0, err
		}
	}
	return len(b), o.flush()
}

// restart discards the buffered answer, of which nothing has been sent.
func (o *output) restart() {
	o.buf, o.lenAtReset = o.buf[:0], 0
	if o.indenter != nil {
		o.indenter = new(indenter)
	}
	o.pieceTimer.Reset(o.timeout)
}

// begin sends the status and headers, and chooses the compression of the body.
func (o *output) begin() {
	o.begun = true
	h := o.w.Header()
	h.Set("Content-Type", "application/json;charset=utf-8")
	h.Set("Vary", "Accept-Encoding, User-Agent")
	if o.total != "" {
		h.Set("X-Records", o.total)
	}
	o.dst = o.w
	if o.gzip {
		h.Set("Content-Encoding", "gzip")
		o.gzipWriter = gzipWriters.Get().(*gzip.Writer)
		o.gzipWriter.Reset(o.w)
		o.dst = o.gzipWriter
	}
	o.w.WriteHeader(http.StatusOK)
}

// flush sends the buffered part of the answer. The client must read each piece of outputSize bytes within the timeout.
func (o *output) flush() error {
	if !o.begun {
		o.begin()
	}
	for piece := range slices.Chunk(o.buf, outputSize) {
		o.pieceTimer.Reset(o.timeout)
		// The deadline limits the time in which a client must read the piece. Not every writer supports deadlines.
		_ = o.control.SetWriteDeadline(time.Now().Add(o.timeout))
		if _, err := o.dst.Write(piece); err != nil {
			return &clientError{err}
		}
	}
	o.buf, o.lenAtReset = o.buf[:0], 0
	return nil
}

// close sends the rest of the answer.
func (o *output) close() error {
	if err := o.flush(); err != nil {
		return err
	}
	if o.gzipWriter != nil {
		err := o.gzipWriter.Close()
		gzipWriters.Put(o.gzipWriter)
		o.gzipWriter = nil
		if err != nil {
			return &clientError{err}
		}
	}
	_ = o.control.SetWriteDeadline(time.Time{})
	return nil
}
