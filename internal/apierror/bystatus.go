package apierror

// ByStatus maps statuses to the words of a format. The word of 400 applies to all client errors without one, and that
// of 500 to all server errors without one.
type ByStatus map[int]string

// Of returns the word for a status.
func (words ByStatus) Of(status int) string {
	if word, ok := words[status]; ok {
		return word
	}
	if status >= 500 {
		return words[500]
	}
	return words[400]
}
