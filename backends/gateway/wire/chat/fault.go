package chat

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// fault is the error for an invalid field of a client's request. path is the JSON path of the field. The function that
// finds the fault knows only the end of the path. Its callers put their parts before it with prefixPath, so that a
// valid request builds no paths.
type fault struct {
	path, code, text string
}

// Error implements error.
func (f *fault) Error() string { return f.path + " " + f.text }

// invalid returns a fault with the code invalid_value. path leads from the value that the caller reads to the invalid
// field. The message is the formatted text without the path.
func invalid(path, format string, args ...any) error {
	return &fault{path, "invalid_value", fmt.Sprintf(format, args...)}
}

// unsupported returns a fault with the code unsupported_parameter. It takes the same arguments as the function invalid.
func unsupported(path, format string, args ...any) error {
	return &fault{path, "unsupported_parameter", fmt.Sprintf(format, args...)}
}

// missing returns a fault for a required field that is absent.
func missing(path string) error {
	return &fault{path, "missing_required_parameter", "is required"}
}

// wrongType returns a fault for the value got, which has the wrong type. want names the right type with an article,
// such as "a string".
func wrongType(path, want string, got gjson.Result) error {
	return invalid(path, "must be %s, it is %s", want, jsontext.KindOf(got))
}

// prefixPath puts the formatted text before the path of a fault, and a dot between them if needed. It returns other
// errors, and nil, unchanged.
func prefixPath(err error, format string, args ...any) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	prefix := fmt.Sprintf(format, args...)
	if f.path != "" && !strings.HasPrefix(f.path, "[") {
		prefix += "."
	}
	f.path = prefix + f.path
	return f
}

// refusal converts a fault to an *apierror.Error with status 400. It returns other errors unchanged.
func refusal(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	return apierror.New(http.StatusBadRequest, f.code, "%s", f.Error()).With(f.path)
}

// quote returns a client's value for an error message: in quotes, cut to 100 bytes, with API keys masked.
func quote(value string) string { return `"` + wire.Mask(value, 100) + `"` }

// text returns the string in r, or "" if r is null or absent. Any other value is an error. path is the path of r for
// the error.
func text(path string, r gjson.Result) (string, error) {
	switch r.Type {
	case gjson.String:
		return r.Str, nil
	case gjson.Null:
		return "", nil
	default:
		return "", wrongType(path, "a string", r)
	}
}

// name returns the string in r. A value that is absent, empty or not a string is an error. path is the path of r for
// the error.
func name(path string, r gjson.Result) (string, error) {
	s, err := text(path, r)
	if err == nil && s == "" {
		err = missing(path)
	}
	return s, err
}

// object returns the JSON text of the object in r, or "" if r is null or absent. Any other value is an error. path is
// the path of r for the error.
func object(path string, r gjson.Result) (string, error) {
	switch {
	case r.IsObject():
		return r.Raw, nil
	case r.Type == gjson.Null:
		return "", nil
	}
	return "", wrongType(path, "an object", r)
}

// boolean returns "true" or "false" for a boolean in r, or "" if r is null or absent. Any other value is an error. path
// is the path of r for the error.
func boolean(path string, r gjson.Result) (string, error) {
	switch {
	case r.IsBool():
		return r.Raw, nil
	case r.Type == gjson.Null:
		return "", nil
	}
	return "", wrongType(path, "a boolean", r)
}

// each calls member for each field of object, in their order. It stops at the first error of member and returns that
// error.
func each(object gjson.Result, member func(key string, value gjson.Result) error) (err error) {
	jsontext.Members(object, func(key string, value gjson.Result) bool {
		err = member(key, value)
		return err == nil
	})
	return err
}

// elements calls element for each element of array, in their order. i is the index of the element. elements stops at
// the first error of element and returns that error.
func elements(array gjson.Result, element func(i int, value gjson.Result) error) (err error) {
	i := 0
	jsontext.Elements(array, func(value gjson.Result) bool {
		err = element(i, value)
		i++
		return err == nil
	})
	return err
}
