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

// fault is a field that is wrong. Its path is put together on the way up, so
// that a request without faults builds none.
type fault struct {
	path, code, text string
}

func (f *fault) Error() string { return f.path + " " + f.text }

// bad is the fault of a value; path is relative to where the caller stands.
func bad(path, format string, args ...any) error {
	return &fault{path, "invalid_value", fmt.Sprintf(format, args...)}
}

func unsupported(path, format string, args ...any) error {
	return &fault{path, "unsupported_parameter", fmt.Sprintf(format, args...)}
}

func missing(path string) error {
	return &fault{path, "missing_required_parameter", "is required"}
}

func wrongType(path, want string, got gjson.Result) error {
	return bad(path, "must be %s, it is %s", want, jsontext.KindOf(got))
}

// within puts a path before that of a fault.
func within(err error, format string, args ...any) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	before := fmt.Sprintf(format, args...)
	if f.path != "" && !strings.HasPrefix(f.path, "[") {
		before += "."
	}
	f.path = before + f.path
	return f
}

// refusal is what the client gets for a fault.
func refusal(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	return apierror.New(http.StatusBadRequest, f.code, "%s", f.Error()).With(f.path)
}

// quote is a value of the client's as a message repeats it.
func quote(value string) string { return `"` + wire.Mask(value, 100) + `"` }

// text reads a string; null and absent are empty.
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

// name reads a string that must be there.
func name(path string, r gjson.Result) (string, error) {
	s, err := text(path, r)
	if err == nil && s == "" {
		err = missing(path)
	}
	return s, err
}

// object reads an object's JSON text; null and absent are empty.
func object(path string, r gjson.Result) (string, error) {
	switch {
	case r.IsObject():
		return r.Raw, nil
	case r.Type == gjson.Null:
		return "", nil
	}
	return "", wrongType(path, "an object", r)
}

// truth reads the JSON text of a boolean; null and absent are empty.
func truth(path string, r gjson.Result) (string, error) {
	switch {
	case r.IsBool():
		return r.Raw, nil
	case r.Type == gjson.Null:
		return "", nil
	}
	return "", wrongType(path, "a boolean", r)
}

// each calls member with the members of an object until one fails.
func each(object gjson.Result, member func(key string, value gjson.Result) error) (err error) {
	jsontext.Members(object, func(key string, value gjson.Result) bool {
		err = member(key, value)
		return err == nil
	})
	return err
}

// elements calls element with the elements of an array until one fails.
func elements(array gjson.Result, element func(i int, value gjson.Result) error) (err error) {
	i := 0
	jsontext.Elements(array, func(value gjson.Result) bool {
		err = element(i, value)
		i++
		return err == nil
	})
	return err
}
