// Package wire contains the parts that all model APIs share on the level of bytes: server-sent events, upstream errors,
// usage, ids, the memory of a body, and fields that no request may have. Each package below it implements one API
// (format). The package knows no network and no policy.
package wire

import (
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// CheckObject returns an error unless a request body is valid UTF-8 and one JSON object of bounded depth without
// duplicate top-level fields. Such a body is safe to read with gjson. The error is an *apierror.Error with status 400.
func CheckObject(body []byte) error {
	s, err := ScanObject(body)
	if err != nil {
		return err
	}
	seen := make(map[string]struct{}, 16)
	err = s.Object(func(key []byte) error {
		if _, twice := seen[string(key)]; twice {
			return DuplicateMember(key)
		}
		if len(seen) == MaxFields {
			return TooManyFields()
		}
		seen[string(key)] = struct{}{}
		return s.Skip()
	})
	return EndObject(&s, body, err)
}

// MaxFields limits the number of top-level fields in a request, because each of them is compared with the others to
// find duplicates.
const MaxFields = 256

// TooManyFields returns the error with status 400 for a request with more than MaxFields top-level fields.
func TooManyFields() error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "the request has more than %d fields", MaxFields)
}

// DuplicateMember returns the error with status 400 for a request with a JSON object that has two fields named key.
func DuplicateMember(key []byte) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "the field %q is given twice", key).With(string(key))
}

// ScanObject returns a scanner at the start of a request body. It returns an error with status 400 if the body is not
// an object.
func ScanObject(body []byte) (jsontext.Scanner, error) {
	s := jsontext.NewScanner(body)
	kind := s.Kind()
	if kind == jsontext.Object {
		return s, nil
	}
	found := kind.String()
	switch {
	case len(body) == 0:
		found = "empty"
	case kind == jsontext.Invalid:
		found = "not JSON"
	}
	return s, apierror.New(http.StatusBadRequest, "invalid_json", "the request body must be a JSON object, it is %s", found)
}

// EndObject completes the scan of a request body. scanErr is the result of scanning the object with s. EndObject
// returns nil if scanErr is nil, nothing follows the object and the body is valid UTF-8. A syntax error of the
// scanner becomes an error with status 400, and any other error is returned unchanged.
func EndObject(s *jsontext.Scanner, body []byte, scanErr error) error {
	if scanErr == nil {
		scanErr = s.End()
	}
	if scanErr == nil {
		if !s.ASCII() && !utf8.Valid(body) {
			return apierror.New(http.StatusBadRequest, "invalid_json", "the request body is not valid UTF-8")
		}
		return nil
	}
	if syntax, ok := errors.AsType[*jsontext.SyntaxError](scanErr); ok {
		return apierror.New(http.StatusBadRequest, "invalid_json", "the request body is not valid JSON: %s", syntax)
	}
	return scanErr
}

// MissingField returns the error with status 400 for a request without the required field at path.
func MissingField(path string) error {
	return apierror.New(http.StatusBadRequest, "missing_required_parameter", "%s is required", path).With(path)
}

// InvalidField returns the error with status 400 for an invalid value at path. The message is the formatted text, which
// must name the path itself.
func InvalidField(path, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(path)
}
