package kernel

import (
	"database/sql"
	"errors"
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NotFound is one answer for what is not there and what may not be seen.
func NotFound(what string) error {
	return apierror.New(http.StatusNotFound, "not_found", "%s not found", what)
}

// IsNotFound reports whether err is the answer for what is not there.
func IsNotFound(err error) bool { return Status(err) == http.StatusNotFound }

// OrNotFound turns sql.ErrNoRows into the answer for what is not there.
func OrNotFound(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return NotFound(what)
	}
	return err
}

// Forbidden refuses an act.
func Forbidden(format string, args ...any) error {
	return apierror.New(http.StatusForbidden, "forbidden", format, args...)
}

// BadRequest refuses what cannot be understood, such as a selector.
func BadRequest(format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "bad_request", format, args...)
}

// Conflict refuses what does not go with how things are now.
func Conflict(format string, args ...any) error {
	return apierror.New(http.StatusConflict, "conflict", format, args...)
}

// Changed refuses a change of what others have changed meanwhile.
func Changed(what string) error {
	return apierror.New(http.StatusPreconditionFailed, "precondition_failed", "%s has been changed meanwhile", what)
}

// Invalid refuses the value of a field. [apierror.Join] makes one answer of several.
func Invalid(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// Status is the HTTP status that an error is answered with: 500 for one that clients
// are not told of, 0 for none.
func Status(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := apierror.From(err); ok {
		return e.Status
	}
	return http.StatusInternalServerError
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
