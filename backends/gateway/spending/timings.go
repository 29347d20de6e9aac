package spending

import (
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// codeCannotCarry is the code of an attempt that was not made, since the candidate does not take such
// a request.
const codeCannotCarry = "cannot_carry"

// timingsOf counts a batch by how long its requests took. Batches of the providers, which are
// charged when they are done, have no time and do not count.
func timingsOf(records []Record) *timings.Batch {
	b := new(timings.Batch)
	for i := range records {
		r := &records[i]
		if r.Latency <= 0 {
			continue
		}
		ended := r.At.Add(bounded(r.Latency, maxRecordLatency))
		counts, wrong := r.outcome()
		if counts {
			s := timings.Sample{At: ended, Kind: timings.All, Took: r.Latency, Failed: wrong}
			b.Add(s)
			s.Kind, s.TeamID = timings.Team, r.TeamID
			b.Add(s)
		}
		took := r.Latency
		for j := range r.FailedAttempts {
			a := &r.FailedAttempts[j]
			took -= time.Duration(a.LatencyMS) * time.Millisecond
			if failedAttempt(a) {
				b.Add(timings.Sample{At: ended, Kind: timings.Model, Provider: schema.Storable(a.Provider), Model: tidy(a.Model), Failed: true})
			}
		}
		// A stream that broke off once its client had a part of it is not among the attempts that failed.
		if r.Provider != "" && counts && (!wrong || r.Status < http.StatusBadRequest) {
			b.Add(timings.Sample{At: ended, Kind: timings.Model, Provider: r.Provider, Model: tidy(r.Model), Took: max(took, 0), Failed: wrong})
		}
	}
	return b
}

// outcome reports whether a request was answered or failed, and which of both. What a client left,
// or was refused for its own fault, is neither.
func (r *Record) outcome() (counts, wrong bool) {
	switch r.Code {
	case "":
		return true, false
	case codeClientLeft:
		return false, false
	}
	// A stream that broke off has the status that it began with.
	return r.Status >= http.StatusInternalServerError || r.Status < http.StatusBadRequest, true
}

// failedAttempt reports whether the provider is at fault, and not the request.
func failedAttempt(a *apierror.Attempt) bool {
	switch a.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return false
	case 0:
		return a.Code != "" && a.Code != codeClientLeft && a.Code != codeCannotCarry
	}
	return a.Code != codeClientLeft
}
