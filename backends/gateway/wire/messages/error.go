package messages

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// StatusOverloaded is the HTTP status that this format uses in place of 503.
const StatusOverloaded = 529

// errorTypes maps HTTP statuses to the error types that client libraries distinguish.
var errorTypes = apierror.ByStatus{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error",
	408: "timeout_error", 410: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
	500: "api_error", 503: "overloaded_error", 504: "timeout_error",
}

// ErrorType returns the value of error.type for e in this format: e.Type if the format has that type, "billing_error"
// for the code insufficient_quota, and otherwise a type that corresponds to e.Status.
func ErrorType(e *apierror.Error) string {
	switch e.Type {
	case "invalid_request_error", "authentication_error", "billing_error", "permission_error",
		"not_found_error", "request_too_large", "conflict_error", "rate_limit_error",
		"timeout_error", "api_error", "overloaded_error":
		return e.Type // clients of this format do not know types of other formats
	}
	if e.Code == "insufficient_quota" {
		return "billing_error"
	}
	return errorTypes.Of(e.Status)
}

// Error returns the HTTP status and the JSON body with which the gateway answers a client of this format in case of the
// error e. id is the request's id.
func (Format) Error(e *apierror.Error, id string) (status int, body []byte) {
	if status = e.Status; status == http.StatusServiceUnavailable {
		status = StatusOverloaded
	}
	body = jsontext.AppendQuoted([]byte(`{"type":"error","error":{"type":`), ErrorType(e))
	body = jsontext.AppendMember(body, `,"message":`, e.Message)
	if e.Code == "thread_unsupported_request" { // the vendor's SDKs act on this code
		body = append(jsontext.AppendMember(body, `,"details":{"error_code":`, e.Code), '}')
	}
	return status, append(jsontext.AppendMember(body, `},"request_id":`, id), '}')
}
