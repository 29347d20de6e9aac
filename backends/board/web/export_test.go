package web

// These are for tests that are outside of the package because they serve whole boards, whose package imports this
// one.
const ThreadsPerPage = threadsPerPage

var (
	AllRoutes   = routes
	AdminRoutes = adminRoutes
	Absolute    = absolute
	MatrixField = matrixField
	Excerpt     = excerpt
)
