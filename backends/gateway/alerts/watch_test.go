package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// recordRequests records requests to a provider: some that were answered after a time, and some that failed.
func (p *cluster) recordRequests(provider string, answered, failed int, took time.Duration) {
	p.t.Helper()
	for i := range answered + failed {
		r := spending.Record{
			At:       p.now().Add(-took),
			UserID:   "ada",
			Provider: provider,
			Model:    "large",
			Status:   200,
			Latency:  took,
		}
		if i >= answered {
			r.Provider, r.Model, r.Status, r.Code = "", "", 502, "all_providers_failed"
			r.FailedAttempts = []apierror.Attempt{
				{Provider: provider, Model: "large", Status: 503, Code: "overloaded", LatencyMS: 1},
			}
		}
		p.usage.Add(r)
	}
	if err := p.usage.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// checkWatch runs the check on several nodes at once, and returns the new alerts.
func (p *cluster) checkWatch(o *Options, nodes ...*Service) (raised []string) {
	p.t.Helper()
	before, err := List(p.t.Context(), p.db, 0, 500)
	if err != nil {
		p.t.Fatal(err)
	}
	p.checkOn(o, nodes...)
	after, err := List(p.t.Context(), p.db, 0, 500)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, a := range after[:len(after)-len(before)] {
		text := a.Kind + " " + a.Holder
		if a.Requests != nil {
			text += fmt.Sprintf(" %d/%d", *a.Errors, *a.Requests)
		}
		if a.LimitMS != nil {
			text += fmt.Sprintf(" %.0fs/%.0fs", float64(*a.LatencyMS)/1000, float64(*a.LimitMS)/1000)
		}
		raised = append(raised, text)
	}
	slices.Sort(raised)
	return raised
}

// TestWatch checks that errors and latencies cause one alert at the beginning of an episode and one at its end, however
// many nodes check.
func TestWatch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p *cluster) {
		first, other := p.node(), p.node()
		o := &Options{
			Thresholds: DefaultThresholds, Webhooks: []Webhook{{URL: "https://example.com/", Secret: []byte("secret")}},
			Watch: Watch{Errors: 20, Latency: 10 * time.Second, Window: 10 * time.Minute, MinRequests: 10},
		}
		want := func(want ...string) {
			t.Helper()
			if got := p.checkWatch(o, first, other); !slices.Equal(got, want) {
				t.Errorf("alerts %q, want %q", got, want)
			}
			if repeated := p.checkWatch(o, first, other); len(repeated) > 0 {
				t.Errorf("repeated alerts %q", repeated)
			}
		}
		want()
		p.recordRequests("alpha", 0, 9, time.Second)
		want() // too few
		p.recordRequests("beta", 40, 0, time.Second)
		p.recordRequests("alpha", 1, 1, time.Second)
		want("errors.over alpha/large 10/11") // of all requests, only 10 of 51 failed
		p.recordRequests("alpha", 0, 3, time.Second)
		want("errors.over organisation 13/54")
		p.recordRequests("alpha", 80, 0, 30*time.Second) // the rate falls, and latency rises
		p.advance(time.Minute)
		want("latency.over alpha/large 32s/10s", "latency.over organisation 32s/10s")
		p.advance(8 * time.Minute)
		want() // less than a window has passed
		p.advance(2*time.Minute + time.Second)
		p.recordRequests("beta", 20, 0, time.Second)
		want("errors.normal alpha/large 0/0", "errors.normal organisation 0/20")
		p.recordRequests("alpha", 20, 0, time.Second)
		p.advance(9 * time.Minute)
		want("latency.normal alpha/large 1s/10s", "latency.normal organisation 1s/10s")

		// Another episode causes another alert. If the watch is switched off, the episode ends without an alert.
		p.recordRequests("alpha", 0, 20, time.Second)
		want("errors.over alpha/large 20/40", "errors.over organisation 20/60")
		o.Watch.Errors = 0
		p.advance(time.Hour)
		want()
		o.Watch.Errors = 100
		p.recordRequests("alpha", 0, 20, time.Second)
		want("errors.over alpha/large 20/20", "errors.over organisation 20/20")
		p.advance(time.Hour)
		want("errors.normal alpha/large 0/0", "errors.normal organisation 0/0")

		// Users' own servers cause no alert of their own.
		p.recordRequests(keychain.CustomProvider, 0, 20, time.Second)
		want("errors.over organisation 20/20")
		p.advance(5 * time.Minute)
		p.recordRequests(keychain.CustomProvider, 0, 20, time.Second)
		p.advance(6 * time.Minute)
		want() // the episode goes on
		err := p.db.Read(t.Context(), func(c store.Conn) error {
			var open int
			err := c.Row(`SELECT count(*) FROM gateway_alert_episodes`).Scan(&open)
			if open != 1 {
				t.Errorf("%d episodes are open", open)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestWatchMailTexts checks that mails name the event, its subject and its time.
func TestWatchMailTexts(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct {
		on, holder    string
		amount, spent int64
		want          []string
	}{
		KindErrors: {OnModel, "alpha/large", 80, 20, []string{
			"25 % of the requests to alpha/large fail\n", "20 of 80 requests to alpha/large failed from 2026-05-31T10:00:00Z to 2026-05-31T10:10:00Z. The threshold for alerts is 20 %.", "Another message follows when it is over",
		}},
		KindErrorsEnd: {keychain.OnOrganisation, "organisation", 50, 1, []string{"Less than 20 % of all requests fail now\n", "At the end, 1 of 50 failed."}},
		KindLatency: {keychain.OnOrganisation, "organisation", 30_000_000, 41_234_567, []string{
			"Answers to all requests are slow\n", "was 41.23s. The threshold for alerts is 30s.", "Another message follows when it is over",
		}},
		KindLatencyEnd: {OnModel, "alpha/large", 30_000_000, 0, []string{"Answers to the requests to alpha/large are fast enough now\n", "At the end, there were no answers."}},
	} {
		a := Alert{
			Kind:      kind,
			On:        test.on,
			Holder:    test.holder,
			Threshold: 20,
			amount:    test.amount,
			spent:     test.spent,
			begins:    begin.UnixMicro(),
			ends:      begin.Add(10 * time.Minute).UnixMicro(),
		}
		a.complete(begin.UnixMicro())
		subject, body := a.text()
		for _, want := range test.want {
			if !strings.Contains(subject+"\n"+body, want) {
				t.Errorf("%s: %q, %q lacks %q", kind, subject, body, want)
			}
		}
	}
}
