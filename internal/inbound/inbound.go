// Package inbound bounds the time that the body of a request may take to come, and a
// large answer to be taken, so that a client that sends or takes a byte now and then
// does not hold a request for ever.
package inbound

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Pace is how slowly a body may come, or be taken.
type Pace struct {
	// Stall is the longest time in which nothing of it comes.
	Stall time.Duration
	// Rate is how many bytes a second it has on the whole, after a first Stall.
	Rate int64
}

// Default lets 32 MB come within 33 minutes, over a line of 128 kbit/s, and what
// is small within half a minute.
var Default = Pace{Stall: 30 * time.Second, Rate: 16 << 10}

// Body is the body of a request that has to keep a pace. Once it does not, reads
// fail: see TooSlow.
type Body struct {
	from    io.ReadCloser
	control http.ResponseController
	free    bool // no deadline can be set any more
	request *http.Request
	pace    Pace
	began   time.Time
	read    int64
	last    time.Time // the server's own limit; zero: none
	armed   time.Time
}

// Body reads the body of r, which w answers.
func (p Pace) Body(w http.ResponseWriter, r *http.Request) *Body {
	b := &Body{from: r.Body, control: *http.NewResponseController(w), request: r, pace: p, began: time.Now()}
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ReadTimeout > 0 {
		b.last = b.began.Add(server.ReadTimeout)
	}
	return b
}

// Keep has the body of r, which w answers, keep the pace, whoever reads it. Its limit ends
// with it.
func (p Pace) Keep(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = p.Body(w, r)
	}
}

// Long is Body for a request that may take longer than its server lets one come: the pace
// stands in the place of the server's limit.
func (p Pace) Long(w http.ResponseWriter, r *http.Request) *Body {
	b := p.Body(w, r)
	b.last = time.Time{}
	return b
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	b.arm()
	n, err := b.from.Read(p)
	b.read += int64(n)
	if errors.Is(err, io.EOF) {
		b.Done()
	}
	return n, err
}

// Close implements io.Closer.
func (b *Body) Close() error { return b.from.Close() }

// arm moves the deadline on, not for each little piece.
func (b *Body) arm() {
	if b.free {
		return
	}
	deadline := b.pace.deadline(b.began, b.read)
	if !b.last.IsZero() && b.last.Before(deadline) {
		deadline = b.last
	}
	if deadline.Sub(b.armed) < b.pace.Stall/32 {
		return
	}
	// Behind the end of a request its connection may be another one's.
	if b.request.Context().Err() != nil || b.control.SetReadDeadline(deadline) != nil {
		b.free = true
		return
	}
	b.armed = deadline
}

// Done ends the limit of a body of which no more is read, as its end does, and that of the
// server: both are of the body, and the context of what is done behind it would end with
// them. One that failed keeps it: the server may wait for the rest of it.
func (b *Body) Done() {
	if !b.free && !b.armed.IsZero() && b.request.Context().Err() == nil {
		_ = b.control.SetReadDeadline(time.Time{}) // what could be set can be lifted
		b.armed = time.Time{}
	}
}

// TooSlow reports whether a body could not be read since it did not keep its pace,
// or that of the server.
func TooSlow(err error) bool {
	timeout, ok := errors.AsType[net.Error](err) // as os.ErrDeadlineExceeded is
	return ok && timeout.Timeout()
}
