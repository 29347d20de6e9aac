package kernel

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
)

// MaxBody is the maximum size of a request body at the OAuth endpoints, in bytes.
const MaxBody = 64 << 10

// maxFields is the maximum number of parameters in a form.
const maxFields = 500

// Form holds the parameters of a request in their order. A parameter with an empty value counts as omitted (RFC 6749
// section 3.2).
type Form []Field

// Field is one parameter of a form.
type Field struct{ Name, Value string }

// Get returns the first value of a parameter, or "" if it was not sent.
func (f Form) Get(name string) string {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value
		}
	}
	return ""
}

// All returns the values of a parameter that may be sent more than once.
func (f Form) All(name string) []string {
	var all []string
	for i := range f {
		if f[i].Name == name {
			all = append(all, f[i].Value)
		}
	}
	return all
}

// ReadBody returns the body of a request, of at most MaxBody bytes. The parameter media is the required media type of
// the body. ReadBody returns 400 invalid_request if the body has another media type, and 413 if it is too large.
func ReadBody(w http.ResponseWriter, r *http.Request, media string) ([]byte, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType != media {
		if parsed, _, err := mime.ParseMediaType(contentType); err != nil || parsed != media {
			return nil, Refuse(InvalidRequest, "the body must be %s", media)
		}
	}
	if r.ContentLength > MaxBody {
		return nil, tooLarge()
	}
	var text []byte
	var err error
	paced := inbound.Default.Body(w, r) // fails if the body arrives too slowly
	if n := r.ContentLength; n >= 0 && n <= smallBody {
		text = make([]byte, n)
		_, err = io.ReadFull(paced, text)
	} else {
		text, err = io.ReadAll(http.MaxBytesReader(w, paced, MaxBody))
	}
	if err == nil {
		paced.Done() // the deadline for the body must not end the work that follows
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge()
	case err != nil:
		return nil, Refuse(InvalidRequest, "the request body is incomplete")
	}
	return text, nil
}

// smallBody is the largest Content-Length, in bytes, for which ReadBody allocates a buffer of exactly that size.
const smallBody = 4 << 10

func tooLarge() error {
	return apierror.New(http.StatusRequestEntityTooLarge, InvalidRequest, "the body is larger than 64 KiB")
}

// ReadForm reads a form from the body of a request. Parameters in the URL are ignored. ReadForm refuses a parameter
// that occurs more than once unless its name is in repeatable.
func ReadForm(w http.ResponseWriter, r *http.Request, repeatable ...string) (Form, error) {
	text, err := ReadBody(w, r, "application/x-www-form-urlencoded")
	if err != nil {
		return nil, err
	}
	return ParseForm(string(text), repeatable...)
}

// ParseForm parses the text of a form under the rules of ReadForm.
func ParseForm(text string, repeatable ...string) (Form, error) {
	f := make(Form, 0, 8)
	for part := range strings.SplitSeq(text, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, ok := unescape(name)
		value, okValue := unescape(value)
		if !ok || !okValue {
			return nil, Refuse(InvalidRequest, "the form is not valid application/x-www-form-urlencoded text in UTF-8")
		}
		for i := range f {
			if f[i].Name == name && !slices.Contains(repeatable, name) {
				return nil, Refuse(InvalidRequest, "a parameter occurs more than once")
			}
		}
		if len(f) == maxFields {
			return nil, Refuse(InvalidRequest, "the form has more than %d parameters", maxFields)
		}
		f = append(f, Field{name, value})
	}
	return slices.DeleteFunc(f, func(field Field) bool { return field.Value == "" }), nil
}

// unescape decodes the name or value of a form parameter. It returns false if the result is not UTF-8 or contains NUL.
func unescape(part string) (string, bool) {
	if strings.ContainsAny(part, "%+") {
		plain, err := url.QueryUnescape(part)
		if err != nil {
			return "", false
		}
		part = plain
	}
	return part, utf8.ValidString(part) && strings.IndexByte(part, 0) < 0
}
