package cascade

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

func TestResetTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC) // noon in California
	unix := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	for _, c := range []struct {
		name   string
		header http.Header
		e      *wire.UpstreamError
		want   time.Duration
	}{
		{"nothing", nil, nil, time.Minute},
		{"nothing in the body", nil, &wire.UpstreamError{Message: "slow down"}, time.Minute},

		// Headers retry-after-ms and retry-after.
		{"milliseconds", headers("retry-after-ms", "2500"), nil, 2500 * time.Millisecond},
		{"milliseconds first", headers("retry-after-ms", "2500", "retry-after", "99"), nil, 2500 * time.Millisecond},
		{"milliseconds, a fraction", headers("retry-after-ms", "1500.5"), nil, 1500500 * time.Microsecond},
		{"milliseconds that are none", headers("retry-after-ms", "soon", "retry-after", "9"), nil, 9 * time.Second},
		{"negative milliseconds", headers("retry-after-ms", "-5", "retry-after", "9"), nil, 9 * time.Second},
		{"endless milliseconds", headers("retry-after-ms", "1e300", "retry-after", "9"), nil, 9 * time.Second},
		{"NaN milliseconds", headers("retry-after-ms", "NaN", "retry-after", "9"), nil, 9 * time.Second},
		{"seconds", headers("retry-after", "12"), nil, 12 * time.Second},
		{"seconds with spaces", headers("retry-after", " 12 "), nil, 12 * time.Second},
		{"fraction", headers("retry-after", "1.75"), nil, 1750 * time.Millisecond},
		{"HTTP date", headers("retry-after", now.Add(90*time.Second).Format(http.TimeFormat)), nil, 90 * time.Second},
		{"old HTTP date form", headers("retry-after", now.Add(90*time.Second).Format(time.RFC850)), nil, 90 * time.Second},
		{"HTTP date in the past", headers("retry-after", now.Add(-time.Hour).Format(http.TimeFormat)), nil, time.Second},
		{"no time at all", headers("retry-after", "later"), nil, time.Minute},
		{"at least a second", headers("retry-after", "0"), nil, time.Second},
		{"at most an hour", headers("retry-after", "7200"), nil, time.Hour},
		{"negative", headers("retry-after", "-1"), nil, time.Minute},

		// Notations of time, in exhausted buckets.
		{"Go duration", headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s"), nil, 6 * time.Minute},
		{"Go duration, milliseconds", headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "1200ms"), nil, 1200 * time.Millisecond},
		{"Go duration, short", headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "12ms"), nil, time.Second},
		{"Go duration, fraction", headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "2m59.56s"), nil, 2*time.Minute + 59560*time.Millisecond},
		{"plain seconds", headers("x-ratelimit-remaining-tokens-minute", "0", "x-ratelimit-reset-tokens-minute", "11.382"), nil, 11382 * time.Millisecond},
		{"epoch seconds", headers("x-ratelimit-remaining", "0", "x-ratelimit-reset", unix(40*time.Second)), nil, 40 * time.Second},
		{"epoch milliseconds", headers("x-ratelimit-remaining", "0", "x-ratelimit-reset", unix(40*time.Second)+"250"), nil, 40250 * time.Millisecond},
		{"epoch in the past", headers("x-ratelimit-remaining", "0", "x-ratelimit-reset", unix(-time.Hour)), nil, time.Second},
		{"RFC 3339", headers("anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", now.Add(33*time.Second).Format(time.RFC3339)), nil, 33 * time.Second},
		{"RFC 3339, another zone", headers("anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", now.Add(33*time.Second).In(time.FixedZone("", 3600)).Format(time.RFC3339)), nil, 33 * time.Second},

		// Choice of the bucket.
		{"not exhausted", headers("x-ratelimit-remaining-tokens", "5", "x-ratelimit-reset-tokens", "6m0s"), nil, time.Minute},
		{"no remaining", headers("x-ratelimit-reset-tokens", "6m0s"), nil, time.Minute},
		{"0.0", headers("x-ratelimit-remaining-tokens", " 0.0 ", "x-ratelimit-reset-tokens", "6m0s"), nil, 6 * time.Minute},
		{
			"the exhausted one of two", headers("x-ratelimit-remaining-requests", "10", "x-ratelimit-reset-requests", "24h", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "7s"),
			nil, 7 * time.Second,
		},
		{
			"the later of two", headers("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "2h", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "7s"),
			nil, 2 * time.Hour,
		},
		{"a day", headers("x-ratelimit-remaining-requests-day", "0", "x-ratelimit-reset-requests-day", "33011.5"), nil, 33011500 * time.Millisecond},
		{"more than a day", headers("x-ratelimit-remaining-requests-day", "0", "x-ratelimit-reset-requests-day", "100h"), nil, 24 * time.Hour},
		{"a minute's bucket, hours", headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "5h"), nil, time.Hour},
		{"unreadable reset", headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "soon"), nil, time.Minute},
		{"retry-after first", headers("retry-after", "3", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "7s"), nil, 3 * time.Second},
		{"Mistral", headers("ratelimitbysize-remaining", "0", "ratelimitbysize-reset", "21"), nil, 21 * time.Second},

		// Bodies.
		{"RetryInfo", nil, &wire.UpstreamError{RetryDelay: "34s"}, 34 * time.Second},
		{"RetryInfo, fraction", nil, &wire.UpstreamError{RetryDelay: "34.074824224s"}, 34074824224 * time.Nanosecond},
		{"RetryInfo, odd", nil, &wire.UpstreamError{RetryDelay: "PT5S"}, time.Minute},
		{"daily quota", nil, &wire.UpstreamError{Daily: true, RetryDelay: "34s"}, 12 * time.Hour},
		{"text", nil, &wire.UpstreamError{Message: "Rate limit reached. Please try again in 1.5s. Visit x"}, 1500 * time.Millisecond},
		{"text, minutes", nil, &wire.UpstreamError{Message: "Please Try Again In 7m12.5s."}, 7*time.Minute + 12500*time.Millisecond},
		{"text, milliseconds", nil, &wire.UpstreamError{Message: "try again in 1200ms, please"}, 1200 * time.Millisecond},
		{"text, words", nil, &wire.UpstreamError{Message: "try again in 5 seconds"}, 5 * time.Second},
		{"text, a line", nil, &wire.UpstreamError{Message: "try again in 5s\nbye"}, 5 * time.Second},
		{"text, end", nil, &wire.UpstreamError{Message: "try again in "}, time.Minute},
		{"text, nonsense", nil, &wire.UpstreamError{Message: "try again in a while"}, time.Minute},
		{"text behind letters whose lower case is longer", nil, &wire.UpstreamError{Message: "İİİİ try again in 5s"}, 5 * time.Second},
		{"text behind letters whose lower case is shorter", nil, &wire.UpstreamError{Message: "\u212a\u212a\u212a try again in 5s"}, 5 * time.Second},
		{"header before body", headers("retry-after", "3"), &wire.UpstreamError{RetryDelay: "34s"}, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := c.header
			if h == nil {
				h = http.Header{}
			}
			if got := resetTime(h, c.e, now); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestParseWaitRefuses(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for _, text := range []string{"", " ", "x", "-1", "-5s", "NaN", "Inf", "-Inf", "1e15", "99999999", "1e300", "0x", "999999999h", "2026-13-01T00:00:00Z", string(make([]byte, 100))} {
		if got, ok := parseWait(text, now); ok {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func TestUntilPacificMidnight(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{
		time.Date(2026, 1, 2, 7, 59, 59, 0, time.UTC), time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
	} {
		wait := untilPacificMidnight(now)
		if wait <= 0 || wait > 25*time.Hour {
			t.Errorf("%s: %s", now, wait)
		}
		if rest := untilPacificMidnight(now.Add(wait - time.Second)); rest != time.Second {
			t.Errorf("%s: %s, and a second before that still %s", now, wait, rest)
		}
	}
}

func FuzzResetTime(f *testing.F) {
	f.Add("12", "6m0s", "try again in 1.5s", int64(1_800_000_000))
	f.Add("Fri, 02 Jan 2026 20:00:00 GMT", "1800000000123", "İ try again in", int64(0))
	f.Fuzz(func(t *testing.T, after, reset, message string, now int64) {
		h := http.Header{"Retry-After": {after}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset}, "Retry-After-Ms": {reset}}
		e := &wire.UpstreamError{Message: message, RetryDelay: reset}
		if got := resetTime(h, e, time.Unix(now%(1<<40), 0)); got < minReset || got > maxDaily {
			t.Fatalf("%q, %q, %q: %s", after, reset, message, got)
		}
	})
}
