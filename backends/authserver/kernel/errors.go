package kernel

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// The error codes of RFC 6749 section 5.2 and of its extensions that more than one package uses.
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
	InvalidProof         = "invalid_dpop_proof" // RFC 9449 section 5
)

// Refuse returns an OAuth error with a code and a description, which must not contain anything secret. The status is
// 401 for invalid_client, 403 for access_denied, 503 for temporarily_unavailable, 500 for server_error, and 400
// otherwise. The token endpoint turns a 403 into a 400.
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

// ConsentError is the OAuth error consent_required: the user must consent before the client's request can succeed.
type ConsentError struct {
	Refusal *apierror.Error
	Cause   string
	URL     string // the page that asks for consent
}

// Error implements error.
func (e *ConsentError) Error() string { return e.Refusal.Error() }

// Unwrap returns the refusal.
func (e *ConsentError) Unwrap() error { return e.Refusal }

// RequireConsent returns a ConsentError with a cause, such as ConsentMissing, and the URL of the page that asks for
// consent. The format and its arguments are the description.
func RequireConsent(cause, url, format string, args ...any) *ConsentError {
	return &ConsentError{Refuse(ConsentRequired, format, args...), cause, url}
}
