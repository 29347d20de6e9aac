package scriptedmodel

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxRecordedBody limits how many bytes of a body are recorded.
const maxRecordedBody = 1 << 20

// Recorded is one request as this server received it, credentials included.
type Recorded struct {
	Method string
	Path   string // with the query
	Header http.Header
	// Body is the first MiB of the body. BodySize is the length of the whole body.
	Body     []byte
	BodySize int
	// Disconnected is when the server noticed that the client had left before the answer was complete. It is zero if
	// the client did not leave.
	Disconnected time.Time
}

// requestLog keeps the last requests. A limit of 0 keeps none.
type requestLog struct {
	limit int
	mu    sync.Mutex
	list  []*Recorded
}

// add records a request, whose body is set later. It returns nil if requests are not recorded.
func (l *requestLog) add(r *http.Request) *Recorded {
	if l.limit == 0 {
		return nil
	}
	e := &Recorded{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= l.limit {
		l.list = slices.Delete(l.list, 0, len(l.list)-l.limit+1)
	}
	l.list = append(l.list, e)
	return e
}

// setBody adds the body to a record. It does nothing if e is nil.
func (l *requestLog) setBody(e *Recorded, b []byte) {
	if e == nil {
		return
	}
	firstPart := bytes.Clone(b[:min(len(b), maxRecordedBody)])
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Body, e.BodySize = firstPart, len(b)
}

// setDisconnected records that the client has closed the connection. It does nothing if e is nil.
func (l *requestLog) setDisconnected(e *Recorded) {
	if e == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Disconnected = time.Now()
}

// Requests returns the last requests, oldest first, including those in progress, but at most Options.Record. The
// caller must not modify Header and Body.
func (s *Server) Requests() []Recorded {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	list := make([]Recorded, len(s.log.list))
	for i, e := range s.log.list {
		list[i] = *e
	}
	return list
}
