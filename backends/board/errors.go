package board

import (
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// notFound is one answer for what is not there and what may not be seen.
func notFound() error {
	return apierror.New(http.StatusNotFound, "not_found", "there is nothing here that you may see")
}

func forbidden(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusForbidden, Code: "forbidden", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// invalid refuses the contents of a field.
func invalid(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// badRequest refuses a query parameter.
func badRequest(field, message string) error {
	return &apierror.Error{
		Status: http.StatusBadRequest, Code: "bad_request", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: "invalid", Message: message}},
	}
}

// fieldOf puts another field into a refusal of one field.
func fieldOf(err error, field string) error {
	e, ok := apierror.From(err)
	if !ok || len(e.Details) != 1 {
		return err
	}
	d := e.Details[0]
	return &apierror.Error{Status: e.Status, Code: e.Code, Message: e.Message, Details: []apierror.Detail{{Field: field, Reason: d.Reason, Message: d.Message}}}
}

func conflict(message string) error {
	return apierror.New(http.StatusConflict, "conflict", "%s", message)
}

func flooded(wait time.Duration) error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "flood_limited", RetryAfter: wait,
		Message: "you are posting too fast, wait a little and send it again",
	}
}

// unavailable makes a database that is down a 503.
func unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		if _, told := apierror.From(err); !told {
			return apierror.Unavailable("the database", err)
		}
	}
	return err
}

// notFoundErr reports whether err is the answer for what is not there.
func notFoundErr(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusNotFound
}
