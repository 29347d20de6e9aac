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

// fault is an invalid field. Its path is composed while the error is returned, so that a request without faults
// composes none.
type fault struct {
	path, code, text string
}

func (f *fault) Error() string { return f.path + " " + f.text }

// bad returns the fault of a value. The path is relative to the caller's place.
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
	prefix := fmt.Sprintf(format, args...)
	if f.path != "" && !strings.HasPrefix(f.path, "[") {
		prefix += "."
	}
	f.path = prefix + f.path
	return f
}

// refusal returns the client's error for a fault.
func refusal(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	return apierror.New(http.StatusBadRequest, f.code, "%s", f.Error()).With(f.path)
}

// quote returns a value of the client's in the form for messages.
func quote(value string) string { return `"` + wire.Mask(value, 100) + `"` }

// text returns a string. Null and an absent value are empty.
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

// name returns a string that must not be empty.
func name(path string, r gjson.Result) (string, error) {
	s, err := text(path, r)
	if err == nil && s == "" {
		err = missing(path)
	}
	return s, err
}

// object returns the JSON text of an object. Null and an absent value are empty.
func object(path string, r gjson.Result) (string, error) {
	switch {
	case r.IsObject():
		return r.Raw, nil
	case r.Type == gjson.Null:
		return "", nil
	}
	return "", wrongType(path, "an object", r)
}

// truth returns the JSON text of a boolean. Null and an absent value are empty.
func truth(path string, r gjson.Result) (string, error) {
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
