// Package budget provides the middleware that charges every request against a sliding window and refuses requests that
// do not fit.
package budget

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Counters is the part of the app tollgate that this package uses.
type Counters interface {
	// Counters returns the store that counts all budgets. It is called for each request, and returns nil before the store
	// is open.
	Counters() counters.Store
}

// The values of on_error, which decides about requests that arrive while the counters cannot be reached.
const (
	onErrorRefuse = "refuse"
	onErrorAllow  = "allow"
)

const (
	defaultName   = "default"
	defaultKey    = "{http.auth.user.id}"
	defaultWindow = time.Minute
	minWindow     = time.Second
	maxWindow     = counters.MaxWindow
	// chargeTimeout limits the time of the charge after the answer.
	chargeTimeout = time.Second
)

// Handler charges every request a cost in units. A budget has a limit of units per window; a request that does not fit
// is refused with status 429. The handler works in front of any handler, typically reverse_proxy:
//
//	budget {
//		limit 600
//		window 5m
//		cost 10 POST /forums/{id}/threads
//	}
//	reverse_proxy localhost:8000
//
// Each key has a separate window. By default the key is the authenticated user, or the client's address if no user is
// authenticated. The counters of the app tollgate keep the windows: in memory for one node, or in Redis for several
// nodes, which then share each budget. The window slides. Time is divided into buckets of the window's length; the
// units spent in the previous bucket count in proportion to the part of it that the sliding window still covers. A
// request that is refused here spends nothing. A request that fails in a later handler has spent its cost. So if an
// inner budget refuses a request, the outer budgets have been charged.
//
// # Costs
//
// The first cost line whose method and pattern match gives the cost; without a match the cost is 1. Patterns are those
// of Go's http.ServeMux without method and host: /forums/{id}/threads, /v1/ (everything below), /v1/{$} (only that),
// /files/{rest...}; * matches every path, but has no meaning inside a pattern. The method GET also matches HEAD. As in
// ServeMux, /a, /a/ and /A are three different paths. The path is the path that this handler sees, without a prefix
// that handle_path or uri strip_prefix has removed. Doubled slashes and dot segments are resolved first. A request
// whose cost is above the limit can never be admitted; its 429 says so and asks the client not to retry. A request of
// cost 0 is always admitted, unless charge is set.
//
// # Placeholders
//
// limit, cost and charge may be whole numbers from 0 to 2^53-1, or placeholders such as {http.auth.user.budget_limit}
// whose value is such a number, without sign, space or leading zero. A limit whose value is empty means unlimited:
// nothing is counted and no header is sent. A malformed limit or cost, or an unknown placeholder, is a configuration
// error and answered with status 500; only a key may use unknown placeholders of the user, because there may be no
// authenticated user. Placeholders of the environment and of files are read once, when the configuration is loaded.
// Placeholders in values are not expanded.
//
// # Charging after the answer
//
// charge is evaluated when the later handlers have returned, whether they succeeded, failed or lost the client. Its
// value, for example the number of tokens that a model used, is charged in addition, even beyond the limit. Later
// requests then wait until the window has room again. With charge, a request of cost 0 is refused too once nothing
// remains. If the value is missing or malformed, that is logged and nothing is charged.
//
// # Headers
//
// These are set on every answer to a limited request, before the next handler runs:
//
//	RateLimit-Policy: "default";q=600;w=300
//	RateLimit: "default";r=588;t=247
//	X-RateLimit-Limit: 600
//	X-RateLimit-Remaining: 588
//	X-RateLimit-Reset: 247
//	X-RateLimit-Cost: 10
//
// Times are whole seconds, rounded up. The reset is the end of the current bucket. The units spent in that bucket still
// count in part during the next bucket, so a Retry-After may be longer. With several budgets in a chain, the first two
// headers list all budgets. The other headers describe the budget with the least remaining, or the budget that refused.
// Behind the api_errors of a model API, the last four headers are replaced by the headers of that API. For
// chat_completions, responses and converse they are x-ratelimit-limit-requests, x-ratelimit-remaining-requests and
// x-ratelimit-reset-requests (such as 12.3s). For messages they are anthropic-ratelimit-requests-limit, -remaining and
// -reset (a date). A 429 has Retry-After: the shortest wait after which the same request fits if nothing else is spent.
// In the formats of model APIs it has retry-after-ms too. An upstream's headers about request limits are removed.
//
// Metric: tollgate_budget_refused_total{name}.
type Handler struct {
	// Name is the name of the policy in the headers, the messages and the metric: up to 64 letters, digits, "_", "-" and
	// ".". Budgets with the same name and window share their counts, also across sites; give separate budgets different
	// names. Default: "default".
	Name string `json:"name,omitempty"`

	// Key identifies the client whose window is charged; it contains placeholders. If its value is empty, "ip:" followed
	// by the client's address is used instead. Caddy determines the address with trusted_proxies. An IPv6 address is
	// reduced to its /64 network. Default: {http.auth.user.id}.
	Key string `json:"key,omitempty"`

	// Limit is the number of units per window: a number or a placeholder. Required.
	Limit string `json:"limit,omitempty"`

	// Window is the length of the window, from 1s to 31d. Default: 1m.
	Window caddy.Duration `json:"window,omitempty"`

	// Costs are the costs of requests; the first entry that matches applies. Default: 1 for each request.
	Costs []Cost `json:"costs,omitempty"`

	// Charge is a placeholder for the units to charge after the answer. Default: none.
	Charge string `json:"charge,omitempty"`

	// OnError decides about requests while the counters cannot be reached: "refuse" answers 503 with Retry-After, "allow"
	// lets the request through uncounted and logs it. Default: refuse.
	OnError string `json:"on_error,omitempty"`

	app     Counters
	prefix  string // begins this budget's keys in the store
	key     template
	limit   number
	charge  number
	costs   []costRule
	byPath  bool // whether any cost depends on the path
	charges bool // whether the option charge is set
	headers headerWriter
	refused prometheus.Counter
	logger  *zap.Logger
}

// Cost is the cost of one kind of request.
type Cost struct {
	// Cost is the number of units: a number or a placeholder. Required.
	Cost string `json:"cost,omitempty"`

	// Method is the HTTP method. Default: "*", which matches all methods.
	Method string `json:"method,omitempty"`

	// Pattern is the path pattern, or "*" for all paths. Required.
	Pattern string `json:"pattern,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.budget",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision sets defaults, parses the numbers and patterns, and finds the app.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	if h.Name == "" {
		h.Name = defaultName
	}
	if h.Key == "" {
		h.Key = defaultKey
	}
	if h.Window == 0 {
		h.Window = caddy.Duration(defaultWindow)
	}
	if h.OnError == "" {
		h.OnError = onErrorRefuse
	}
	// The name is checked here and not in Validate, because the metric below accepts no malformed name.
	if err := checkName(h.Name); err != nil {
		return err
	}
	if err := h.compile(); err != nil {
		return err
	}
	if h.app == nil { // a test may have set it
		app, err := ctx.App("tollgate")
		if err != nil {
			return fmt.Errorf("finding the counters: %w", err)
		}
		provider, ok := app.(Counters)
		if !ok {
			return fmt.Errorf("the app tollgate is a %T without counters", app)
		}
		h.app = provider
	}
	var err error
	h.refused, err = countRefusals(ctx.GetMetricsRegistry(), h.Name)
	return err
}

// compile parses the options once, so that requests need not.
func (h *Handler) compile() error {
	window := time.Duration(h.Window)
	h.prefix = prefixOf(h.Name, window)
	h.headers = newHeaderWriter(h.Name, window)

	repl := caddy.NewReplacer()
	var err error
	if h.key, err = compileKey(h.Key, repl); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if h.limit, err = compileNumber(h.Limit, repl); err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	if text, err := compileTemplate(h.Limit, repl); h.Limit != "" && err == nil {
		// A limit that is empty because an environment variable is missing would make the budget unlimited.
		if value, constant := text.constant(); constant && value == "" {
			return fmt.Errorf("limit: %s is empty", h.Limit)
		}
	}
	h.charges = h.Charge != ""
	if h.charge, err = compileNumber(h.Charge, repl); err != nil {
		return fmt.Errorf("charge: %w", err)
	}
	h.costs, h.byPath = make([]costRule, len(h.Costs)), false
	for i, c := range h.Costs {
		if h.costs[i], err = compileCost(c, repl); err != nil {
			return fmt.Errorf("cost %d: %w", i+1, err)
		}
		h.byPath = h.byPath || !h.costs[i].pattern.all
	}
	return nil
}

// Validate checks ranges and required fields.
func (h *Handler) Validate() error {
	if h.Limit == "" {
		return errors.New("limit is required")
	}
	if w := time.Duration(h.Window); w < minWindow || w > maxWindow {
		return fmt.Errorf("window %s is not within 1s..31d", w)
	}
	if h.OnError != onErrorRefuse && h.OnError != onErrorAllow {
		return fmt.Errorf("on_error %q must be refuse or allow", h.OnError)
	}
	return nil
}

// ServeHTTP charges the request's cost and runs the next handlers, or refuses the request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	w, key, err := h.admit(w, r)
	if err != nil {
		return err
	}
	if h.charges && key != "" {
		// The call is deferred because reverse_proxy panics when the client leaves before the end of the answer.
		defer h.chargeAtEnd(r.Context(), key)
	}
	return next.ServeHTTP(w, r)
}

// admit charges the cost of a request, or returns an error that refuses it. It returns the writer for the response
// and the key under which the cost was counted; the key is empty if there is no limit. It is separate from ServeHTTP
// so that an open stream holds only a small stack.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (response http.ResponseWriter, key string, err error) {
	repl, _ := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	limit, limited, err := h.limit.value(repl)
	if err != nil {
		return w, "", h.misconfigured("limit", err)
	}
	if !limited {
		return w, "", nil
	}
	cost, err := h.cost(r, repl)
	if err != nil {
		return w, "", h.misconfigured("cost", err)
	}
	if key, err = h.countKey(r, repl); err != nil {
		return w, "", h.misconfigured("key", err)
	}

	res, err := h.take(r.Context(), key, cost, limit)
	switch {
	case err != nil && h.OnError == onErrorRefuse:
		w.Header()["Retry-After"] = []string{"1"}
		return w, "", caddyhttp.Error(http.StatusServiceUnavailable,
			apierror.Unavailable(fmt.Sprintf("the counter of budget %q", h.Name), err))
	case err != nil: // on_error is allow
		if c := h.logger.Check(zap.WarnLevel, "request let through uncounted"); c != nil {
			c.Write(zap.String("name", h.Name), zap.Error(err))
		}
	case !res.Allowed:
		return w, "", h.refuse(r.Context(), w.Header(), res, cost)
	default:
		names := headersOf(r.Context())
		h.headers.write(w.Header(), names, res, cost)
		w = keepHeaders(r.Context(), w, names)
	}
	return w, key, nil
}

// take counts cost units for key and reports in Result.Allowed whether the window has room for them. If the option
// charge is set, it also refuses a request of cost 0 when nothing remains, since the request's answer will cost units.
func (h *Handler) take(ctx context.Context, key string, cost, limit int64) (counters.Result, error) {
	store := h.app.Counters()
	if store == nil {
		return counters.Result{}, fmt.Errorf("%w: not open yet", counters.ErrUnavailable)
	}
	window := time.Duration(h.Window)
	res, err := store.Take(ctx, key, cost, limit, window)
	if err != nil || !h.charges || cost != 0 || res.Remaining != 0 {
		return res, err
	}
	// The store has admitted the cost of 0. Taking one unit instead makes it refuse the request and compute the wait. If a
	// unit has become free in the meantime, the request is admitted and pays for that unit.
	return store.Take(ctx, key, 1, limit, window)
}

// refuse counts and logs the refusal of a request that does not fit, sets the headers in header, and returns the error
// for the client. cost is the request's cost.
func (h *Handler) refuse(ctx context.Context, header http.Header, res counters.Result, cost int64) error {
	h.refused.Inc()
	h.headers.refuse(header, headersOf(ctx), res, cost)
	if c := h.logger.Check(zap.DebugLevel, "request refused by budget"); c != nil {
		c.Write(
			zap.String("name", h.Name),
			zap.Int64("cost", cost),
			zap.Int64("limit", res.Limit),
			zap.Int64("remaining", res.Remaining),
			zap.Duration("retry_after", res.RetryAfter),
		)
	}
	unit := "requests"
	if len(h.costs) > 0 || h.charges {
		unit = "units"
	}
	e := &apierror.Error{Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded"}
	if res.RetryAfter < 0 {
		e.NoRetry = true
		e.Message = fmt.Sprintf("This request costs %d %s, more than the whole rate limit of %d %s per %s (budget %q).",
			cost, unit, res.Limit, unit, inWords(time.Duration(h.Window)), h.Name)
	} else {
		e.RetryAfter = res.RetryAfter
		e.Message = fmt.Sprintf("Rate limit of %d %s per %s exceeded (budget %q). Please try again in %s.",
			res.Limit, unit, inWords(time.Duration(h.Window)), h.Name, ceilTo(res.RetryAfter, time.Millisecond))
	}
	return caddyhttp.Error(http.StatusTooManyRequests, e)
}

// inWords formats a window for a sentence, after "per": minute, 5 minutes, 90 seconds.
func inWords(window time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		n, remainder := window/unit.length, window%unit.length
		switch {
		case remainder == 0 && n == 1:
			return unit.name
		case remainder == 0:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return window.String()
}

// misconfigured returns the error for an option that has no value or a malformed one. The value appears only in the
// log, because the client may have supplied it.
func (h *Handler) misconfigured(option string, err error) error {
	return caddyhttp.Error(http.StatusInternalServerError, &apierror.Error{
		Status:  http.StatusInternalServerError,
		Message: fmt.Sprintf("The option %s of budget %q is misconfigured.", option, h.Name),
		Cause:   err,
	})
}

// chargeAtEnd charges a request when its handlers have returned or, if its answer is produced in the background, when
// the answer is complete.
func (h *Handler) chargeAtEnd(ctx context.Context, key string) {
	if completion := body.CompletionOf(ctx); completion != nil {
		completion.OnEnd(func(ctx context.Context) { h.chargeRequest(ctx, key) })
		return
	}
	h.chargeRequest(ctx, key)
}

// chargeRequest charges the value of the option charge. ctx is the request's context and may have ended. Unless the
// counters are in memory, they are charged in a goroutine, because the client gets the end of an unflushed answer only
// when the handlers return.
func (h *Handler) chargeRequest(ctx context.Context, key string) {
	repl, _ := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	units, set, err := h.charge.value(repl)
	if err == nil && !set {
		err = errors.New("the value is empty")
	}
	if err != nil {
		h.logger.Warn("nothing charged", zap.String("name", h.Name), zap.String("charge", h.Charge), zap.Error(err))
		return
	}
	store := h.app.Counters()
	if units == 0 || store == nil {
		return
	}
	if _, inMemory := store.(*counters.Memory); inMemory {
		h.chargeNow(ctx, store, key, units)
		return
	}
	go h.chargeNow(ctx, store, key, units)
}

// chargeNow charges units, even if ctx has ended, within chargeTimeout. It logs an error.
func (h *Handler) chargeNow(ctx context.Context, store counters.Store, key string, units int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTimeout)
	defer cancel()
	if err := store.Charge(ctx, key, units, time.Duration(h.Window)); err != nil {
		h.logger.Warn("nothing charged", zap.String("name", h.Name), zap.Int64("units", units), zap.Error(err))
	}
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ caddyfile.Unmarshaler       = (*Handler)(nil)
)
