package web

// What the tests look at from outside: they serve whole boards, whose package imports this one.
const ThreadsPerPage = threadsPerPage

var (
	AllRoutes   = routes
	AdminRoutes = adminRoutes
	Absolute    = absolute
	MatrixField = matrixField
)
