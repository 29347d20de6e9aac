// Package fields reads the members of a client's JSON body. Its errors are *apierror.Error with status 400 whose
// messages begin with the path of the value at fault, such as "input[3].content[0].type".
package fields

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Path is the path of a value in the body. Its text is built only for errors, so that valid requests do not pay for it.
type Path struct {
	parent *Path
	key    string // of an object's member
	Index  int    // of an array's element, when key is empty
}

// String returns the path in the form of "input[3].content[0].type". The path of the body itself is empty.
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

// Value is a JSON value in the body. An absent member has a Value too, with a path but without a type.
type Value struct {
	gjson.Result
	Path
}

// Given reports whether the value is present and not null.
func (v *Value) Given() bool { return v.Type != gjson.Null }

// Text returns a string, or "" if the value is absent or null.
func (v *Value) Text() (string, error) {
	if v.Given() && v.Type != gjson.String {
		return "", v.Wrong("a string")
	}
	return v.Str, nil
}

// Flag returns a boolean, or false if the value is absent or null.
func (v *Value) Flag() (bool, error) {
	if v.Given() && !v.IsBool() {
		return false, v.Wrong("a boolean")
	}
	return v.Type == gjson.True, nil
}

// Integer returns an integer, which must be at least minimum, or 0 if the value is absent or null.
func (v *Value) Integer(minimum int64) (int64, error) {
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

// Object returns an error unless the value is an object.
func (v *Value) Object() error {
	if !v.IsObject() {
		return v.Wrong("an object")
	}
	return nil
}

// Array returns an error unless the value is an array.
func (v *Value) Array() error {
	if !v.IsArray() {
		return v.Wrong("an array")
	}
	return nil
}

// Each calls do with the elements of an array until it returns an error.
func (v *Value) Each(do func(element Value) error) (err error) {
	if err := v.Array(); err != nil {
		return err
	}
	parent, index := &Path{v.parent, v.key, v.Path.Index}, 0
	jsontext.Elements(v.Result, func(element gjson.Result) bool {
		err = do(Value{Result: element, Path: Path{parent: parent, Index: index}})
		index++
		return err == nil
	})
	return err
}

// Wrong returns the error with status 400 for a value of the wrong type. want names the right type.
func (v *Value) Wrong(want string) error {
	if !v.Given() {
		return v.Missing()
	}
	return v.Invalid("must be %s, it is %s", want, jsontext.KindOf(v.Result))
}

// Missing returns the error with status 400 for an absent value that is required.
func (v *Value) Missing() error {
	return hub.Fault("missing_required_parameter", v.String(), "is required")
}

// Invalid returns the error with status 400 for an invalid value. Its message is the path followed by the formatted
// text.
func (v *Value) Invalid(format string, args ...any) error {
	return hub.Fault("invalid_value", v.String(), format, args...)
}

// Unsupported returns the error with status 400 for a feature that the gateway does not offer. The message is formed as
// in Invalid.
func (v *Value) Unsupported(format string, args ...any) error {
	return hub.Fault("unsupported_parameter", v.String(), format, args...)
}

// String returns the value's path, not its text, which is in Str.
func (v *Value) String() string { return v.Path.String() }

// Object holds the members of a JSON object. They are found in one pass, so that looking up several members does not
// scan long texts again.
type Object struct {
	Path
	Members []Member
}

// Member is a member of an object.
type Member struct {
	Name string
	gjson.Result
}

// maxMembers limits the members that Open stores. Further members are ignored.
const maxMembers = 64

// Open stores the members of an object in o. It reuses the memory of the previous object.
func (o *Object) Open(v Value) error {
	if err := v.Object(); err != nil {
		return err
	}
	o.Path, o.Members = v.Path, o.Members[:0]
	jsontext.Members(v.Result, func(key string, r gjson.Result) bool {
		o.Members = append(o.Members, Member{Name: key, Result: r})
		return len(o.Members) < maxMembers
	})
	return nil
}

// Typed opens an object and returns its member type, which must be a string that is not empty.
func (o *Object) Typed(v Value) (kind string, err error) {
	if err := o.Open(v); err != nil {
		return "", err
	}
	return o.Name("type")
}

// Get returns the first member with the given name, or an absent value.
func (o *Object) Get(name string) Value {
	path := Path{parent: &o.Path, key: name}
	for i := range o.Members {
		if o.Members[i].Name == name {
			return Value{Result: o.Members[i].Result, Path: path}
		}
	}
	return Value{Path: path}
}

// Text returns the string in a member, or "" if the member is absent or null.
func (o *Object) Text(name string) (string, error) {
	v := o.Get(name)
	return v.Text()
}

// Name returns the string in a member, which must not be absent or empty.
func (o *Object) Name(name string) (string, error) {
	v := o.Get(name)
	text, err := v.Text()
	if err == nil && text == "" {
		err = v.Missing()
	}
	return text, err
}
