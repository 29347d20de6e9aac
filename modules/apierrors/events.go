package apierrors

import "github.com/tollgate-gateway/tollgate/internal/apierror"

// renderEvents renders errors in the format that the run events service uses for commands.
func renderEvents(e *apierror.Error, _ string) reply {
	body := append(appendString(nil, `{"error":`, e.Message), '}')
	return reply{status: e.Status, header: contentType("application/json;charset=utf-8"), body: body}
}
