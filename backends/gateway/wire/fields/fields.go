// Package fields reads the members of a client's JSON body. Its errors are *apierror.Error with status 400 whose
// messages begin with the path of the value at fault, such as "input[3].content[0].type".
package fields

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Path is the place of a value in the body. It is composed into a text only in errors, so that a valid request does not
// pay for it.
type Path struct {
	up    *Path
	key   string // of an object's member
	Index int    // of an array's element, when key is empty
}

// String returns the path in the form of "input[3].content[0].type". The path of the body itself is empty.
func (p *Path) String() string {
	if p.up == nil {
		return p.key
	}
	up := p.up.String()
	switch {
	case p.key == "":
		return up + "[" + strconv.Itoa(p.Index) + "]"
	case up == "":
		return p.key
	default:
		return up + "." + p.key
	}
}

// Value is a JSON value of the body, or an absent one.
type Value struct {
	gjson.Result
	Path
}

// Given reports whether the value is present and not null.
func (v *Value) Given() bool { return v.Type != gjson.Null }

// Text returns a string. An absent one is "".
func (v *Value) Text() (string, error) {
	if v.Given() && v.Type != gjson.String {
		return "", v.Wrong("a string")
	}
	return v.Str, nil
}

// Flag returns a boolean. An absent one is false.
func (v *Value) Flag() (bool, error) {
	if v.Given() && !v.IsBool() {
		return false, v.Wrong("a boolean")
	}
	return v.Type == gjson.True, nil
}

// Integer returns a whole number of at least least. An absent one is 0.
func (v *Value) Integer(least int64) (int64, error) {
	switch {
	case !v.Given():
		return 0, nil
	case v.Type != gjson.Number:
		return 0, v.Wrong("an integer")
	}
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if err != nil || n < least {
		return 0, v.Invalid("must be an integer of at least %d", least)
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
	up, index := &Path{v.up, v.key, v.Path.Index}, 0
	jsontext.Elements(v.Result, func(element gjson.Result) bool {
		err = do(Value{Result: element, Path: Path{up: up, Index: index}})
		index++
		return err == nil
	})
	return err
}

// Wrong returns the 400 for a value of the wrong kind.
func (v *Value) Wrong(want string) error {
	if !v.Given() {
		return v.Missing()
	}
	return v.Invalid("must be %s, it is %s", want, jsontext.KindOf(v.Result))
}

// Missing returns the 400 for a value that must be present.
func (v *Value) Missing() error {
	return hub.Fault("missing_required_parameter", v.String(), "is required")
}

// Invalid returns the 400 for an invalid value. The message follows the path.
func (v *Value) Invalid(format string, args ...any) error {
	return hub.Fault("invalid_value", v.String(), format, args...)
}

// Unsupported returns the 400 for a value that asks for something the gateway does not offer.
func (v *Value) Unsupported(format string, args ...any) error {
	return hub.Fault("unsupported_parameter", v.String(), format, args...)
}

// String returns the value's path. Its text is in Str.
func (v *Value) String() string { return v.Path.String() }

// Object holds the members of an object, found in one pass. They are looked up by name without another pass over texts
// that may be long.
type Object struct {
	Path
	Members []Member
}

// Member is a member of an object.
type Member struct {
	Name string
	gjson.Result
}

// maxMembers bounds the members that are kept of one object. Further ones are ignored.
const maxMembers = 64

// Open finds the members of an object. The memory of the previous object is reused.
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

// Typed opens an object that must have a type, and returns the type.
func (o *Object) Typed(v Value) (kind string, err error) {
	if err := o.Open(v); err != nil {
		return "", err
	}
	return o.Name("type")
}

// Get returns the first member with the given name, or an absent value.
func (o *Object) Get(name string) Value {
	at := Path{up: &o.Path, key: name}
	for i := range o.Members {
		if o.Members[i].Name == name {
			return Value{Result: o.Members[i].Result, Path: at}
		}
	}
	return Value{Path: at}
}

// Text returns a member that is a string, or "" if it is absent.
func (o *Object) Text(name string) (string, error) {
	v := o.Get(name)
	return v.Text()
}

// Name returns a member that is a string and must not be empty.
func (o *Object) Name(name string) (string, error) {
	v := o.Get(name)
	text, err := v.Text()
	if err == nil && text == "" {
		err = v.Missing()
	}
	return text, err
}
