package apierrors

import "github.com/tollgate-gateway/tollgate/internal/apierror"

// renderCMS renders errors in the format of the CMS: the message and, for an internal error, the id of the log entry
// with the details.
func renderCMS(e *apierror.Error, id string) reply {
	body := appendString(nil, `{"error":`, e.Message)
	if e.Message == internalError {
		body = appendString(body, `,"requestId":`, id)
	}
	body = append(body, '}')
	return reply{status: e.Status, header: contentType("application/json; charset=utf-8"), body: body}
}
