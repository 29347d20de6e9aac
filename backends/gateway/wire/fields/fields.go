// Package fields reads the fields of the objects in a client's JSON body. The errors are *apierror.Error with status
// 400. Their messages begin with the path of the invalid value, such as "input[3].content[0].type".
package fields

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Path is the path of a value in the body. String builds the text of the path, which is needed only for errors, so that
// valid requests do not pay for it.
type Path struct {
	parent *Path  // path of the object or array that contains the value, or nil for the body
	key    string // name of an object's field; empty for an array's element
	Index  int    // index of an array's element
}

// String returns the path as a text such as "input[3].content[0].type". The path of the body itself is an empty string.
func (p *Path) String() string {
	if p.parent == nil {
		return p.key
	}
	parent := p.parent.String()
	switch {
	case p.key == "":
		return parent + "[" + strconv.Itoa(p.Index) + "]"
	case parent == "":
		return p.key
	default:
		return parent + "." + p.key
	}
}

// Value is a JSON value in the body, together with its path. A field that is absent is described by a Value with the
// path of the field and the type gjson.Null. A Value that comes from an Object must not be used after the Object has
// opened another value, since the path would then be wrong.
type Value struct {
	gjson.Result
	Path
}

// Given reports whether the value is present and not null.
func (v Value) Given() bool { return v.Type != gjson.Null }

// Text returns the string in v, or "" if v is absent or null. It returns an error for a value of another type.
func (v Value) Text() (string, error) {
	if v.Given() && v.Type != gjson.String {
		return "", v.Wrong("a string")
	}
	return v.Str, nil
}

// Required returns the string in v. It returns an error if v is absent, null or of another type.
func (v Value) Required() (string, error) {
	if !v.Given() {
		return "", v.Missing()
	}
	return v.Text()
}

// Flag returns the boolean in v, or false if v is absent or null. It returns an error for a value of another type.
func (v Value) Flag() (bool, error) {
	if v.Given() && !v.IsBool() {
		return false, v.Wrong("a boolean")
	}
	return v.Type == gjson.True, nil
}

// RawFlag returns the boolean in v as the JSON text true or false, or "" if v is absent or null. It returns an error
// for a value of another type.
func (v Value) RawFlag() (string, error) {
	if _, err := v.Flag(); err != nil || !v.Given() {
		return "", err
	}
	return v.Raw, nil
}

// RawObject returns the object in v as JSON text, or "" if v is absent or null. It returns an error for a value of
// another type.
func (v Value) RawObject() (string, error) {
	if !v.Given() {
		return "", nil
	}
	return v.Raw, v.Object()
}

// Integer returns the integer in v, or 0 if v is absent or null. It returns an error for a value that is not an integer
// or is less than minimum.
func (v Value) Integer(minimum int64) (int64, error) {
	switch {
	case !v.Given():
		return 0, nil
	case v.Type != gjson.Number:
		return 0, v.Wrong("an integer")
	}
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if err != nil || n < minimum {
		return 0, v.Invalid("must be an integer of at least %d", minimum)
	}
	return n, nil
}

// Object returns nil if v is an object, and otherwise an error that says so.
func (v Value) Object() error {
	if !v.IsObject() {
		return v.Wrong("an object")
	}
	return nil
}

// Array returns nil if v is an array, and otherwise an error that says so.
func (v Value) Array() error {
	if !v.IsArray() {
		return v.Wrong("an array")
	}
	return nil
}

// Each calls fn for each element of the array v, in their order. It stops at the first error of fn and returns that
// error. If v is not an array, it returns the error of Array and does not call fn.
func (v Value) Each(fn func(element Value) error) (err error) {
	if err := v.Array(); err != nil {
		return err
	}
	parent, index := &Path{v.parent, v.key, v.Path.Index}, 0
	jsontext.Elements(v.Result, func(element gjson.Result) bool {
		err = fn(Value{Result: element, Path: Path{parent: parent, Index: index}})
		index++
		return err == nil
	})
	return err
}

// Wrong returns the error with status 400 for a value that has the wrong type. expectedType names the right type with
// an article, such as "a string". If v is absent or null, Wrong returns the error of Missing.
func (v Value) Wrong(expectedType string) error {
	if !v.Given() {
		return v.Missing()
	}
	return v.Invalid("must be %s, it is %s", expectedType, jsontext.KindOf(v.Result))
}

// Missing returns the error with status 400 for a required value that is absent.
func (v Value) Missing() error {
	return wire.MissingField(v.String())
}

// Invalid returns the error with status 400 for an invalid value. The message is the path of v followed by the
// formatted text, such as "must not be empty".
func (v Value) Invalid(format string, args ...any) error {
	return hub.Fault("invalid_value", v.String(), format, args...)
}

// Unsupported returns the error with status 400 for a value that asks for something the gateway does not offer. The
// message is the path of v followed by the formatted text.
func (v Value) Unsupported(format string, args ...any) error {
	return hub.Fault("unsupported_parameter", v.String(), format, args...)
}

// String returns the path of v. The text of a string value is in v.Str.
func (v Value) String() string { return v.Path.String() }

// Object holds the fields of a JSON object. Open finds all fields in one pass, so that looking up several fields does
// not scan long texts again.
type Object struct {
	Path
	Members []Member
}

// Member is a field of a JSON object: its name and its value.
type Member struct {
	Name string
	gjson.Result
}

// maxMembers limits the number of fields of an object that Open reads.
const maxMembers = 64

// usualMembers is the number of fields for which Open makes room at first. Most objects have no more.
const usualMembers = 8

// Top returns the top-level fields of body, which must be valid JSON.
func Top(body []byte) (o Object) {
	o.Members = make([]Member, 0, 2*usualMembers)
	jsontext.Members(gjson.ParseBytes(body), func(key string, r gjson.Result) bool {
		o.Members = append(o.Members, Member{Name: key, Result: r})
		return true
	})
	return o
}

// Open stores the fields of the object v in o and discards the fields that o held before. v must not come from o or
// from a value within o, since the path of o would then contain itself. Open returns an error if v is not an object
// or has more than maxMembers fields.
func (o *Object) Open(v Value) error {
	if err := v.Object(); err != nil {
		return err
	}
	if o.Members == nil {
		o.Members = make([]Member, 0, usualMembers)
	}
	o.Path, o.Members = v.Path, o.Members[:0]
	jsontext.Members(v.Result, func(key string, r gjson.Result) bool {
		o.Members = append(o.Members, Member{Name: key, Result: r})
		return len(o.Members) <= maxMembers
	})
	if len(o.Members) > maxMembers {
		return v.Invalid("has more than %d fields", maxMembers)
	}
	return nil
}

// Optional opens the object that is the value of o's field with the given name. If the field is absent or null, ok is
// false, err is nil, and inner has no fields. A value that is not an object is an error.
func (o *Object) Optional(name string) (inner Object, ok bool, err error) {
	v := o.Get(name)
	if !v.Given() {
		return inner, false, nil
	}
	err = inner.Open(v)
	return inner, err == nil, err
}

// Typed opens v like Open and returns the value of the field "type" of v. It returns an error if v is not an object,
// or if the value of "type" is not a string or is empty.
func (o *Object) Typed(v Value) (kind string, err error) {
	if err := o.Open(v); err != nil {
		return "", err
	}
	return o.Name("type")
}

// Get returns the value of the field with the given name. If the field is given several times, the last value counts,
// as in the decoders of most upstreams. If there is no such field, Get returns a Value for which Given is false.
func (o *Object) Get(name string) Value {
	path := Path{parent: &o.Path, key: name}
	for i := range slices.Backward(o.Members) {
		if o.Members[i].Name == name {
			return Value{Result: o.Members[i].Result, Path: path}
		}
	}
	return Value{Path: path}
}

// Each calls fn for each field of o, in their order. It stops at the first error of fn and returns that error.
func (o *Object) Each(fn func(name string, v Value) error) error {
	for _, m := range o.Members {
		if err := fn(m.Name, Value{Result: m.Result, Path: Path{parent: &o.Path, key: m.Name}}); err != nil {
			return err
		}
	}
	return nil
}

// Others returns the paths of those fields of o that are neither null nor named in names. The fields' names are changed
// to a form that a response header can list.
func (o *Object) Others(names ...string) (paths []string) {
	for _, m := range o.Members {
		if m.Type == gjson.Null || slices.Contains(names, m.Name) {
			continue
		}
		path := Listed(m.Name)
		if parent := o.String(); parent != "" {
			path = parent + "." + path
		}
		paths = append(paths, path)
	}
	return paths
}

// Listed returns a client's name in a form that a response header can list.
func Listed(name string) string {
	return strings.Map(func(c rune) rune {
		if c > ' ' && c < 0x7f && c != ',' {
			return c
		}
		return '_'
	}, wire.Mask(name, 100))
}

// Text returns the string in the field with the given name, or "" if the field is absent or null. It returns an error
// for a value of another type.
func (o *Object) Text(name string) (string, error) { return o.Get(name).Text() }

// Required returns the string in the field with the given name. It returns an error if the field is absent, null or of
// another type.
func (o *Object) Required(name string) (string, error) { return o.Get(name).Required() }

// Name returns the string in the field with the given name. It returns an error if the field is absent, empty or of
// another type.
func (o *Object) Name(name string) (string, error) {
	v := o.Get(name)
	text, err := v.Text()
	if err == nil && text == "" {
		err = v.Missing()
	}
	return text, err
}
