// Package inboundtest looks whether the body of a request has to keep a pace.
package inboundtest

import (
	"net/http/httptest"
	"time"
)

// Recorder is an answer that notes the limits that are set to the reading of its request.
type Recorder struct {
	*httptest.ResponseRecorder
	set []time.Time
}

// New makes a recorder.
func New() *Recorder { return &Recorder{ResponseRecorder: httptest.NewRecorder()} }

// SetReadDeadline is called by http.ResponseController.
func (r *Recorder) SetReadDeadline(at time.Time) error {
	r.set = append(r.set, at)
	return nil
}

// Paced reports whether there was a limit, and none is left.
func (r *Recorder) Paced() bool {
	n := len(r.set)
	return n > 1 && !r.set[0].IsZero() && r.set[n-1].IsZero()
}
