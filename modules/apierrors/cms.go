package apierrors

import "github.com/tollgate-gateway/tollgate/internal/apierror"

// renderCMS renders the errors of the CMS module: the message alone and, for an internal error, the id under which the
// log has more.
func renderCMS(e *apierror.Error, id string) reply {
	body := appendString(nil, `{"error":`, e.Message)
	if e.Message == internalError {
		body = appendString(body, `,"requestId":`, id)
	}
	body = append(body, '}')
	return reply{status: e.Status, header: contentType("application/json; charset=utf-8"), body: body}
}
