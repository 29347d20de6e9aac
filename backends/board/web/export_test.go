package web

import (
	"github.com/tollgate-gateway/tollgate/backends/board/web/administration"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// These are for tests that are outside of the package because they serve whole boards, whose package imports this
// one.
const ThreadsPerPage = threadsPerPage

var (
	AllRoutes   = routes
	AdminRoutes = pages.Within(administration.Pages, administrators, (*call).administration)
	Absolute    = absolute
	MatrixField = administration.MatrixField
	Excerpt     = excerpt
)
