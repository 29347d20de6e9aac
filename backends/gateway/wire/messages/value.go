package messages

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

func invalid(at, format string, args ...any) error {
	return hub.Fault("invalid_value", at, format, args...)
}

func unsupported(at, format string, args ...any) error {
	return hub.Fault("unsupported_parameter", at, format, args...)
}

func missing(at string) error {
	return hub.Fault("missing_required_parameter", at, "is required")
}

// given reports whether a member is present and not null.
func given(v gjson.Result) bool { return v.Type != gjson.Null }

func wrongKind(at, want string, v gjson.Result) error {
	if !given(v) {
		return missing(at)
	}
	return invalid(at, "must be %s, it is %s", want, jsontext.KindOf(v))
}

// text returns a string that must be present.
func text(v gjson.Result, at string) (string, error) {
	if v.Type != gjson.String {
		return "", wrongKind(at, "a string", v)
	}
	return v.Str, nil
}

// name returns a string that must not be empty.
func name(v gjson.Result, at string) (string, error) {
	s, err := text(v, at)
	if err == nil && s == "" {
		err = invalid(at, "must not be empty")
	}
	return s, err
}

// optionalText returns a string, or an empty one if it is not given.
func optionalText(v gjson.Result, at string) (string, error) {
	if !given(v) {
		return "", nil
	}
	return text(v, at)
}

// optionalBool returns a boolean, or false if it is not given.
func optionalBool(v gjson.Result, at string) (bool, error) {
	if given(v) && !v.IsBool() {
		return false, wrongKind(at, "a boolean", v)
	}
	return v.Type == gjson.True, nil
}

// optionalObject reports whether there is an object. A value that is neither an object nor null is an error.
func optionalObject(v gjson.Result, at string) (bool, error) {
	if given(v) && !v.IsObject() {
		return false, wrongKind(at, "an object", v)
	}
	return given(v), nil
}

// integer returns a whole number that must be present.
func integer(v gjson.Result, at string) (int64, error) {
	if v.Type != gjson.Number {
		return 0, wrongKind(at, "an integer", v)
	}
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if err != nil {
		return 0, invalid(at, "must be an integer")
	}
	return n, nil
}

// each calls do for every element of an array, with the element's path, until it returns an error.
func each(array gjson.Result, at string, do func(v gjson.Result, at string) error) error {
	if !array.IsArray() {
		return wrongKind(at, "an array", array)
	}
	var err error
	i := 0
	jsontext.Elements(array, func(v gjson.Result) bool {
		err = do(v, at+"["+strconv.Itoa(i)+"]")
		i++
		return err == nil
	})
	return err
}
