package kernel

import (
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NotFound returns the error for something that does not exist or that the actor may not see. It is the same in both
// cases, so that it does not reveal what exists. Its status is 404.
func NotFound() error {
	return apierror.New(http.StatusNotFound, "not_found", "there is nothing here that you may see")
}

// Forbidden returns the error (status 403) for an action that the actor may not do, or for the value of a field that
// only others may set.
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

// FieldOf returns a refusal of one field as a refusal of another field, for a caller whose form names the field
// differently. All other errors are returned as they are.
func FieldOf(err error, field string) error {
	e, ok := apierror.From(err)
	if !ok || len(e.Details) != 1 {
		return err
	}
	d := e.Details[0]
	return &apierror.Error{
		Status: e.Status, Code: e.Code, Message: e.Message,
		Details: []apierror.Detail{{Field: field, Reason: d.Reason, Message: d.Message}},
	}
}

// Conflict returns the error (status 409) for a request that is not possible in the current state.
func Conflict(message string) error {
	return apierror.New(http.StatusConflict, "conflict", "%s", message)
}

// Flooded returns the error (status 429) for a post that was sent too soon after the previous ones. The client may
// send it again after wait.
func Flooded(wait time.Duration) error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "flood_limited", RetryAfter: wait,
		Message: "you are posting too fast, wait a little and send it again",
	}
}

// Unavailable returns an error of a database that cannot be reached as an API error with status 503. All other
// errors, and those that are API errors already, are returned as they are.
func Unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		if _, isAPI := apierror.From(err); !isAPI {
			return apierror.Unavailable("the database", err)
		}
	}
	return err
}

// NotFoundErr reports whether err is an API error with status 404, as NotFound returns.
func NotFoundErr(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusNotFound
}
