package spending

import (
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// codeCannotCarry is the code of an attempt that was not made because the candidate's format cannot express the
// request.
const codeCannotCarry = "cannot_carry"

// timingsOf returns the latencies and failures in a batch of records. Records without a latency are skipped: they are
// charges for batches at a provider, which are not requests.
func timingsOf(records []Record) *timings.Batch {
	b := new(timings.Batch)
	for i := range records {
		r := &records[i]
		if r.Latency <= 0 {
			continue
		}
		ended := r.At.Add(bounded(r.Latency, maxRecordLatency))
		counts, failed := r.outcome()
		if counts {
			s := timings.Sample{At: ended, Kind: timings.All, Took: r.Latency, Failed: failed}
			b.Add(s)
			s.Kind, s.TeamID = timings.Team, r.TeamID
			b.Add(s)
		}
		lastAttemptLatency := r.Latency // what remains after the failed attempts
		for j := range r.FailedAttempts {
			a := &r.FailedAttempts[j]
			lastAttemptLatency -= time.Duration(a.LatencyMS) * time.Millisecond
			if failedAttempt(a) {
				b.Add(timings.Sample{
					At: ended, Kind: timings.Model, Provider: schema.Storable(a.Provider), Model: tidy(a.Model), Failed: true,
				})
			}
		}
		// A stream that breaks after its first content is not among the failed attempts, so it is counted here.
		brokenStream := failed && r.Status < http.StatusBadRequest
		if r.Provider != "" && counts && (!failed || brokenStream) {
			b.Add(timings.Sample{
				At: ended, Kind: timings.Model, Provider: r.Provider, Model: tidy(r.Model), Took: max(lastAttemptLatency, 0),
				Failed: failed,
			})
		}
	}
	return b
}

// outcome reports whether a request counts as answered or failed, and whether it failed. A request whose client
// disconnected, or that was refused because of the client, does not count.
func (r *Record) outcome() (counts, failed bool) {
	switch r.Code {
	case "":
		return true, false
	case codeClientLeft:
		return false, false
	}
	// A stream that broke has the status with which it began.
	return r.Status >= http.StatusInternalServerError || r.Status < http.StatusBadRequest, true
}

// failedAttempt reports whether an attempt failed because of the provider rather than because of the request.
func failedAttempt(a *apierror.Attempt) bool {
	switch a.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return false
	case 0:
		return a.Code != "" && a.Code != codeClientLeft && a.Code != codeCannotCarry
	}
	return a.Code != codeClientLeft
}
