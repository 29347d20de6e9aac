package kernel

import (
	"database/sql"
	"errors"
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NotFound returns the error for something that does not exist or that the user may not see. kind is its kind, such as
// page.
func NotFound(kind string) error {
	return apierror.New(http.StatusNotFound, "not_found", "%s not found", kind)
}

// IsNotFound reports whether err is answered with 404.
func IsNotFound(err error) bool { return Status(err) == http.StatusNotFound }

// OrNotFound converts sql.ErrNoRows to NotFound(kind), and returns other errors unchanged.
func OrNotFound(err error, kind string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return NotFound(kind)
	}
	return err
}

// Forbidden returns the error for an action that the user may not take.
func Forbidden(format string, args ...any) error {
	return apierror.New(http.StatusForbidden, "forbidden", format, args...)
}

// BadRequest returns the error for a request that cannot be understood, such as one with a malformed selector.
func BadRequest(format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "bad_request", format, args...)
}

// Conflict returns the error for a change that is not possible in the current state.
func Conflict(format string, args ...any) error {
	return apierror.New(http.StatusConflict, "conflict", format, args...)
}

// Changed returns the error for a change that is based on an outdated version. kind is the kind of the changed thing,
// such as page.
func Changed(kind string) error {
	return apierror.New(http.StatusPreconditionFailed, "precondition_failed", "%s has been changed meanwhile", kind)
}

// Invalid returns the error for an invalid value of a field. To report several fields, combine such errors with
// [apierror.Join].
func Invalid(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// Status returns the HTTP status for an error. The status is 500 for errors whose text is not shown to clients, and 0
// for nil.
func Status(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := apierror.From(err); ok {
		return e.Status
	}
	return http.StatusInternalServerError
}

// Unavailable converts the error of an unavailable database to a 503 error, and returns other errors unchanged.
func Unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		if _, answerable := apierror.From(err); !answerable {
			return apierror.Unavailable("the database", err)
		}
	}
	return err
}
