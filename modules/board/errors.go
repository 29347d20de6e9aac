package board

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/apierrors"
)

func init() {
	apierrors.RegisterPages("board_pages", pageError)
}

// pageError returns an HTML page for a request that a handler in front of the board refuses, usually a budget. If a
// limit is exceeded, the page has a text of its own, because e's message is meant for programs. path is the prefix of
// the board's addresses, or empty.
func pageError(path string, e *apierror.Error) (http.Header, []byte) {
	if e.Status == http.StatusTooManyRequests {
		e = &apierror.Error{
			Status: e.Status, RetryAfter: e.RetryAfter,
			Message: "too many pages were asked for from your address",
		}
	}
	return web.ErrorPage(path, e)
}
