package kernel

import (
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NotFound returns one answer for what is not there and for what may not be seen.
func NotFound() error {
	return apierror.New(http.StatusNotFound, "not_found", "there is nothing here that you may see")
}

// Forbidden refuses an act, or the contents of a field that others may set.
func Forbidden(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusForbidden, Code: "forbidden", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// Invalid refuses the contents of a field.
func Invalid(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// BadRequest refuses a query parameter.
func BadRequest(field, message string) error {
	return &apierror.Error{
		Status: http.StatusBadRequest, Code: "bad_request", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: "invalid", Message: message}},
	}
}

// FieldOf puts another field into a refusal of one field.
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

// Conflict refuses what does not go with how things are now.
func Conflict(message string) error {
	return apierror.New(http.StatusConflict, "conflict", "%s", message)
}

// Flooded refuses a post that comes too soon.
func Flooded(wait time.Duration) error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "flood_limited", RetryAfter: wait,
		Message: "you are posting too fast, wait a little and send it again",
	}
}

// Unavailable makes a database that is down a 503.
func Unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		if _, told := apierror.From(err); !told {
			return apierror.Unavailable("the database", err)
		}
	}
	return err
}

// NotFoundErr reports whether err is the answer for what is not there.
func NotFoundErr(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusNotFound
}
