package chat

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// The error types and codes that client libraries of chat completions and Responses distinguish.
var (
	errorTypes = apierror.ByStatus{
		400: "invalid_request_error", 401: "authentication_error", 402: "insufficient_quota", 403: "permission_error",
		404: "not_found_error",
		410: "not_found_error", 429: "rate_limit_error", 500: "server_error", 502: "api_error", 504: "api_error",
	}
	errorCodes = apierror.ByStatus{
		400: "invalid_value", 401: "invalid_api_key", 402: "insufficient_quota", 403: "permission_denied", 404: "not_found",
		405: "method_not_allowed", 408: "request_timeout", 409: "conflict", 410: "not_found", 413: "request_too_large",
		415: "unsupported_media_type", 429: "rate_limit_exceeded", 500: "internal_error",
		502: "all_providers_failed", // a reverse_proxy upstream is the only provider
		503: "overloaded", 504: "upstream_timeout",
	}
)

// ErrorType returns the value of error.type in the body of an error response. It is e.Type if that is set,
// "insufficient_quota" for an error with this code, and otherwise a type that depends on the status, such as
// "rate_limit_error" for 429.
func ErrorType(e *apierror.Error) string {
	switch {
	case e.Type != "":
		return e.Type
	case e.Code == "insufficient_quota":
		return e.Code // also as 429, as some providers send it
	}
	return errorTypes.Of(e.Status)
}

// ErrorCode returns the value of error.code in the body of an error response: e.Code, or if that is empty a code that
// depends on the status, such as "rate_limit_exceeded" for 429.
func ErrorCode(e *apierror.Error) string {
	if e.Code != "" {
		return e.Code
	}
	return errorCodes.Of(e.Status)
}

// Error returns the JSON body of the error response for e. Chat completions and Responses use the same form:
// {"error":{"message":…,"type":…,"code":…,"param":…}}.
func Error(e *apierror.Error) []byte {
	body := jsontext.AppendQuoted([]byte(`{"error":{"message":`), e.Message)
	body = jsontext.AppendMember(body, `,"type":`, ErrorType(e))
	body = jsontext.AppendMember(body, `,"code":`, ErrorCode(e))
	body = append(body, `,"param":`...)
	if e.Param == "" {
		body = append(body, "null"...)
	} else {
		body = jsontext.AppendQuoted(body, e.Param)
	}
	if e.FailedAttempts != nil {
		body = appendAttempts(body, e.FailedAttempts)
	}
	return append(body, "}}"...)
}

// appendAttempts appends the field failed_attempts, which lists the candidates that were tried.
func appendAttempts(dst []byte, attempts []apierror.Attempt) []byte {
	dst = append(dst, `,"failed_attempts":[`...)
	for i, a := range attempts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendMember(dst, `{"provider":`, a.Provider)
		dst = jsontext.AppendMember(dst, `,"model":`, a.Model)
		dst = strconv.AppendInt(append(dst, `,"status":`...), int64(a.Status), 10)
		dst = jsontext.AppendMember(dst, `,"code":`, a.Code)
		dst = jsontext.AppendMember(dst, `,"message":`, a.Message)
		dst = strconv.AppendInt(append(dst, `,"latency_ms":`...), a.LatencyMS, 10)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
