package spending

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestTimings counts answered requests, and those that failed by a fault of the gateway or of a provider, in all, by
// model and by team.
func TestTimings(t *testing.T) {
	t.Parallel()
	failed := func(status int, code string) []apierror.Attempt {
		return []apierror.Attempt{{Provider: "beta", Model: "small", Status: status, Code: code, LatencyMS: 4000}}
	}
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		for i, r := range []Record{
			{Status: 200, Provider: "alpha", Model: "large", TeamID: "red", Latency: 2 * time.Second},
			{Status: 200, Provider: "alpha", Model: "large", Latency: 6 * time.Second, FailedAttempts: failed(503, "overloaded")},
			{Status: 200, Code: "upstream_stream_error", Provider: "alpha", Model: "large", Latency: time.Second},
			{Status: 502, Code: "all_providers_failed", Latency: time.Second, FailedAttempts: failed(0, "connection_error")},
			// Failures that the client caused do not count.
			{Status: 400, Code: "invalid_value", Latency: time.Second, FailedAttempts: failed(400, "invalid_value")},
			{Status: 402, Code: "insufficient_quota", Latency: time.Millisecond},
			{Status: 499, Code: codeClientLeft, Provider: "alpha", Model: "large", Latency: time.Second, FailedAttempts: failed(0, codeClientLeft)},
			{Status: 200, Provider: "gamma", Model: "new", Latency: 5 * time.Second, FailedAttempts: failed(0, codeCannotCarry)},
			// A request of a provider's batch has no latency.
			{Status: 200, Provider: "alpha", Model: "large"},
		} {
			r.At, r.RequestID, r.UserID = start, fmt.Sprint(i), "alice"
			log.Add(r)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for kind, want := range map[timings.Kind]string{
			timings.All:   "/ 3+2 5s",
			timings.Model: "alpha/large 2+1 2s; beta/small 0+2 0s; gamma/new 1+0 1s",
			timings.Team:  "/ 2+2 5s; red/ 1+0 2s",
		} {
			lines, err := timings.Read(
				t.Context(),
				n.db,
				timings.Query{Kind: kind, Unit: timings.Day, From: start, To: start.Add(time.Minute)},
			)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range lines {
				got = append(
					got,
					fmt.Sprintf(
						"%s%s/%s %d+%d %.0fs",
						l.TeamID,
						l.Provider,
						l.Model,
						l.Answered,
						l.Failed,
						l.Percentile(0.5).Seconds(),
					),
				)
			}
			if text := strings.Join(got, "; "); text != want {
				t.Errorf("%s: %q, want %q", kind, text, want)
			}
		}
		// A request counts at the time at which it ended.
		minute, err := timings.Read(
			t.Context(),
			n.db,
			timings.Query{Kind: timings.All, Unit: timings.Minute, From: start, To: start.Add(time.Minute)},
		)
		if err != nil || len(minute) != 1 || minute[0].Total() != 5 {
			t.Errorf("%+v, error %v", minute, err)
		}
	})
}
