package apierrors

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// renderProblem renders problem details (RFC 9457) with the extension members code, param, errors and request_id.
func renderProblem(e *apierror.Error, id string) reply {
	body := appendString(nil, `{"type":`, problemType(e.Type))
	// With about:blank, the title is the phrase of the status (RFC 9457, section 4.2.1). Other types get the same title,
	// because it is short and does not differ between occurrences.
	if title := http.StatusText(e.Status); title != "" {
		body = appendString(body, `,"title":`, title)
	}
	body = strconv.AppendInt(append(body, `,"status":`...), int64(e.Status), 10)
	body = appendString(body, `,"detail":`, e.Message)
	if e.Code != "" {
		body = appendString(body, `,"code":`, e.Code)
	}
	if e.Param != "" {
		body = appendString(body, `,"param":`, e.Param)
	}
	if len(e.Details) > 0 {
		body = appendDetails(body, `,"errors":`, e.Details)
	}
	body = appendString(body, `,"request_id":`, id)
	body = append(body, '}')
	return reply{status: e.Status, header: contentType("application/problem+json"), body: body}
}

// problemType returns t if it is an absolute URI, and else about:blank, since the error types of the model formats are
// not problem types.
func problemType(t string) string {
	if u, err := url.Parse(t); err == nil && u.IsAbs() {
		return t
	}
	return "about:blank"
}
