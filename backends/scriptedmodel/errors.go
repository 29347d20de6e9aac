package scriptedmodel

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// badRequest returns an error with status 400. param is the member of the request that the error is about.
func badRequest(code, param, format string, args ...any) *apierror.Error {
	return apierror.New(http.StatusBadRequest, code, format, args...).With(param)
}

// notFound returns an error with status 404.
func notFound(format string, args ...any) *apierror.Error {
	return apierror.New(http.StatusNotFound, "not_found", format, args...)
}

// allowMethod reports whether the method of the request is one of allowed. If it is not, it answers with 405.
func (c *call) allowMethod(allowed ...string) bool {
	if slices.Contains(allowed, c.r.Method) {
		return true
	}
	list := strings.Join(allowed, ", ")
	c.w.Header().Set("Allow", list)
	c.fail(apierror.New(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not allowed here, use %s",
		shorten(c.r.Method, 20), list))
	return false
}

// fail answers with the status and the message of an *apierror.Error, and with status 500 for any other error.
func (c *call) fail(err error) {
	e, ok := apierror.From(err)
	if !ok {
		e = apierror.New(http.StatusInternalServerError, "internal_error", "the scripted model failed")
	}
	c.json(e.Status, appendError(nil, e))
}

// json sends a complete JSON body.
func (c *call) json(status int, body []byte) {
	c.sendHeader(status, typeJSON, int64(len(body)))
	c.send(body)
	c.complete = !c.gone
}

// scriptedError returns the error that the script describes. Members that the script does not set depend on the
// status.
func (s *script) scriptedError(status int) *apierror.Error {
	typ, code, message := errorOf(status)
	e := &apierror.Error{Status: status, Type: typ, Code: code, Message: message}
	if s.code != "" {
		e.Code = s.code
		if s.code == codeQuota {
			e.Type = codeQuota
		}
	}
	if s.message != "" {
		e.Message = s.message
	}
	return e
}

// codeQuota is the code and the type of OpenAI's error for an exhausted quota.
const codeQuota = "insufficient_quota"

// errorOf returns the type, code and message that OpenAI-compatible servers use for a status.
func errorOf(status int) (typ, code, message string) {
	message = "scripted error: " + strconv.Itoa(status)
	if t := http.StatusText(status); t != "" {
		message += " " + t
	}
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error", "invalid_api_key", message
	case http.StatusPaymentRequired:
		return codeQuota, codeQuota, message
	case http.StatusForbidden:
		return "permission_error", "permission_denied", message
	case http.StatusNotFound:
		return "not_found_error", "model_not_found", message
	case http.StatusTooManyRequests:
		return "rate_limit_error", "rate_limit_exceeded", message
	}
	if status >= http.StatusInternalServerError {
		return "server_error", "", message
	}
	return "invalid_request_error", "", message
}

// appendError appends {"error":{…}}. An empty param or code becomes null.
func appendError(b []byte, e *apierror.Error) []byte {
	typ := e.Type
	if typ == "" {
		typ, _, _ = errorOf(e.Status)
	}
	b = append(b, `{"error":{"message":`...)
	b = jsontext.AppendQuoted(b, e.Message)
	b = append(b, `,"type":`...)
	b = jsontext.AppendQuoted(b, typ)
	b = append(b, `,"param":`...)
	b = appendOrNull(b, e.Param)
	b = append(b, `,"code":`...)
	b = appendOrNull(b, e.Code)
	return append(b, "}}"...)
}
