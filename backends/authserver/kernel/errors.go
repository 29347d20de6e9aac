package kernel

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// The error codes of RFC 6749 section 5.2 and its like, as far as more than one room
// answers with them.
const (
	InvalidRequest       = "invalid_request"
	InvalidClient        = "invalid_client"
	InvalidGrant         = "invalid_grant"
	InvalidScope         = "invalid_scope"
	InvalidTarget        = "invalid_target" // RFC 8707 section 2
	UnauthorizedClient   = "unauthorized_client"
	UnsupportedGrantType = "unsupported_grant_type"
	AccessDenied         = "access_denied"
	ServerError          = "server_error"
	SlowDown             = "slow_down"
	Unavailable          = "temporarily_unavailable"
	ConsentRequired      = "consent_required"
)

// Refuse is an OAuth error: its code, and a description without anything secret. The
// status is 400, 401 for invalid_client, 403 for access_denied, 503 and 500 for the
// codes that say so; the token endpoint makes of a 403 a 400.
func Refuse(code, format string, args ...any) *apierror.Error {
	status := http.StatusBadRequest
	switch code {
	case InvalidClient:
		status = http.StatusUnauthorized
	case AccessDenied:
		status = http.StatusForbidden
	case Unavailable:
		status = http.StatusServiceUnavailable
	case ServerError:
		status = http.StatusInternalServerError
	}
	return apierror.New(status, code, format, args...)
}

// The causes of a ConsentError.
const (
	ConsentMissing    = "consent_missing"
	ScopeInsufficient = "scope_insufficient"
)

// ConsentError is the OAuth error consent_required: a person has to be asked before a
// client can have what it wants.
type ConsentError struct {
	Refusal *apierror.Error
	Cause   string
	URL     string // where the person is asked
}

// Error implements error.
func (e *ConsentError) Error() string { return e.Refusal.Error() }

// Unwrap is the refusal.
func (e *ConsentError) Unwrap() error { return e.Refusal }

// RequireConsent is the error for a cause and the address where the person is asked.
func RequireConsent(cause, url, format string, args ...any) *ConsentError {
	return &ConsentError{Refuse(ConsentRequired, format, args...), cause, url}
}
