package kernel

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit"
)

// Route is an HTTP endpoint of one of the packages.
type Route struct {
	// Method is the HTTP method. A GET route also answers HEAD unless Acts is set.
	Method string
	// Acts is set if a GET request has an effect, such as using up a single-use token. Such a route does not answer
	// HEAD.
	Acts bool
	// Path is a pattern of http.ServeMux without method and host.
	Path string
	// Serve answers the request. WriteError writes an error that Serve returns, so Serve must not have written anything
	// in that case.
	Serve func(w http.ResponseWriter, r *http.Request) error
	// Refused adds headers to the response for a request that is refused before Serve, because of the rate limit or
	// because the path does not allow the method. Default: no headers.
	Refused func(h http.Header, r *http.Request)
}

// WriteError writes an error as an OAuth error (RFC 6749 section 5.2) that also has the members of problem details (RFC
// 9457). An error that is not an apierror.Error becomes temporarily_unavailable if Down reports true for it, and
// otherwise server_error.
func WriteError(w http.ResponseWriter, err error) {
	e, ok := apierror.From(err)
	switch {
	case ok: // the error determines the response
	case Down(err):
		e = Refuse(Unavailable, "the server is temporarily unavailable; try again shortly")
	default:
		e = Refuse(ServerError, "internal error")
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if e.RetryAfter > 0 {
		seconds := int64((e.RetryAfter + time.Second - 1) / time.Second) // rounded up
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	w.WriteHeader(e.Status)
	body := ErrorBody(e)
	if consent, ok := errors.AsType[*ConsentError](err); ok {
		body = body[:len(body)-1] // the closing brace
		body = jsontext.AppendQuoted(append(body, `,"cause":`...), consent.Cause)
		body = append(jsontext.AppendQuoted(append(body, `,"consent_url":`...), consent.URL), '}')
	}
	_, _ = w.Write(body) // an error means that the client is gone
}

// Down reports whether an error means that the database, the counters or the key management server is currently
// unavailable.
func Down(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, counters.ErrUnavailable) ||
		errors.Is(err, transit.ErrUnavailable)
}

// ErrorBody returns the JSON body of an OAuth error. An error without an OAuth code, such as one of a middleware, gets
// the code that corresponds to its status.
func ErrorBody(e *apierror.Error) []byte {
	body := jsontext.AppendQuoted([]byte(`{"error":`), oauthCode(e))
	body = jsontext.AppendQuoted(append(body, `,"error_description":`...), e.Message)
	body = strconv.AppendInt(append(body, `,"status":`...), int64(e.Status), 10)
	body = jsontext.AppendQuoted(append(body, `,"title":`...), http.StatusText(e.Status))
	body = append(body, `,"type":"about:blank"`...)
	body = jsontext.AppendQuoted(append(body, `,"detail":`...), e.Message)
	return append(body, '}')
}

// gatewayCodes are the error codes of the gateway's middleware, which are not codes of OAuth.
var gatewayCodes = []string{
	"", "overloaded", "rate_limit_exceeded", "request_too_large", "method_not_allowed", "no_such_route", "invalid_body",
	"unsupported_media_type",
}

// oauthCode returns the OAuth error code of an error: its own code or, if that is not a code of OAuth, the code for its
// status.
func oauthCode(e *apierror.Error) string {
	if !slices.Contains(gatewayCodes, e.Code) {
		return e.Code
	}
	switch e.Status {
	case http.StatusTooManyRequests:
		return SlowDown
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusBadGateway:
		return Unavailable
	}
	if e.Status >= http.StatusInternalServerError {
		return ServerError
	}
	return InvalidRequest
}
