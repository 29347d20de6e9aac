package converse

import (
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ErrorHeader is the header field in which clients look first for the type of an error.
const ErrorHeader = "X-Amzn-Errortype"

// errorTypes are the error types that client libraries distinguish.
var errorTypes = apierror.ByStatus{
	400: "ValidationException", 401: "UnrecognizedClientException", 402: "ServiceQuotaExceededException",
	403: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
	429: "ThrottlingException", 500: "InternalServerException", 503: "ServiceUnavailableException",
	504: "ModelTimeoutException",
}

// ErrorType returns the type of an error.
func ErrorType(e *apierror.Error) string {
	if e.Code == "insufficient_quota" {
		return errorTypes[402]
	}
	return errorTypes.Of(e.Status)
}

// Error returns the status and the body for an error.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) {
	body = jsontext.AppendQuoted([]byte(`{"__type":`), ErrorType(e))
	return e.Status, append(jsontext.AppendMember(body, `,"message":`, e.Message), '}')
}
