package converse

import (
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ErrorHeader is the name of the HTTP header field in which clients look for the type of an error before they look in
// the body.
const ErrorHeader = "X-Amzn-Errortype"

// errorTypes maps HTTP statuses to the error types that client libraries distinguish.
var errorTypes = apierror.ByStatus{
	400: "ValidationException", 401: "UnrecognizedClientException", 402: "ServiceQuotaExceededException",
	403: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
	429: "ThrottlingException", 500: "InternalServerException", 503: "ServiceUnavailableException",
	504: "ModelTimeoutException",
}

// ErrorType returns the name of the exception that a client gets for e, such as "ThrottlingException" for status 429.
func ErrorType(e *apierror.Error) string {
	if e.Code == "insufficient_quota" {
		return errorTypes[402]
	}
	return errorTypes.Of(e.Status)
}

// Error returns the HTTP status and the JSON body of the error response for e.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) {
	body = jsontext.AppendQuoted([]byte(`{"__type":`), ErrorType(e))
	return e.Status, append(jsontext.AppendMember(body, `,"message":`, e.Message), '}')
}
