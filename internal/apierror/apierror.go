// Package apierror provides the error type that services and middlewares of Tollgate return to clients. The api_errors
// module renders these errors in the format of the route. They must not contain secrets: every field except Cause may
// reach the client.
package apierror

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Error is a refusal or a failure that is reported to a client.
type Error struct {
	// Status is the HTTP status, for example 429.
	Status int
	// Code is the machine-readable reason, for example "rate_limit_exceeded". If it is empty the format derives one
	// from the status.
	Code string
	// Type overrides the error type that a format derives from Status and Code. A format with a closed list of types
	// ignores other types.
	Type string
	// Param is the JSON path of the field at fault, for example "messages[2].role", or "".
	Param string
	// Message is the sentence shown to the client. It says what is wrong, where, and how to correct it.
	Message string
	// RetryAfter is the wait after which the same request may succeed. Zero means unknown.
	RetryAfter time.Duration
	// NoRetry sends the header "x-should-retry: false", which tells SDKs not to retry.
	NoRetry bool
	// FailedAttempts is rendered as error.failed_attempts by the formats that have it, unless it is nil.
	FailedAttempts []Attempt
	// Details names every field at fault, for the formats that list several (board, problem). Nil means none.
	Details []Detail
	// Cause is only logged.
	Cause error
}

// Attempt describes a candidate, such as a provider, that was tried before a request failed.
type Attempt struct {
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Status    int    `json:"status"` // 0 if there was no HTTP response
	Code      string `json:"code"`
	Message   string `json:"message"` // at most 200 characters, keys masked
	LatencyMS int64  `json:"latency_ms"`
}

// Detail describes a field at fault.
type Detail struct {
	Field   string `json:"field"`   // path or name of the field, for example "title"
	Reason  string `json:"reason"`  // machine-readable, for example "too_long"
	Message string `json:"message"` // a sentence for the client
}

// New returns an Error with a formatted message.
func New(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Unavailable returns a 503 error: the named part, such as the database, is down and expected to come back. cause is
// only logged.
func Unavailable(part string, cause error) *Error {
	return &Error{
		Status:     http.StatusServiceUnavailable,
		Code:       "overloaded",
		Message:    part + " is not available right now, try again shortly",
		RetryAfter: time.Second,
		Cause:      cause,
	}
}

// With sets e.Param, the JSON path of the field at fault, and returns e itself, for use with New.
func (e *Error) With(param string) *Error {
	e.Param = param
	return e
}

// Join returns a copy of the first *Error among errs, with the details of all *Errors. It ignores errors of other
// types, and returns nil if errs has no *Error.
func Join(errs ...error) error {
	var all *Error
	for _, err := range errs {
		e, ok := From(err)
		switch {
		case !ok: // ignored
		case all == nil:
			all = new(*e)
			all.Details = slices.Clip(e.Details)
		default:
			all.Details = append(all.Details, e.Details...)
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// Error implements error. The text includes the cause and is meant for the log.
func (e *Error) Error() string {
	s := e.Message
	if e.Code != "" {
		s = e.Code + ": " + s
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// From returns the first Error in the chain of err. It returns false if there is none, as for a nil error.
func From(err error) (*Error, bool) {
	if err == nil { // the usual case
		return nil, false
	}
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
