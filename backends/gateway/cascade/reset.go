package cascade

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// The shortest and longest cooldowns that a provider can ask for.
const (
	defaultReset = time.Minute
	minReset     = time.Second
	maxReset     = time.Hour
	maxDaily     = 24 * time.Hour
)

// buckets are the pairs of headers that describe a rate limit. The header remaining states the remaining requests or
// tokens, and the header reset states when the limit is reset. Daily limits may cause a cooldown of more than an hour.
var buckets = [...]struct {
	remaining, reset string
	daily            bool
}{
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests", true}, // per day at some providers
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens", false},
	{"X-Ratelimit-Remaining-Requests-Day", "X-Ratelimit-Reset-Requests-Day", true},
	{"X-Ratelimit-Remaining-Tokens-Minute", "X-Ratelimit-Reset-Tokens-Minute", false},
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset", false},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset", false},
	{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset", false},
	{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset", false},
	{"X-Ratelimit-Remaining", "X-Ratelimit-Reset", false},
	{"Ratelimitbysize-Remaining", "Ratelimitbysize-Reset", false},
}

// resetTime returns how long a rate-limited key is not used. It uses the first statement of the provider that it can
// parse. If there is no such statement, the result is a minute.
func resetTime(h http.Header, e *wire.UpstreamError, now time.Time) time.Duration {
	if wait, ok := retryAfter(h, now); ok {
		return clamp(wait, maxReset)
	}
	if wait, daily, ok := exhausted(h, now); ok {
		if daily {
			return clamp(wait, maxDaily)
		}
		return clamp(wait, maxReset)
	}
	if e != nil {
		if e.Daily {
			return clamp(untilPacificMidnight(now), maxDaily)
		}
		if wait, ok := parseWait(e.RetryDelay, now); ok {
			return clamp(wait, maxReset)
		}
		if wait, ok := tryAgainIn(e.Message, now); ok {
			return clamp(wait, maxReset)
		}
	}
	return defaultReset
}

// clamp returns wait, but at least minReset and at most longest.
func clamp(wait, longest time.Duration) time.Duration { return min(max(wait, minReset), longest) }

// retryAfter parses the header field Retry-After-Ms. If that field is absent or not valid, retryAfter parses
// Retry-After (RFC 9110, section 10.2.3).
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if text := h.Get("Retry-After-Ms"); text != "" {
		if ms, err := strconv.ParseFloat(text, 64); err == nil && ms >= 0 && ms < 1e11 {
			return time.Duration(ms * float64(time.Millisecond)), true
		}
	}
	text := h.Get("Retry-After")
	if text == "" {
		return 0, false
	}
	if retry, err := http.ParseTime(text); err == nil {
		return retry.Sub(now), true
	}
	return parseWait(text, now)
}

// exhausted returns the longest wait among the empty rate limits. After this wait all of them are reset. daily is set
// if the longest wait is that of a daily limit. ok is false if no rate limit is empty.
func exhausted(h http.Header, now time.Time) (wait time.Duration, daily, ok bool) {
	for i := range buckets {
		b := &buckets[i]
		if values := h[b.remaining]; len(values) == 0 || !isZero(values[0]) {
			continue
		}
		if w, parsed := parseWait(h.Get(b.reset), now); parsed && (!ok || w > wait) {
			wait, daily, ok = w, b.daily, true
		}
	}
	return wait, daily, ok
}

// isZero reports whether the value of a header field is the number 0.
func isZero(text string) bool {
	text = strings.TrimSpace(text)
	return text == "0" || text == "0.0"
}

// parseWait parses the forms in which providers write a wait: Go durations (6m0s, 12ms), seconds (1.5), epoch seconds
// or milliseconds, and RFC 3339.
func parseWait(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 {
		return 0, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case n < 0, n > 1e14, math.IsNaN(n):
			return 0, false
		case n > 1e12: // milliseconds of Unix time
			return time.UnixMilli(int64(n)).Sub(now), true
		case n > 1e9: // seconds of Unix time
			return time.Unix(int64(n), 0).Sub(now), true
		case n > 1e7: // no provider means that many seconds
			return 0, false
		}
		return time.Duration(n * float64(time.Second)), true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, true
	}
	if reset, err := time.Parse(time.RFC3339, text); err == nil {
		return reset.Sub(now), true
	}
	return 0, false
}

// tryAgainIn parses the hint "try again in 1.5s" in a message.
func tryAgainIn(message string, now time.Time) (time.Duration, bool) {
	const hint = "try again in "
	_, wait, ok := strings.Cut(strings.ToLower(message), hint)
	if !ok {
		return 0, false
	}
	if end := strings.IndexAny(wait, " ,;\t\r\n"); end >= 0 {
		wait = wait[:end]
	}
	return parseWait(strings.TrimRight(wait, "."), now)
}

// untilPacificMidnight returns the time until Google's daily quotas are refilled. If the zone's data is missing it uses
// UTC-8, which is at most an hour off.
func untilPacificMidnight(now time.Time) time.Duration {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		zone = time.FixedZone("UTC-8", -8*60*60)
	}
	local := now.In(zone)
	midnight := time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, zone)
	return midnight.Sub(now)
}
