// Package wire is what the model APIs have in common as bytes: events of streams,
// errors of upstreams, usage, ids, the memory of a body, and what no request may hold.
// The packages beside it are the formats. It knows no network and no policy.
package wire

import (
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// CheckObject makes sure that a request body is one JSON object of bounded depth in
// valid UTF-8 that names no member of its top level twice, so that it can be
// read by gjson. Its error is an *apierror.Error with status 400.
func CheckObject(body []byte) error {
	s, err := ScanObject(body)
	if err != nil {
		return err
	}
	seen := make(map[string]struct{}, 16)
	err = s.Object(func(key []byte) error {
		if _, twice := seen[string(key)]; twice {
			return GivenTwice(key)
		}
		if len(seen) == MaxFields {
			return TooManyFields()
		}
		seen[string(key)] = struct{}{}
		return s.Skip()
	})
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return Syntax(err)
	}
	return CheckUTF8(&s, body)
}

// MaxFields bounds the members of a request, which are searched for those given twice.
const MaxFields = 256

// TooManyFields is the 400 of a request with more.
func TooManyFields() error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "the request has more than %d fields", MaxFields)
}

// GivenTwice is the 400 of a field whose name the request has twice.
func GivenTwice(key []byte) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "the field %q is given twice", key).With(string(key))
}

// ScanObject is a scanner before a request body, which must be an object.
func ScanObject(body []byte) (jsontext.Scanner, error) {
	s := jsontext.NewScanner(body)
	kind := s.Kind()
	if kind == jsontext.Object {
		return s, nil
	}
	what := kind.String()
	switch {
	case len(body) == 0:
		what = "empty"
	case kind == jsontext.Invalid:
		what = "not JSON"
	}
	return s, apierror.New(http.StatusBadRequest, "invalid_json", "the request body must be a JSON object, it is %s", what)
}

// CheckUTF8 refuses a body that the scanner has passed and that is no UTF-8.
func CheckUTF8(s *jsontext.Scanner, body []byte) error {
	if !s.ASCII() && !utf8.Valid(body) {
		return apierror.New(http.StatusBadRequest, "invalid_json", "the request body is not valid UTF-8")
	}
	return nil
}

// Syntax makes a 400 of a scanner's error and passes other errors on.
func Syntax(err error) error {
	var se *jsontext.SyntaxError
	if !errors.As(err, &se) {
		return err
	}
	return apierror.New(http.StatusBadRequest, "invalid_json", "the request body is not valid JSON: %s", se)
}
