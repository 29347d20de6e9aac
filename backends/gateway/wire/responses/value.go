package responses

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// path is where a value stands in the body. It is spelled out only in errors, so
// that a good request does not pay for it.
type path struct {
	up    *path
	key   string // of an object's member
	index int    // of an array's element, when key is empty
}

// String is the path in the form of "input[3].content[0].type"; that of the body
// itself is empty.
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

// value is a JSON value of the body, or nothing.
type value struct {
	gjson.Result
	path
}

// given reports whether there is a value; null is none.
func (v *value) given() bool { return v.Type != gjson.Null }

// text is a string; none is "".
func (v *value) text() (string, error) {
	if v.given() && v.Type != gjson.String {
		return "", v.wrong("a string")
	}
	return v.Str, nil
}

// flag is a boolean; none is false.
func (v *value) flag() (bool, error) {
	if v.given() && !v.IsBool() {
		return false, v.wrong("a boolean")
	}
	return v.Type == gjson.True, nil
}

// object checks that the value is an object, and array that it is an array.
func (v *value) object() error {
	if !v.IsObject() {
		return v.wrong("an object")
	}
	return nil
}

func (v *value) array() error {
	if !v.IsArray() {
		return v.wrong("an array")
	}
	return nil
}

// each calls do with the elements of an array.
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

// wrong is the 400 of a value of the wrong kind.
func (v *value) wrong(want string) error {
	if !v.given() {
		return v.missing()
	}
	return v.invalid("must be %s, it is %s", want, jsontext.KindOf(v.Result))
}

// missing is the 400 of a value that has to be there.
func (v *value) missing() error {
	return hub.Fault("missing_required_parameter", v.String(), "is required")
}

// invalid is the 400 of a value that is wrong, unsupported of one that asks for
// what is not offered. The message follows the path.
func (v *value) invalid(format string, args ...any) error {
	return hub.Fault("invalid_value", v.String(), format, args...)
}

func (v *value) unsupported(format string, args ...any) error {
	return hub.Fault("unsupported_parameter", v.String(), format, args...)
}

// String is the value's path; its text is in Str.
func (v *value) String() string { return v.path.String() }

// object is the members of an object, noted in one pass: they are looked up by name
// without another walk over texts that may be long.
type object struct {
	path
	members []member
}

type member struct {
	name string
	gjson.Result
}

// maxMembers bounds what is noted of one object; what stands behind is not seen.
const maxMembers = 64

// open notes the members of an object; the room of the last one is used again.
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

// typed opens an object that says what it is, and returns that.
func (o *object) typed(v value) (kind string, err error) {
	if err := o.open(v); err != nil {
		return "", err
	}
	return o.name("type")
}

// get is the first member of a name.
func (o *object) get(name string) value {
	at := path{up: &o.path, key: name}
	for i := range o.members {
		if o.members[i].name == name {
			return value{o.members[i].Result, at}
		}
	}
	return value{path: at}
}

// text is a member that is a string, or "".
func (o *object) text(name string) (string, error) {
	v := o.get(name)
	return v.text()
}

// name is a member that is a string and must be there.
func (o *object) name(name string) (string, error) {
	v := o.get(name)
	text, err := v.text()
	if err == nil && text == "" {
		err = v.missing()
	}
	return text, err
}
