package apierrors

import (
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Types and codes are those that the client libraries of the three model
// formats tell apart.

// renderChat writes the formats chat_completions and responses.
func renderChat(e *apierror.Error, _ string) reply {
	body := appendString(nil, `{"error":{"message":`, e.Message)
	body = appendString(body, `,"type":`, chatType(e))
	body = appendString(body, `,"code":`, chatCode(e))
	if e.Param == "" {
		body = append(body, `,"param":null`...)
	} else {
		body = appendString(body, `,"param":`, e.Param)
	}
	if e.FailedAttempts != nil {
		body = appendAttempts(body, e.FailedAttempts)
	}
	body = append(body, "}}"...)
	return reply{status: e.Status, header: contentType("application/json"), body: body}
}

func appendAttempts(dst []byte, attempts []apierror.Attempt) []byte {
	dst = append(dst, `,"failed_attempts":[`...)
	for i, a := range attempts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, `{"provider":`, a.Provider)
		dst = appendString(dst, `,"model":`, a.Model)
		dst = strconv.AppendInt(append(dst, `,"status":`...), int64(a.Status), 10)
		dst = appendString(dst, `,"code":`, a.Code)
		dst = appendString(dst, `,"message":`, a.Message)
		dst = strconv.AppendInt(append(dst, `,"latency_ms":`...), a.LatencyMS, 10)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func chatType(e *apierror.Error) string {
	if e.Type != "" {
		return e.Type
	}
	if e.Code == "insufficient_quota" {
		return "insufficient_quota" // also as 429, as some providers send it
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "insufficient_quota"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound, http.StatusGone:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return "api_error"
	}
	if e.Status >= 500 {
		return "server_error"
	}
	return "invalid_request_error"
}

func chatCode(e *apierror.Error) string {
	if e.Code != "" {
		return e.Code
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return "invalid_api_key"
	case http.StatusPaymentRequired:
		return "insufficient_quota"
	case http.StatusForbidden:
		return "permission_denied"
	case http.StatusNotFound, http.StatusGone:
		return "not_found"
	case http.StatusMethodNotAllowed:
		return "method_not_allowed"
	case http.StatusRequestTimeout:
		return "request_timeout"
	case http.StatusConflict:
		return "conflict"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	case http.StatusBadGateway:
		return "all_providers_failed" // a reverse_proxy upstream is the only provider
	case http.StatusServiceUnavailable:
		return "overloaded"
	case http.StatusGatewayTimeout:
		return "upstream_timeout"
	}
	if e.Status >= 500 {
		return "internal_error"
	}
	return "invalid_value"
}

// renderMessages writes the format messages.
func renderMessages(e *apierror.Error, id string) reply {
	status := e.Status
	if status == http.StatusServiceUnavailable {
		status = statusOverloaded
	}
	body := appendString(nil, `{"type":"error","error":{"type":`, messagesType(e))
	body = appendString(body, `,"message":`, e.Message)
	if e.Code == "thread_unsupported_request" { // a code that the vendor's SDKs act on
		body = appendString(body, `,"details":{"error_code":`, e.Code)
		body = append(body, '}')
	}
	body = appendString(body, `},"request_id":`, id)
	body = append(body, '}')
	return reply{status: status, header: contentType("application/json"), body: body}
}

func messagesType(e *apierror.Error) string {
	switch e.Type {
	case "invalid_request_error", "authentication_error", "billing_error", "permission_error",
		"not_found_error", "request_too_large", "conflict_error", "rate_limit_error",
		"timeout_error", "api_error", "overloaded_error":
		return e.Type // a type of another format is no help to this one's clients
	}
	if e.Code == "insufficient_quota" {
		return "billing_error"
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound, http.StatusGone:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timeout_error"
	}
	if e.Status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}
