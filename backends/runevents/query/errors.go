package query

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
)

// Error is the error for a refused query, with the status and the text of the answer.
type Error struct {
	Status int
	Text   string
	// JSON sends the text as {"error": ...} instead of plain text.
	JSON bool
	// cause is the cause of the error, for the log only.
	cause error
}

// Error returns the text for the client.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause, which is for the log only.
func (e *Error) Unwrap() error { return e.cause }

// refuse returns an Error with status 400.
func refuse(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// quotedList joins names for an error text: 'a', 'b', and 'c'.
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "'" + syntax.Clip(n) + "'"
	}
	switch len(quoted) {
	case 0:
		return ""
	case 1:
		return quoted[0]
	case 2:
		return quoted[0] + " and " + quoted[1]
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + ", and " + quoted[last]
}
