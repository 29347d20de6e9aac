// Package inbound limits the time in which the body of a request must arrive and a large response must be received.
// Without a limit, a client that sends or receives a byte now and then could hold a request for ever.
package inbound

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Pace is the minimum speed of a transfer.
type Pace struct {
	// Stall is the longest time without any progress.
	Stall time.Duration
	// Rate is the minimum average rate in bytes per second, measured from one Stall after the beginning of the transfer.
	Rate int64
}

// Default allows half a minute for a small body, and 33 minutes for 32 MB, which arrive in that time over a line of 128
// kbit/s.
var Default = Pace{Stall: 30 * time.Second, Rate: 16 << 10}

// Body is the body of a request that must arrive at a pace. If it arrives more slowly, reads fail with an error for
// which TooSlow reports true.
type Body struct {
	from           io.ReadCloser           // the request's body
	control        http.ResponseController // sets deadlines on the connection
	detached       bool                    // no deadline can be set, or none is needed any more
	request        *http.Request
	pace           Pace
	began          time.Time
	read           int64     // bytes read so far
	serverDeadline time.Time // deadline by the server's ReadTimeout; zero if there is none
	armed          time.Time // deadline that is set on the connection; zero if none is set
}

// Body returns a Body that reads the body of r and sets deadlines on the connection through w.
func (p Pace) Body(w http.ResponseWriter, r *http.Request) *Body {
	b := &Body{from: r.Body, control: *http.NewResponseController(w), request: r, pace: p, began: time.Now()}
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ReadTimeout > 0 {
		b.serverDeadline = b.began.Add(server.ReadTimeout)
	}
	return b
}

// Keep replaces the body of r by a Body with the pace p, so that the pace applies to every reader. w is the response
// writer for r. The deadline ends with the body.
func (p Pace) Keep(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = p.Body(w, r)
	}
}

// Long works like Body for a request that may take longer than the server's ReadTimeout. The pace replaces that limit.
func (p Pace) Long(w http.ResponseWriter, r *http.Request) *Body {
	b := p.Body(w, r)
	b.serverDeadline = time.Time{}
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

// arm moves the deadline for the next read. If the new deadline is later than the present one by only a small part of
// the permitted stall, arm keeps the present one, so that many small reads do not each set a deadline.
func (b *Body) arm() {
	if b.detached {
		return
	}
	deadline := b.pace.deadline(b.began, b.read)
	if !b.serverDeadline.IsZero() && b.serverDeadline.Before(deadline) {
		deadline = b.serverDeadline
	}
	if deadline.Sub(b.armed) < b.pace.Stall/32 {
		return
	}
	// No deadline is set after the end of the request, because its connection may serve another request by then.
	if b.request.Context().Err() != nil || b.control.SetReadDeadline(deadline) != nil {
		b.detached = true
		return
	}
	b.armed = deadline
}

// Done removes the read deadline, which includes the server's ReadTimeout. Call it when no more of the body will be
// read: the deadline is meant for the body, and would cancel the context of the work that follows. A read that reaches
// the end of the body calls Done. After a failed read the deadline stays, because the server may still wait for the
// rest of the body.
func (b *Body) Done() {
	if !b.detached && !b.armed.IsZero() && b.request.Context().Err() == nil {
		_ = b.control.SetReadDeadline(time.Time{}) // SetReadDeadline has worked before
		b.armed = time.Time{}
	}
}

// TooSlow reports whether err means that a body was slower than its pace or the server's limit.
func TooSlow(err error) bool {
	timeout, ok := errors.AsType[net.Error](err) // os.ErrDeadlineExceeded is one
	return ok && timeout.Timeout()
}
