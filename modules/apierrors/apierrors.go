// Package apierrors provides the middleware that turns every error of the handlers behind it into the response that the
// API of the route promises, and that gives every request an id.
package apierrors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/edge"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Request variables that the middleware sets.
const (
	// FormatVar holds the name of the error format of the route, a string.
	FormatVar = "tollgate.api_errors.format"
	// RequestIDVar holds the id of the request, a string; see RequestID.
	RequestIDVar = "tollgate.request_id"
)

var errUnhandled = errors.New("no handler answers this request")

const requestIDPlaceholder = "http.tollgate.request_id"

// Handler answers errors in the format of an API. It is the outermost handler of an API: any error that a handler
// behind it returns becomes a body of the chosen format with the right status. That includes refusals of Tollgate's
// handlers and errors of Caddy's handlers, such as the 502 of reverse_proxy or the 413 of request_body. It needs no
// other module of Tollgate.
//
// JSON: {"handler": "api_errors", "format": "chat_completions"}. The format is required and is one of the following.
//
// chat_completions and responses:
//
//	{"error":{"message":"…","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}
//
// param is the JSON path of the field at fault, or null. It is followed by failed_attempts if the cascade reports the
// candidates that it tried, as a list of {"provider","model","status","code","message","latency_ms"}.
//
// messages:
//
//	{"type":"error","error":{"type":"rate_limit_error","message":"…"},"request_id":"req_…"}
//
// In this format a 503 is sent with status 529 and type overloaded_error, because clients then wait and retry.
//
// converse, with the type in the header X-Amzn-Errortype too:
//
//	{"__type":"ThrottlingException","message":"…"}
//
// board, with details only if there are any:
//
//	{"error":{"code":"validation_failed","message":"…","requestId":"req_…",
//	 "details":[{"field":"title","reason":"too_long","message":"…"}]}}
//
// cms, with requestId only together with "internal error":
//
//	{"error":"…","requestId":"req_…"}
//
// answer, whose error is a name from the answer API and never a sentence; a spent budget (402) becomes a 429
// QuotaExceeded:
//
//	{"success":false,"error":"RateLimited","result":null}
//
// events:
//
//	{"error":"…"}
//
// problem, which is application/problem+json of RFC 9457. It has code, param and errors (called details in the format
// board) only if there are any. type is the error's type if that is an absolute URI, otherwise about:blank:
//
//	{"type":"about:blank","title":"Not Found","status":404,"detail":"…",
//	 "code":"not_found","param":"id","errors":[…],"request_id":"req_…"}
//
// Other modules add formats: board_pages is a page for requests that are refused in front of the board, and oauth is
// the error format of the authorization server.
//
// # What the client is told
//
// The text of an error is shown only if a handler of Tollgate made the error for the client. Errors of Caddy's handlers
// keep their status but get a fixed sentence, because their texts may name files, addresses or upstreams. An error
// without a status is a 500 "internal error", or a 504 if a deadline passed. The whole text is logged: at level error
// from status 500 on, at level debug below.
//
// A request that no handler answers gets a 404. Caddy alone would send an empty 200, which clients would take for
// success.
//
// Error responses have Cache-Control: no-store and, where they apply, Retry-After with retry-after-ms and
// x-should-retry: false. 429 and 503 always have Retry-After and retry-after-ms, unless the error states that a retry
// is pointless. The default wait is 1 second. WWW-Authenticate, Allow, Vary, cookies and similar headers that a handler
// set before it failed are kept; headers that describe a body which was never sent, such as Content-Encoding or ETag,
// are removed. HEAD gets the same header without a body.
//
// # What is left alone
//
// A response that has begun, above all a stream, is not changed: the error is returned to Caddy, which logs it. Do not
// write bodies in handle_errors for such requests, because they would be added to the stream. Informational responses
// (1xx) do not begin a response, except switching protocols (101). A request whose client has disconnected gets status
// 499, for the access log, and no body. Panics pass through.
//
// The handlers may be nested; the innermost one answers. Within one handler, matchers can select requests that get
// another format:
//
//	api_errors chat_completions {
//		messages /v1/messages*
//	}
//
// # Request ids
//
// Every response, successful or not, has the header X-Request-Id, which is "req_" and 24 random letters and digits. In
// the format messages, the header request-id has the same value. In the format converse, the header x-amzn-requestid
// has it. Ids that clients send or upstreams set are replaced. Upstreams get the new id in X-Request-Id, even if the
// client names that header in Connection, which asks proxies to remove it.
//
// Placeholder: {http.tollgate.request_id}. Variables:
// {http.vars.tollgate.request_id}, {http.vars.tollgate.api_errors.format}.
type Handler struct {
	// Format is the format of the error bodies: chat_completions, responses, messages, converse, board, board_pages, cms,
	// answer, events, oauth or problem. Required.
	Format string `json:"format,omitempty"`

	// Others are formats for requests that matchers select. The first entry that matches applies.
	Others []Other `json:"others,omitempty"`

	chosen choice
	logger *zap.Logger
}

// Other is a format for requests that matchers select.
type Other struct {
	// MatcherSetsRaw selects the requests, as in a route of Caddy. Required.
	MatcherSetsRaw caddyhttp.RawMatcherSets `json:"match,omitempty" caddy:"namespace=http.matchers"`

	// Format is a format as in the handler. Required.
	Format string `json:"format,omitempty"`

	matchers caddyhttp.MatcherSets
	chosen   choice
}

// choice is a format and its name. The name has the type any, so that it is converted only once for the variable
// FormatVar, instead of for each request.
type choice struct {
	format format
	name   any
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.api_errors",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision looks up the formats and loads the matchers.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	h.chosen = choice{formats[h.Format], h.Format}
	for i := range h.Others {
		o := &h.Others[i]
		o.chosen = choice{formats[o.Format], o.Format}
		matchers, err := ctx.LoadModule(o, "MatcherSetsRaw")
		if err != nil {
			return fmt.Errorf("matchers of %s: %w", o.Format, err)
		}
		if err := o.matchers.FromInterface(matchers); err != nil {
			return fmt.Errorf("matchers of %s: %w", o.Format, err)
		}
	}
	return nil
}

// Validate returns an error for a missing or unknown format.
func (h *Handler) Validate() error {
	for _, o := range h.Others {
		if err := checkFormat(o.Format); err != nil {
			return err
		}
		if len(o.matchers) == 0 {
			return fmt.Errorf("the format %s beside %s has no matcher", o.Format, h.Format)
		}
	}
	return checkFormat(h.Format)
}

// choose returns the format of a request.
func (h *Handler) choose(r *http.Request) (choice, error) {
	for i := range h.Others {
		match, err := h.Others[i].matchers.AnyMatchWithError(r)
		if err != nil || match {
			return h.Others[i].chosen, err
		}
	}
	return h.chosen, nil
}

// ServeHTTP runs the next handlers and answers the error that they return, unless their response has begun.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	chosen, err := h.choose(r) // err is answered below, in the chosen format
	vars, _ := r.Context().Value(caddyhttp.VarsCtxKey).(map[string]any)
	id := identify(r.Context(), vars)
	if vars != nil {
		vars[FormatVar] = chosen.name
	}
	rw := newResponseWriter(w, id, chosen.format.requestIDHeader)
	rw.expects = r.ProtoMajor == 1 && r.Header["Expect"] != nil
	r.Header[requestIDHeader] = rw.id[2:] // upstreams get our id, not the client's
	if r.Header["Connection"] != nil {
		unlistRequestID(r.Header)
	}

	// Handlers below may rewrite the request in place, so its method and path are read now.
	isHead := r.Method == http.MethodHead
	strippedPath := ""
	if chosen.format.page != nil {
		strippedPath = edge.StrippedPath(r)
	}

	if err == nil {
		err = next.ServeHTTP(rw, r)
	}
	if err == nil && !rw.Began && edge.Unhandled(r.Context()) {
		err = caddyhttp.Error(http.StatusNotFound, errUnhandled)
	}
	if err == nil {
		if !rw.Began {
			rw.setRequestID() // net/http is about to send an empty 200
		}
		return nil
	}
	if rw.Began {
		return begunError(r.Context(), id, err)
	}
	if clientGone(r.Context(), err) {
		h.log(zapcore.DebugLevel, "client closed the request", id, statusClientClosed, "", err)
		rw.WriteHeader(statusClientClosed)
		return nil
	}
	h.answer(rw, chosen.format, strippedPath, isHead, id, err)
	return nil
}

// answer writes err as the whole response and logs it. strippedPath is the argument of format.page, isHead means that
// the request method is HEAD, and id is the request id.
func (h *Handler) answer(w *responseWriter, f format, strippedPath string, isHead bool, id string, err error) {
	e := classify(err)
	var rep reply
	if f.page != nil {
		rep = f.page(strippedPath, e)
	} else {
		rep = f.render(e, id)
	}

	level, msg := zapcore.DebugLevel, "request refused"
	if rep.status >= http.StatusInternalServerError {
		level, msg = zapcore.ErrorLevel, "request failed"
	}
	h.log(level, msg, id, rep.status, logCode(e), err)

	header := w.Header()
	dropRepresentation(header)
	maps.Copy(header, rep.header)
	if rep.varyBy != "" && !slices.Contains(header["Vary"], rep.varyBy) {
		header.Add("Vary", rep.varyBy)
	}
	header.Set("Content-Length", strconv.Itoa(len(rep.body)))
	header.Set("Cache-Control", "no-store")
	rest.NoSniff(header)
	setRetry(header, e, rep.status)

	w.WriteHeader(rep.status)
	if !isHead {
		// A failed write means that the client is gone.
		_, _ = w.Write(rep.body)
	}
}

// logCode returns the error code for the logs, which does not depend on the format of the response. It is the code
// that the chat format has for the error, with one exception: an error with status 502 and without a code is logged
// as bad_gateway, because the chat format calls such an error the failure of all providers.
func logCode(e *apierror.Error) string {
	if e.Code == "" && e.Status == http.StatusBadGateway {
		return "bad_gateway"
	}
	return chat.ErrorCode(e)
}

// log logs the outcome of the request with the given id. status is the status of the response, and code is the result
// of logCode or empty.
func (h *Handler) log(level zapcore.Level, msg, id string, status int, code string, err error) {
	if c := h.logger.Check(level, msg); c != nil {
		c.Write(
			zap.String("request_id", id),
			zap.Int("status", status),
			zap.String("code", code),
			zap.Error(err),
		)
	}
}

// setRetry sets the headers that state whether and when a client should try again. It keeps a Retry-After that an
// earlier handler has set, unless the error has a wait.
func setRetry(header http.Header, e *apierror.Error, status int) {
	if e.NoRetry {
		header.Set("X-Should-Retry", "false")
	}
	wait := e.RetryAfter
	if wait <= 0 {
		isTemporary := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable ||
			status == statusOverloaded
		if !isTemporary || e.NoRetry || header.Get("Retry-After") != "" {
			return
		}
		wait = time.Second
	}
	header.Set("Retry-After", strconv.FormatInt(ceil(wait, time.Second), 10))
	header.Set("Retry-After-Ms", strconv.FormatInt(ceil(wait, time.Millisecond), 10))
}

// ceil returns d in whole units, rounded up.
func ceil(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
}

// dropRepresentation removes the headers of a body that a handler wanted to send before it failed.
func dropRepresentation(header http.Header) {
	for _, name := range [...]string{
		"Accept-Ranges", "Age", "Content-Digest", "Content-Disposition", "Content-Encoding",
		"Content-Language", "Content-Length", "Content-Location", "Content-Md5", "Content-Range",
		"Digest", "Etag", "Expires", "Last-Modified", "Location", "Repr-Digest", "Trailer",
		"Transfer-Encoding", "X-Accel-Buffering",
	} {
		delete(header, name)
	}
}

// RequestID returns the id of the request with the context ctx, or "" if the request did not pass api_errors.
func RequestID(ctx context.Context) string {
	id, _ := caddyhttp.GetVar(ctx, RequestIDVar).(string)
	return id
}

// checkFormat returns an error unless a format with this name is registered.
func checkFormat(name string) error {
	if name == "" {
		return fmt.Errorf("format is required, one of: %s", formatNames())
	}
	if _, ok := formats[name]; !ok {
		return fmt.Errorf("format: unknown format %q, must be one of: %s", name, formatNames())
	}
	return nil
}

var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ caddyfile.Unmarshaler       = (*Handler)(nil)
)
