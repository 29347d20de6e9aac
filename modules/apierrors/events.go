package apierrors

import "github.com/tollgate-gateway/tollgate/internal/apierror"

// renderEvents writes errors as the commands of run events do.
func renderEvents(e *apierror.Error, _ string) reply {
	body := append(appendString(nil, `{"error":`, e.Message), '}')
	return reply{status: e.Status, header: contentType("application/json;charset=utf-8"), body: body}
}
