package apierrors

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// renderAnswer writes the envelope of the answer API.
func renderAnswer(e *apierror.Error, _ string) reply {
	status := e.Status
	if status == http.StatusPaymentRequired {
		status = http.StatusTooManyRequests // its contract has one status for "later"
	}
	body := appendString(nil, `{"success":false,"error":`, answerName(e))
	body = append(body, `,"result":null}`...)
	return reply{status: status, header: contentType("application/json"), body: body}
}

// answerName returns the name that clients of the answer API branch on.
func answerName(e *apierror.Error) string {
	switch e.Code {
	case "InvalidRequest", "Unauthorized", "Forbidden", "NotFound", "MethodNotAllowed",
		"PayloadTooLarge", "UnsupportedMediaType", "RateLimited", "QuotaExceeded",
		"ServiceUnavailable", "Timeout", "InternalError":
		return e.Code
	case "insufficient_quota", "quota_exceeded":
		return "QuotaExceeded"
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return "Unauthorized"
	case http.StatusPaymentRequired:
		return "QuotaExceeded"
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusNotFound, http.StatusGone:
		return "NotFound"
	case http.StatusMethodNotAllowed:
		return "MethodNotAllowed"
	case http.StatusRequestEntityTooLarge:
		return "PayloadTooLarge"
	case http.StatusUnsupportedMediaType:
		return "UnsupportedMediaType"
	case http.StatusTooManyRequests:
		return "RateLimited"
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return "ServiceUnavailable"
	case http.StatusGatewayTimeout:
		return "Timeout"
	}
	if e.Status >= 500 {
		return "InternalError"
	}
	return "InvalidRequest"
}
