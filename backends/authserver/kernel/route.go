package kernel

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit"
)

// Route is a row of the endpoints of a room.
type Route struct {
	// Method is one; GET answers HEAD too, but where it Acts.
	Method string
	// Acts: a GET does something, such as to use up what is good once.
	Acts bool
	// Path is a pattern of http.ServeMux without a method and a host.
	Path string
	// Serve answers. What it returns is written by WriteError where nothing has been
	// written yet.
	Serve func(w http.ResponseWriter, r *http.Request) error
	// Refused adds headers where the request does not come to Serve: too many come from its
	// address, or its method is none of the path's. Default: none.
	Refused func(h http.Header, r *http.Request)
}

// WriteError answers with an OAuth error (RFC 6749 section 5.2), which has the members
// of problem details (RFC 9457) beside its own. What is no refusal is server_error.
func WriteError(w http.ResponseWriter, err error) {
	e, ok := apierror.From(err)
	switch {
	case ok:
	case Down(err):
		e = Refuse(Unavailable, "the server cannot answer right now, try again shortly")
	default:
		e = Refuse(ServerError, "internal error")
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+999_999_999).Seconds()), 10))
	}
	w.WriteHeader(e.Status)
	body := ErrorBody(e)
	if lacks, ok := errors.AsType[*ConsentError](err); ok {
		body = jsontext.AppendQuoted(append(body[:len(body)-1], `,"cause":`...), lacks.Cause)
		body = append(jsontext.AppendQuoted(append(body, `,"consent_url":`...), lacks.URL), '}')
	}
	_, _ = w.Write(body) // nobody to tell when the client is gone
}

// Down reports whether an error is that of a database, of counters or of a key management
// server that does not answer now.
func Down(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, counters.ErrUnavailable) || errors.Is(err, transit.ErrUnavailable)
}

// ErrorBody is the body of an OAuth error. What came from a room or a middleware that
// does not know OAuth has the code that its status stands for.
func ErrorBody(e *apierror.Error) []byte {
	body := jsontext.AppendQuoted([]byte(`{"error":`), oauthCode(e))
	body = jsontext.AppendQuoted(append(body, `,"error_description":`...), e.Message)
	body = strconv.AppendInt(append(body, `,"status":`...), int64(e.Status), 10)
	body = jsontext.AppendQuoted(append(body, `,"title":`...), http.StatusText(e.Status))
	body = append(body, `,"type":"about:blank"`...)
	body = jsontext.AppendQuoted(append(body, `,"detail":`...), e.Message)
	return append(body, '}')
}

// oauthCode is the code of an error as OAuth knows it.
func oauthCode(e *apierror.Error) string {
	switch e.Code {
	case "", "overloaded", "rate_limit_exceeded", "request_too_large", "method_not_allowed", "no_such_route", "invalid_body", "unsupported_media_type":
	default:
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
