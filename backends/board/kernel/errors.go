package kernel

import (
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NotFound returns the error (status 404) for something that does not exist or that the actor may not see. The error is
// the same in both cases, to hide what exists.
func NotFound() error {
	return apierror.New(http.StatusNotFound, "not_found", "there is nothing here that you may see")
}

// Forbidden returns the error (status 403) for an action that the actor may not do, or for a field value that only
// others may set. field is empty for an action. reason is a word for programs, message a sentence for people.
func Forbidden(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusForbidden, Code: "forbidden", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// Invalid returns the error (status 422) for the value of one field that breaks a rule. reason is a word for
// programs, message a sentence for people.
func Invalid(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// BadRequest returns the error (status 400) for a malformed query parameter.
func BadRequest(field, message string) error {
	return &apierror.Error{
		Status: http.StatusBadRequest, Code: "bad_request", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: "invalid", Message: message}},
	}
}

// WithField replaces the name of the field in a refusal with formField, for a caller whose form names the field
// differently. Errors that are not refusals of a field are returned unchanged.
func WithField(err error, formField string) error {
	e, ok := apierror.From(err)
	if !ok || len(e.Details) != 1 {
		return err
	}
	d := e.Details[0]
	return &apierror.Error{
		Status: e.Status, Code: e.Code, Message: e.Message,
		Details: []apierror.Detail{{Field: formField, Reason: d.Reason, Message: d.Message}},
	}
}

// Conflict returns the error (status 409) for a request that the current state of the board does not allow.
func Conflict(message string) error {
	return apierror.New(http.StatusConflict, "conflict", "%s", message)
}

// Flooded returns the error (status 429) for a post that was sent too soon after the member's previous posts. The
// client may send it again after wait.
func Flooded(wait time.Duration) error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "flood_limited", RetryAfter: wait,
		Message: "you are posting too fast, wait a little and send it again",
	}
}

// Unavailable converts the error of an unreachable database to an API error with status 503. All other errors are
// returned unchanged.
func Unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		if _, isAPI := apierror.From(err); !isAPI {
			return apierror.Unavailable("the database", err)
		}
	}
	return err
}

// IsNotFound reports whether err is an API error with status 404, as NotFound returns.
func IsNotFound(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusNotFound
}
