package budget

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// formatVar is the request variable in which api_errors leaves the format of
// the route.
const formatVar = "tollgate.api_errors.format"

func format(ctx context.Context) string {
	name, _ := caddyhttp.GetVar(ctx, formatVar).(string)
	return name
}

// Header names in the canonical form of net/http, which lets them be set
// without looking for it.
const (
	policyHeader     = "Ratelimit-Policy"
	stateHeader      = "Ratelimit"
	limitHeader      = "X-Ratelimit-Limit"
	remainingHeader  = "X-Ratelimit-Remaining"
	resetHeader      = "X-Ratelimit-Reset"
	costHeader       = "X-Ratelimit-Cost"
	retryHeader      = "Retry-After"
	retryMilliHeader = "Retry-After-Ms"
)

// modelHeaders are the names that the clients of a model format read.
type modelHeaders struct {
	limit, remaining, reset string
}

func modelHeadersOf(format string) (names modelHeaders, ok bool) {
	switch format {
	case "chat_completions", "responses":
		return modelHeaders{
			"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests",
		}, true
	case "messages":
		return modelHeaders{
			"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset",
		}, true
	}
	return modelHeaders{}, false
}

// headerWriter tells clients the state of a budget.
type headerWriter struct {
	quoted string // the name as a structured string
	window string // w=…, whole seconds
	now    func() time.Time
}

func newHeaderWriter(name string, window time.Duration) headerWriter {
	return headerWriter{
		quoted: `"` + name + `"`,
		window: ";w=" + strconv.FormatInt(ceilUnits(window, time.Second), 10),
		now:    time.Now,
	}
}

// write sets the headers of an admitted request. A budget with less remaining
// that stands before this one keeps the headers that tell of one budget only.
func (hw *headerWriter) write(header http.Header, format string, res counters.Result, cost int64) {
	stricter := true
	if before := header[remainingHeader]; len(before) == 1 {
		remaining, err := strconv.ParseInt(before[0], 10, 64)
		stricter = err != nil || res.Remaining < remaining
	}
	hw.set(header, format, res, cost, stricter)
}

// refuse sets the headers of a refused request.
func (hw *headerWriter) refuse(header http.Header, format string, res counters.Result, cost int64) {
	hw.set(header, format, res, cost, true)
	if res.RetryAfter < 0 {
		return // no wait helps
	}
	header[retryHeader] = []string{strconv.FormatInt(max(1, ceilUnits(res.RetryAfter, time.Second)), 10)}
	if _, ok := modelHeadersOf(format); ok {
		header[retryMilliHeader] = []string{strconv.FormatInt(max(1, ceilUnits(res.RetryAfter, time.Millisecond)), 10)}
	}
}

// set writes all values into one string, of which the headers are parts, and
// one slice: two allocations instead of thirteen.
func (hw *headerWriter) set(header http.Header, format string, res counters.Result, cost int64, strictest bool) {
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
	resetAt := len(b)
	b = strconv.AppendInt(b, ceilUnits(res.Reset, time.Second), 10)
	stateEnd := len(b)
	b = strconv.AppendInt(b, cost, 10)
	costEnd := len(b)
	names, model := modelHeadersOf(format)
	switch {
	case !model:
	case format == "messages":
		b = ceilTime(hw.now().Add(res.Reset)).AppendFormat(b, time.RFC3339)
	default:
		b = append(b, ceilTo(res.Reset, time.Millisecond).String()...)
	}
	text := string(b)

	values := make([]string, 9)
	put := func(name, value string) {
		values[0] = value
		header[name], values = values[:1:1], values[1:]
	}
	list := func(name, value string) {
		if before := header[name]; len(before) > 0 && before[0] != "" {
			value = before[0] + ", " + value
		}
		put(name, value)
	}
	list(policyHeader, text[:policyEnd])
	list(stateHeader, text[policyEnd:stateEnd])
	if !strictest {
		return
	}
	limit, remaining := text[limitAt:limitEnd], text[remainingAt:remainingEnd]
	put(limitHeader, limit)
	put(remainingHeader, remaining)
	put(resetHeader, text[resetAt:stateEnd])
	put(costHeader, text[stateEnd:costEnd])
	if model {
		put(names.limit, limit)
		put(names.remaining, remaining)
		put(names.reset, text[costEnd:])
	}
}

// ceilUnits is d in whole units, rounded up.
func ceilUnits(d, unit time.Duration) int64 {
	return int64((d + unit - 1) / unit)
}

// ceilTo rounds d up to a multiple of unit.
func ceilTo(d, unit time.Duration) time.Duration {
	return time.Duration(ceilUnits(d, unit)) * unit
}

// ceilTime rounds up to the second, in UTC.
func ceilTime(t time.Time) time.Time {
	return t.Add(time.Second - 1).Truncate(time.Second).UTC()
}
