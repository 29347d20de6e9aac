// Package inboundtest checks whether the body of a request must arrive at a pace.
package inboundtest

import (
	"net/http/httptest"
	"time"
)

// Recorder is a ResponseWriter that records the read deadlines that are set.
type Recorder struct {
	*httptest.ResponseRecorder
	set []time.Time
}

// New returns a recorder.
func New() *Recorder { return &Recorder{ResponseRecorder: httptest.NewRecorder()} }

// SetReadDeadline records a deadline. http.ResponseController calls it.
func (r *Recorder) SetReadDeadline(at time.Time) error {
	r.set = append(r.set, at)
	return nil
}

// Paced reports whether a deadline was set and then removed.
func (r *Recorder) Paced() bool {
	n := len(r.set)
	return n > 1 && !r.set[0].IsZero() && r.set[n-1].IsZero()
}
