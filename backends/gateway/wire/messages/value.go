package messages

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// invalid returns the error with status 400 for an invalid value. path is the value's JSON path. The message is the
// path followed by the formatted text.
func invalid(path, format string, args ...any) error {
	return hub.Fault("invalid_value", path, format, args...)
}

// unsupported returns the error with status 400 for a value that asks for something the gateway does not offer. The
// parameters are those of invalid.
func unsupported(path, format string, args ...any) error {
	return hub.Fault("unsupported_parameter", path, format, args...)
}

// missing returns the error with status 400 for a required value that is absent.
func missing(path string) error {
	return hub.Fault("missing_required_parameter", path, "is required")
}

// isPresent reports whether the value of a field is present and not null.
func isPresent(v gjson.Result) bool { return v.Type != gjson.Null }

// wrongKind returns the error for the value v, which has the wrong type or is absent. want names the right type with an
// article, such as "a string".
func wrongKind(path, want string, v gjson.Result) error {
	if !isPresent(v) {
		return missing(path)
	}
	return invalid(path, "must be %s, it is %s", want, jsontext.KindOf(v))
}

// text returns the string v. It returns an error if v is absent or not a string. path is the JSON path for the error.
func text(v gjson.Result, path string) (string, error) {
	if v.Type != gjson.String {
		return "", wrongKind(path, "a string", v)
	}
	return v.Str, nil
}

// name returns the string v. It returns an error if v is absent, empty or not a string. path is the JSON path for the
// error.
func name(v gjson.Result, path string) (string, error) {
	s, err := text(v, path)
	if err == nil && s == "" {
		err = invalid(path, "must not be empty")
	}
	return s, err
}

// optionalText returns the string v, or "" if v is absent or null. It returns an error for any other value.
func optionalText(v gjson.Result, path string) (string, error) {
	if !isPresent(v) {
		return "", nil
	}
	return text(v, path)
}

// optionalBool returns the boolean v, or false if v is absent or null. It returns an error for any other value.
func optionalBool(v gjson.Result, path string) (bool, error) {
	if isPresent(v) && !v.IsBool() {
		return false, wrongKind(path, "a boolean", v)
	}
	return v.Type == gjson.True, nil
}

// optionalObject reports whether v is an object. It returns an error if v is neither an object nor null nor absent.
func optionalObject(v gjson.Result, path string) (bool, error) {
	if isPresent(v) && !v.IsObject() {
		return false, wrongKind(path, "an object", v)
	}
	return isPresent(v), nil
}

// integer returns the integer v. It returns an error if v is absent or not an integer. path is the JSON path for the
// error.
func integer(v gjson.Result, path string) (int64, error) {
	if v.Type != gjson.Number {
		return 0, wrongKind(path, "an integer", v)
	}
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if err != nil {
		return 0, invalid(path, "must be an integer")
	}
	return n, nil
}

// each calls do for every element of an array, with the element and its JSON path, until do returns an error. It
// returns that error, or an error if the value is not an array. path is the array's JSON path.
func each(array gjson.Result, path string, do func(v gjson.Result, path string) error) error {
	if !array.IsArray() {
		return wrongKind(path, "an array", array)
	}
	var err error
	i := 0
	jsontext.Elements(array, func(v gjson.Result) bool {
		err = do(v, path+"["+strconv.Itoa(i)+"]")
		i++
		return err == nil
	})
	return err
}
