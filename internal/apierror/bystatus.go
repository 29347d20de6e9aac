package apierror

// ByStatus maps statuses to the error words of a format. The word for 400 also applies to other client errors that have
// no word, and that for 500 to other server errors.
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
