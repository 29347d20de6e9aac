package apierrors

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// renderAnswer renders the envelope of the answer API.
func renderAnswer(e *apierror.Error, _ string) reply {
	status := e.Status
	if status == http.StatusPaymentRequired {
		status = http.StatusTooManyRequests // the answer API uses this status for rate limits and spent quotas
	}
	body := appendString(nil, `{"success":false,"error":`, answerName(e))
	body = append(body, `,"result":null}`...)
	return reply{status: status, header: contentType("application/json"), body: body}
}

// answerName returns the error name by which clients of the answer API distinguish errors.
func answerName(e *apierror.Error) string {
	switch e.Code {
	case "InvalidRequest", "Unauthorized", "Forbidden", "NotFound", "MethodNotAllowed",
		"PayloadTooLarge", "UnsupportedMediaType", "RateLimited", "QuotaExceeded",
		"ServiceUnavailable", "Timeout", "InternalError":
		return e.Code
	case "insufficient_quota", "quota_exceeded":
		return "QuotaExceeded"
	}
	return answerNames.Of(e.Status)
}

// answerNames has the error names for errors whose code is not an error name of the answer API.
var answerNames = apierror.ByStatus{
	400: "InvalidRequest", 401: "Unauthorized", 402: "QuotaExceeded", 403: "Forbidden", 404: "NotFound",
	405: "MethodNotAllowed",
	410: "NotFound", 413: "PayloadTooLarge", 415: "UnsupportedMediaType", 429: "RateLimited",
	500: "InternalError", 502: "ServiceUnavailable", 503: "ServiceUnavailable", 504: "Timeout",
}
