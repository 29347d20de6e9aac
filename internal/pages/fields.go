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

// maxNumbers bounds how many fields of one name are read.
const maxNumbers = 3000

// Fields are the fields of a form, or the parameters of an address. What cannot be
// read as it should is told by Err, which whoever reads numbers asks before they
// are used.
type Fields struct {
	values url.Values
	err    error
}

// Text is a field as UTF-8; empty: there is none.
func (f *Fields) Text(name string) string { return Valid(f.values.Get(name)) }

// Values are all fields of one name.
func (f *Fields) Values(name string) []string { return f.values[name] }

// Has reports whether a field was sent, also an empty one.
func (f *Fields) Has(name string) bool { return f.values.Has(name) }

// Flag reports whether a box is ticked, or a button was the one.
func (f *Fields) Flag(name string) bool { return f.values.Get(name) != "" }

// Number is a field that is a number from 0 on; empty: 0.
func (f *Fields) Number(name string) int64 { return f.number(name, f.Text(name)) }

func (f *Fields) number(name, text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		f.fault(name + " must be a number.")
		return 0
	}
	return n
}

// Numbers are the numbers from 1 on in the fields of one name, each once.
func (f *Fields) Numbers(name string) (list []int64) {
	values := f.values[name]
	if len(values) > maxNumbers {
		f.fault("This form has too many fields.")
		return nil
	}
	for _, text := range values {
		if n := f.number(name, text); n > 0 && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

func (f *Fields) fault(message string) {
	if f.err == nil {
		f.err = &apierror.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: message}
	}
}

// Err is the first field that could not be read; nil: all were.
func (f *Fields) Err() error { return f.err }

// Valid is a text as UTF-8.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
