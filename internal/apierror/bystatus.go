package apierror

// ByStatus are the words of a format for statuses. That of 400 stands for all client
// errors without one, that of 500 for all others.
type ByStatus map[int]string

// Of is the word for a status.
func (words ByStatus) Of(status int) string {
	if word, ok := words[status]; ok {
		return word
	}
	if status >= 500 {
		return words[500]
	}
	return words[400]
}
