package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// maxNumbers limits how many fields of one name Numbers reads.
const maxNumbers = 3000

// Fields holds the fields of a form, or the parameters of a URL. Err reports the first field that could not be read as
// the requested type. Callers that read numbers of a form check Err before they use the numbers. For the parameters,
// Call.Show checks Err.
type Fields struct {
	values url.Values
	err    error
}

// Text returns a field as valid UTF-8, or "" if it is missing.
func (f *Fields) Text(name string) string { return Valid(f.values.Get(name)) }

// Values returns all fields of one name.
func (f *Fields) Values(name string) []string { return f.values[name] }

// Has reports whether a field was sent, even an empty one.
func (f *Fields) Has(name string) bool { return f.values.Has(name) }

// Flag reports whether a field was sent with a value: a box is ticked, or a button was used to send the form.
func (f *Fields) Flag(name string) bool { return f.values.Get(name) != "" }

// Number returns a field that is a number from 0 on, or 0 if it is empty.
func (f *Fields) Number(name string) int64 { return f.number(name, f.Text(name)) }

// number parses the text of a field as a number from 0 on. It returns 0 for an empty text and after a fault.
func (f *Fields) number(name, text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		f.recordFault(name + " must be a number.")
		return 0
	}
	return n
}

// Numbers returns the numbers from 1 on in the fields of one name, without duplicates.
func (f *Fields) Numbers(name string) (list []int64) {
	values := f.values[name]
	if len(values) > maxNumbers {
		f.recordFault("This form has too many fields.")
		return nil
	}
	for _, text := range values {
		if n := f.number(name, text); n > 0 && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// recordFault sets the error of Err unless it is set already.
func (f *Fields) recordFault(message string) {
	if f.err == nil {
		f.err = &apierror.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: message}
	}
}

// Err returns the error of the first field that could not be read, or nil.
func (f *Fields) Err() error { return f.err }

// Valid returns text as valid UTF-8, with invalid bytes replaced by U+FFFD.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
