package apierror

// ByStatus maps HTTP statuses to the error codes of a format. The code for 400 also applies to other client errors, and
// the code for 500 to other server errors, unless they have an entry.
type ByStatus map[int]string

// Of returns the error code for a status of at least 400.
func (codes ByStatus) Of(status int) string {
	if code, ok := codes[status]; ok {
		return code
	}
	if status >= 500 {
		return codes[500]
	}
	return codes[400]
}
