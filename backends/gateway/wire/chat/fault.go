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

// fault is the error of an invalid field. Each caller adds its part of the path while the error is returned, so that a
// valid request builds no paths.
type fault struct {
	path, code, text string
}

func (f *fault) Error() string { return f.path + " " + f.text }

// invalid returns a fault. The path is relative to the value that the caller reads.
func invalid(path, format string, args ...any) error {
	return &fault{path, "invalid_value", fmt.Sprintf(format, args...)}
}

func unsupported(path, format string, args ...any) error {
	return &fault{path, "unsupported_parameter", fmt.Sprintf(format, args...)}
}

func missing(path string) error {
	return &fault{path, "missing_required_parameter", "is required"}
}

func wrongType(path, want string, got gjson.Result) error {
	return invalid(path, "must be %s, it is %s", want, jsontext.KindOf(got))
}

// prefixPath puts the formatted path before the path of a fault. Other errors are returned unchanged.
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

// refusal returns the *apierror.Error for a fault, and other errors unchanged.
func refusal(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	return apierror.New(http.StatusBadRequest, f.code, "%s", f.Error()).With(f.path)
}

// quote returns a client's value for use in a message: masked, shortened and quoted.
func quote(value string) string { return `"` + wire.Mask(value, 100) + `"` }

// text returns the string in r, or "" if r is null or absent.
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

// name returns the string in r, which must not be empty.
func name(path string, r gjson.Result) (string, error) {
	s, err := text(path, r)
	if err == nil && s == "" {
		err = missing(path)
	}
	return s, err
}

// object returns the JSON text of the object in r, or "" if r is null or absent.
func object(path string, r gjson.Result) (string, error) {
	switch {
	case r.IsObject():
		return r.Raw, nil
	case r.Type == gjson.Null:
		return "", nil
	}
	return "", wrongType(path, "an object", r)
}

// boolean returns the JSON text of the boolean in r, or "" if r is null or absent.
func boolean(path string, r gjson.Result) (string, error) {
	switch {
	case r.IsBool():
		return r.Raw, nil
	case r.Type == gjson.Null:
		return "", nil
	}
	return "", wrongType(path, "a boolean", r)
}

// each calls member with the members of an object until it returns an error.
func each(object gjson.Result, member func(key string, value gjson.Result) error) (err error) {
	jsontext.Members(object, func(key string, value gjson.Result) bool {
		err = member(key, value)
		return err == nil
	})
	return err
}

// elements calls element with the elements of an array until it returns an error.
func elements(array gjson.Result, element func(i int, value gjson.Result) error) (err error) {
	i := 0
	jsontext.Elements(array, func(value gjson.Result) bool {
		err = element(i, value)
		i++
		return err == nil
	})
	return err
}
