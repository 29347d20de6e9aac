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

// pageError returns the header and the HTML page for a request that a handler in front of the board has refused with
// the error e. This handler is usually a budget. If e says that a limit is exceeded, the page has a text of its own,
// because e's message is meant for programs. path is the prefix of the paths of the board's pages, or empty.
func pageError(path string, e *apierror.Error) (http.Header, []byte) {
	if e.Status == http.StatusTooManyRequests {
		e = &apierror.Error{
			Status: e.Status, RetryAfter: e.RetryAfter,
			Message: "you have opened too many pages from your network address in a short time",
		}
	}
	return web.ErrorPage(path, e)
}
