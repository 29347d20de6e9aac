package budget

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// writerVar is the request variable with the responseWriter of the outermost budget.
const writerVar = "tollgate.budget.writer"

// limitPrefixes are the prefixes of the names of headers that describe a rate limit.
var limitPrefixes = []string{"Ratelimit", "X-Ratelimit-", "X-Rate-Limit-", "Anthropic-Ratelimit-"}

// responseWriter removes rate limit headers that an upstream has added. Otherwise clients would see them beside our
// budgets' headers and might wait for the wrong limit. All budgets of a request share one responseWriter. Only one
// goroutine may use it at a time, as with other response writers.
type responseWriter struct {
	edge.HeaderWriter

	headerSets [3]*headerSet // headers that budgets have written; at most one set for each of the three notations
}

// keepHeaders records that a budget has written the headers in names. It returns the writer that removes other rate
// limit headers. The first budget of a request creates that writer; for later budgets, w already wraps it and is
// returned.
func keepHeaders(ctx context.Context, w http.ResponseWriter, names *headerSet) http.ResponseWriter {
	outer, ok := caddyhttp.GetVar(ctx, writerVar).(*responseWriter)
	if !ok {
		outer = new(responseWriter)
		outer.Init(w, outer)
		caddyhttp.SetVar(ctx, writerVar, outer)
		w = outer
	}
	for i, known := range outer.headerSets {
		if known == nil || known == names {
			outer.headerSets[i] = names
			break
		}
	}
	return w
}

// BeforeHeader implements edge.HeaderHook. It removes rate limit headers and values that an upstream has added. A
// budget writes one value into each of its headers, and a proxy appends the upstream's values, so the first value is
// kept.
func (w *responseWriter) BeforeHeader(int) {
	header := w.Header()
	for name, values := range header {
		switch {
		case !isLimitHeader(name): // other headers stay
		case w.written(name):
			header[name] = values[:min(len(values), 1)]
		default:
			delete(header, name)
		}
	}
}

// isLimitHeader reports whether a header, in canonical form, describes a rate limit.
func isLimitHeader(name string) bool {
	return slices.ContainsFunc(limitPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// written reports whether a budget has written the header.
func (w *responseWriter) written(name string) bool {
	if name == policyHeader || name == stateHeader {
		return true
	}
	for _, names := range w.headerSets {
		if names != nil && (name == names.limit || name == names.remaining || name == names.reset || name == names.cost) {
			return true
		}
	}
	return false
}

// Interface guards
var (
	_ http.ResponseWriter = (*responseWriter)(nil)
	_ http.Pusher         = (*responseWriter)(nil)
	_ io.ReaderFrom       = (*responseWriter)(nil)
)
