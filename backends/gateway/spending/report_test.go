package spending

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func TestUsageReport(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		day := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
		for _, r := range []Record{
			{
				At: day, KeyID: "gk_1", Provider: "alpha", Model: "large", Tier: catalog.High, Status: 200, InputTokens: 100, CachedTokens: 40, OutputTokens: 20,
				ReasoningTokens: 5, CostMicroUSD: 1500, CostKnown: true, Latency: 3 * time.Second, FirstToken: time.Second,
			},
			{
				At: day.Add(61 * time.Minute), KeyID: "gk_1", Provider: "alpha", Model: "large", Tier: catalog.High, Status: 502, Code: "upstream_error",
				Latency: time.Second, FailedAttempts: []apierror.Attempt{{Provider: "beta", Model: "mid"}, {Provider: "beta", Model: "mid"}, {Provider: "alpha", Model: "large"}},
			},
			{At: day.Add(25 * time.Hour), KeyID: "gk_2", Provider: "beta", Model: "mid", Status: 499, Code: "client_closed_request", OutputTokens: 7, Latency: time.Second},
			{At: day.Add(26 * time.Hour), KeyID: "gk_2", Status: 409, Code: "no_models_available"},
			{At: day.Add(-time.Microsecond), KeyID: "gk_0", Provider: "early", Status: 200},
			{At: day.Add(48 * time.Hour), KeyID: "gk_3", Provider: "late", Status: 200},
		} {
			r.UserID = "alice"
			log.Add(r)
			r.UserID, r.Provider = "bob", "bobs"
			log.Add(r)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		report := func(q UsageQuery) string {
			t.Helper()
			r, err := n.Usage(t.Context(), "alice", q)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		const (
			large = `"requests":2,"succeeded":1,"failed":1,"cancelled":0,"success_rate":0.5,"failed_attempts":1,"input_tokens":100,"cached_tokens":40,` +
				`"output_tokens":20,"reasoning_tokens":5,"total_tokens":120,"cost_usd":0.0015,"unpriced_requests":1,"latency_ms_avg":2000,"first_token_ms_avg":1000}`
			mid = `"requests":1,"succeeded":0,"failed":0,"cancelled":1,"success_rate":null,"failed_attempts":2,"input_tokens":0,"cached_tokens":0,` +
				`"output_tokens":7,"reasoning_tokens":0,"total_tokens":7,"cost_usd":0,"unpriced_requests":1,"latency_ms_avg":1000,"first_token_ms_avg":null}`
			nobody = `"requests":1,"succeeded":0,"failed":1,"cancelled":0,"success_rate":0,"failed_attempts":0,"input_tokens":0,"cached_tokens":0,` +
				`"output_tokens":0,"reasoning_tokens":0,"total_tokens":0,"cost_usd":0,"unpriced_requests":0,"latency_ms_avg":0,"first_token_ms_avg":null}`
			total = `"requests":4,"succeeded":1,"failed":2,"cancelled":1,"success_rate":0.3333333333333333,"failed_attempts":3,"input_tokens":100,"cached_tokens":40,` +
				`"output_tokens":27,"reasoning_tokens":5,"total_tokens":127,"cost_usd":0.0015,"unpriced_requests":2,"latency_ms_avg":1250,"first_token_ms_avg":1000}`
			span = `{"from":"2026-02-27T00:00:00Z","to":"2026-03-01T00:00:00Z","totals":{` + total
		)
		q := UsageQuery{From: day.Add(time.Minute), To: day.Add(47*time.Hour + time.Second), Group: []string{"provider", "model", "provider"}}
		want := span + `,"by_provider":[{"provider":"alpha",` + large + `,{"provider":"","` + nobody[1:] + `,{"provider":"beta",` + mid + `],` +
			`"by_model":[{"provider":"alpha","model":"large",` + large + `,{"provider":"","model":"",` + nobody + `,{"provider":"beta","model":"mid",` + mid + `]}`
		if got := report(q); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		q.Group = []string{"tier"}
		if got := report(q); !strings.HasPrefix(got, span+`,"by_tier":[{"tier":"",`) && !strings.HasPrefix(got, span+`,"by_tier":[{"tier":"high",`) {
			t.Errorf("by tier: %s", got)
		}
		for group, want := range map[string]string{
			"day":  `"day":"2026-02-27","requests":2 "day":"2026-02-28","requests":2`,
			"hour": `"hour":"2026-02-27T00:00:00Z","requests":1 "hour":"2026-02-27T01:00:00Z","requests":1 "hour":"2026-02-28T01:00:00Z","requests":1 "hour":"2026-02-28T02:00:00Z","requests":1`,
			"key":  `"key_id":"gk_1","requests":2 "key_id":"gk_2","requests":2`,
		} {
			q.Group = []string{group}
			_, lines, _ := strings.Cut(report(q), `"by_`+group+`":[`)
			var heads []string
			for line := range strings.SplitSeq(lines, "{") {
				if head, _, ok := strings.Cut(line, `,"succeeded"`); ok {
					heads = append(heads, head)
				}
			}
			if got := strings.Join(heads, " "); got != want {
				t.Errorf("by %s: got  %s\nwant %s", group, got, want)
			}
		}

		// By default, a report covers the last 30 days. For an unknown user it is empty.
		month := report(UsageQuery{})
		if !strings.Contains(month, `"from":"2026-01-30T10:00:00Z","to":"2026-03-01T11:00:00Z","totals":{"requests":6,`) || !strings.Contains(month, `"by_day":[`) ||
			!strings.Contains(month, `"by_provider":[`) || !strings.Contains(month, `"by_model":[`) || strings.Contains(month, `"by_key"`) {
			t.Errorf("the month: %s", month)
		}
		none, err := n.Usage(t.Context(), "nobody", UsageQuery{Group: []string{"key"}})
		if err != nil || none.ByKey == nil || len(none.ByKey) != 0 || none.ByDay != nil || none.Totals != (UsageSums{}) {
			t.Errorf("of nobody: %+v, error %v", none, err)
		}
	})
}

func TestUsageQueryRefusals(t *testing.T) {
	t.Parallel()
	n := place{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		q     UsageQuery
		param string
	}{
		"backwards":     {UsageQuery{From: start, To: start.Add(-day)}, "from"},
		"nothing":       {UsageQuery{From: start.Truncate(time.Hour), To: start.Truncate(time.Hour)}, "from"},
		"too long":      {UsageQuery{From: start.Add(-401 * day), To: start}, "from"},
		"before time":   {UsageQuery{To: time.Unix(-1, 0)}, "to"},
		"behind time":   {UsageQuery{From: start.AddDate(9000, 0, 0)}, "from"},
		"group":         {UsageQuery{Group: []string{"day", "surface"}}, "group"},
		"too many hour": {UsageQuery{From: start.Add(-32 * day), To: start, Group: []string{"hour"}}, "group"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := n.Usage(t.Context(), "alice", test.q)
			wantRefusal(t, err, 400, "invalid_value", test.param)
		})
	}
	for _, q := range []UsageQuery{
		{From: start, To: start.Add(400 * day).Truncate(time.Hour)},
		{From: start.Truncate(time.Hour), To: start.Truncate(time.Hour).Add(31 * day), Group: []string{"hour"}},
		{From: start, To: start.Add(time.Microsecond)},
	} {
		if _, err := n.Usage(t.Context(), "alice", q); err != nil {
			t.Errorf("%v to %v: %v", q.From, q.To, err)
		}
	}
}

// TestUsageReportIsBounded uses more models than a report may have lines.
func TestUsageReportIsBounded(t *testing.T) {
	t.Parallel()
	n := place{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	log := quietLog(n)
	for i := range maxGroupLines + 5 {
		r := record(0)
		r.Provider, r.Model = "custom", fmt.Sprintf("local/%04d", i)
		log.Add(r)
		if i == maxGroupLines+4 {
			log.Add(r)
		}
	}
	if err := log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	report, err := n.Usage(t.Context(), "alice", UsageQuery{})
	if err != nil || len(report.ByModel) != maxGroupLines || report.Totals.Requests != maxGroupLines+6 || len(report.ByProvider) != 1 {
		t.Fatalf("%d lines, %+v, error %v", len(report.ByModel), report.Totals, err)
	}
	if first := report.ByModel[0]; *first.Model != fmt.Sprintf("local/%04d", maxGroupLines+4) || first.Requests != 2 {
		t.Errorf("first %+v", first)
	}
}

// TestUsageMatchesRecords compares reports that mix sums of days and of hours with the log itself, for all hours of a
// day as beginning and end.
func TestUsageMatchesRecords(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		random := rand.New(rand.NewPCG(3, 4))
		day := StartOfDay(start)
		records := make([]Record, 600)
		for i := range records {
			records[i] = anyRecord(random, i)
			records[i].At = day.Add(time.Duration(random.IntN(4*24*60)) * time.Minute)
			log.Add(records[i])
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for hour := range int64(72) {
			for _, length := range []int64{1, 5, 23, 24, 25, 48, 71} {
				first, end := day.Add(time.Duration(hour)*time.Hour), day.Add(time.Duration(hour+length)*time.Hour)
				var want sums
				for i := range records {
					r := &records[i]
					if r.UserID == "alice" && !r.At.Before(first) && r.At.Before(end) {
						want.add(r)
						want[sumFailedAttempts] += int64(len(r.FailedAttempts))
					}
				}
				report, err := n.Usage(t.Context(), "alice", UsageQuery{From: first, To: end, Group: []string{"hour", "tier", "day"}})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(report.Totals, want.report()) {
					t.Fatalf("%d hours from hour %d:\ngot  %+v\nwant %+v", length, hour, report.Totals, want.report())
				}
				for key, lines := range map[string][]UsageGroup{"hour": report.ByHour, "tier": report.ByTier, "day": report.ByDay} {
					var requests int64
					for i := range lines {
						requests += lines[i].Requests
					}
					if requests != want[sumRequests] {
						t.Fatalf("%d hours from hour %d: %d requests by %s, want %d", length, hour, requests, key, want[sumRequests])
					}
				}
			}
		}
	})
}
