package apierrors

import "github.com/tollgate-gateway/tollgate/internal/apierror"

// renderEvents renders errors like the commands of run events.
func renderEvents(e *apierror.Error, _ string) reply {
	body := append(appendString(nil, `{"error":`, e.Message), '}')
	return reply{status: e.Status, header: contentType("application/json;charset=utf-8"), body: body}
}
