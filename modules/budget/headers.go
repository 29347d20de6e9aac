package budget

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// formatVar is the request variable in which api_errors stores the format of the route.
const formatVar = "tollgate.api_errors.format"

// Header names in the canonical form of net/http, so that they can be set without canonicalising them.
const (
	policyHeader     = "Ratelimit-Policy"
	stateHeader      = "Ratelimit"
	retryHeader      = "Retry-After"
	retryMilliHeader = "Retry-After-Ms"
)

// headerSet describes the headers that report the state of one budget to the clients of an error format.
type headerSet struct {
	limit, remaining, reset string // names of headers
	cost                    string // name of a header; empty if there is none
	// model marks the formats of model APIs. Their clients retry at the reset time and know Retry-After-Ms.
	model  bool
	resets resetForm // the notation of the header reset
}

// resetForm is the notation of the time until the reset.
type resetForm uint8

const (
	inSeconds  resetForm = iota // 7
	asDuration                  // 6.5s
	asTime                      // 2026-01-02T15:04:05Z
)

// append appends the time until the reset to b. It is a method because a function value in headerSet would make the
// buffer escape to the heap.
func (f resetForm) append(b []byte, now func() time.Time, reset time.Duration) []byte {
	switch f {
	case asDuration:
		return append(b, ceilTo(reset, time.Millisecond).String()...)
	case asTime:
		return ceilTime(now().Add(reset)).AppendFormat(b, time.RFC3339)
	case inSeconds:
	}
	return strconv.AppendInt(b, ceilUnits(reset, time.Second), 10) // inSeconds
}

var (
	standard = headerSet{
		limit: "X-Ratelimit-Limit", remaining: "X-Ratelimit-Remaining", reset: "X-Ratelimit-Reset", cost: "X-Ratelimit-Cost",
	}

	chatCompletions = headerSet{
		limit: "X-Ratelimit-Limit-Requests", remaining: "X-Ratelimit-Remaining-Requests", reset: "X-Ratelimit-Reset-Requests",
		model: true, resets: asDuration,
	}
	messages = headerSet{
		limit: "Anthropic-Ratelimit-Requests-Limit", remaining: "Anthropic-Ratelimit-Requests-Remaining",
		reset: "Anthropic-Ratelimit-Requests-Reset", model: true, resets: asTime,
	}
)

// headerSets are the headers of the formats that do not use the standard headers, by the name of the format.
var headerSets = map[string]*headerSet{
	"chat_completions": &chatCompletions, "responses": &chatCompletions, "messages": &messages, "converse": &chatCompletions,
}

// headersOf returns the headers for the error format of the request's route.
func headersOf(ctx context.Context) *headerSet {
	format, _ := caddyhttp.GetVar(ctx, formatVar).(string)
	if names, ok := headerSets[format]; ok {
		return names
	}
	return &standard
}

// headerWriter writes the state of a budget into headers.
type headerWriter struct {
	quoted string // the name as a structured-field string
	window string // ";w=" and the window in whole seconds
	now    func() time.Time
}

// newHeaderWriter returns the writer for a budget with a name and a window.
func newHeaderWriter(name string, window time.Duration) headerWriter {
	return headerWriter{
		quoted: `"` + name + `"`,
		window: ";w=" + strconv.FormatInt(ceilUnits(window, time.Second), 10),
		now:    time.Now,
	}
}

// write sets the headers of an admitted request. Headers that can describe only one budget keep the values of an outer
// budget if less remains of that budget.
func (hw *headerWriter) write(header http.Header, names *headerSet, res counters.Result, cost int64) {
	strictest := true // no outer budget has less remaining
	if previous := header[names.remaining]; len(previous) == 1 {
		remaining, err := strconv.ParseInt(previous[0], 10, 64)
		strictest = err != nil || res.Remaining < remaining
	}
	hw.set(header, names, res, cost, res.Reset, strictest)
}

// refuse sets the headers of a refused request. Clients of the model APIs retry at the reset time, so for them the
// reset is the time at which the request fits. The end of the bucket could be too early, because units of the previous
// bucket still count then.
func (hw *headerWriter) refuse(header http.Header, names *headerSet, res counters.Result, cost int64) {
	reset := res.Reset
	if names.model && res.RetryAfter >= 0 {
		reset = res.RetryAfter
	}
	hw.set(header, names, res, cost, reset, true)
	if res.RetryAfter < 0 {
		return // waiting does not help
	}
	header[retryHeader] = []string{strconv.FormatInt(max(1, ceilUnits(res.RetryAfter, time.Second)), 10)}
	if names.model {
		header[retryMilliHeader] = []string{strconv.FormatInt(max(1, ceilUnits(res.RetryAfter, time.Millisecond)), 10)}
	}
}

// set sets the headers. All values are substrings of one string and share one slice, which takes two allocations
// instead of nine. The headers that can describe only one budget are set only if strictest is true, which means that
// this budget is the strictest. reset is the time until the reset in these headers.
func (hw *headerWriter) set(
	header http.Header, names *headerSet, res counters.Result, cost int64, reset time.Duration, strictest bool,
) {
	var buf [256]byte
	b := append(append(buf[:0], hw.quoted...), ";q="...)
	limitAt := len(b)
	b = strconv.AppendInt(b, res.Limit, 10)
	limitEnd := len(b)
	b = append(b, hw.window...)
	policyEnd := len(b)
	b = append(append(b, hw.quoted...), ";r="...)
	remainingAt := len(b)
	b = strconv.AppendInt(b, res.Remaining, 10)
	remainingEnd := len(b)
	b = append(b, ";t="...)
	b = strconv.AppendInt(b, ceilUnits(res.Reset, time.Second), 10)
	stateEnd := len(b)
	b = names.resets.append(b, hw.now, reset)
	resetEnd := len(b)
	b = strconv.AppendInt(b, cost, 10)
	text := string(b)

	values := make([]string, 6) // one for each header
	put := func(name, value string) {
		values[0] = value
		// The capacity of 1 keeps an append from overwriting the next header's value.
		header[name], values = values[:1:1], values[1:]
	}
	appendToList := func(name, value string) {
		if previous := header[name]; len(previous) > 0 && previous[0] != "" {
			value = previous[0] + ", " + value
		}
		put(name, value)
	}
	appendToList(policyHeader, text[:policyEnd])
	appendToList(stateHeader, text[policyEnd:stateEnd])
	if !strictest {
		return
	}
	put(names.limit, text[limitAt:limitEnd])
	put(names.remaining, text[remainingAt:remainingEnd])
	put(names.reset, text[stateEnd:resetEnd])
	if names.cost != "" {
		put(names.cost, text[resetEnd:])
	}
}

// ceilUnits returns d in whole units, rounded up.
func ceilUnits(d, unit time.Duration) int64 {
	return int64((d + unit - 1) / unit)
}

// ceilTo rounds d up to a multiple of unit.
func ceilTo(d, unit time.Duration) time.Duration {
	return time.Duration(ceilUnits(d, unit)) * unit
}

// ceilTime rounds up to a full second, in UTC.
func ceilTime(t time.Time) time.Time {
	return t.Add(time.Second - 1).Truncate(time.Second).UTC()
}
