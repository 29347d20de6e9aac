package responses

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// path is the place of a value in the body. It is composed into a text only in errors, so that a valid request does not
// pay for it.
type path struct {
	up    *path
	key   string // of an object's member
	index int    // of an array's element, when key is empty
}

// String returns the path in the form of "input[3].content[0].type". The path of the body itself is empty.
func (p *path) String() string {
	if p.up == nil {
		return p.key
	}
	up := p.up.String()
	switch {
	case p.key == "":
		return up + "[" + strconv.Itoa(p.index) + "]"
	case up == "":
		return p.key
	default:
		return up + "." + p.key
	}
}

// value is a JSON value of the body, or an absent one.
type value struct {
	gjson.Result
	path
}

// given reports whether the value is present and not null.
func (v *value) given() bool { return v.Type != gjson.Null }

// text returns a string. An absent one is "".
func (v *value) text() (string, error) {
	if v.given() && v.Type != gjson.String {
		return "", v.wrong("a string")
	}
	return v.Str, nil
}

// flag returns a boolean. An absent one is false.
func (v *value) flag() (bool, error) {
	if v.given() && !v.IsBool() {
		return false, v.wrong("a boolean")
	}
	return v.Type == gjson.True, nil
}

// object returns an error unless the value is an object.
func (v *value) object() error {
	if !v.IsObject() {
		return v.wrong("an object")
	}
	return nil
}

// array returns an error unless the value is an array.
func (v *value) array() error {
	if !v.IsArray() {
		return v.wrong("an array")
	}
	return nil
}

// each calls do with the elements of an array until it returns an error.
func (v *value) each(do func(element value) error) (err error) {
	if err := v.array(); err != nil {
		return err
	}
	up, index := &path{v.up, v.key, v.index}, 0
	jsontext.Elements(v.Result, func(element gjson.Result) bool {
		err = do(value{element, path{up: up, index: index}})
		index++
		return err == nil
	})
	return err
}

// wrong returns the 400 for a value of the wrong kind.
func (v *value) wrong(want string) error {
	if !v.given() {
		return v.missing()
	}
	return v.invalid("must be %s, it is %s", want, jsontext.KindOf(v.Result))
}

// missing returns the 400 for a value that must be present.
func (v *value) missing() error {
	return hub.Fault("missing_required_parameter", v.String(), "is required")
}

// invalid returns the 400 for an invalid value. The message follows the path.
func (v *value) invalid(format string, args ...any) error {
	return hub.Fault("invalid_value", v.String(), format, args...)
}

// unsupported returns the 400 for a value that asks for something the gateway does not offer.
func (v *value) unsupported(format string, args ...any) error {
	return hub.Fault("unsupported_parameter", v.String(), format, args...)
}

// String returns the value's path. Its text is in Str.
func (v *value) String() string { return v.path.String() }

// object holds the members of an object, found in one pass. They are looked up by name without another pass over texts
// that may be long.
type object struct {
	path
	members []member
}

type member struct {
	name string
	gjson.Result
}

// maxMembers bounds the members that are kept of one object. Further ones are ignored.
const maxMembers = 64

// open finds the members of an object. The memory of the previous object is reused.
func (o *object) open(v value) error {
	if err := v.object(); err != nil {
		return err
	}
	o.path, o.members = v.path, o.members[:0]
	jsontext.Members(v.Result, func(key string, r gjson.Result) bool {
		o.members = append(o.members, member{key, r})
		return len(o.members) < maxMembers
	})
	return nil
}

// typed opens an object that must have a type, and returns the type.
func (o *object) typed(v value) (kind string, err error) {
	if err := o.open(v); err != nil {
		return "", err
	}
	return o.name("type")
}

// get returns the first member with the given name, or an absent value.
func (o *object) get(name string) value {
	at := path{up: &o.path, key: name}
	for i := range o.members {
		if o.members[i].name == name {
			return value{o.members[i].Result, at}
		}
	}
	return value{path: at}
}

// text returns a member that is a string, or "" if it is absent.
func (o *object) text(name string) (string, error) {
	v := o.get(name)
	return v.text()
}

// name returns a member that is a string and must not be empty.
func (o *object) name(name string) (string, error) {
	v := o.get(name)
	text, err := v.text()
	if err == nil && text == "" {
		err = v.missing()
	}
	return text, err
}
