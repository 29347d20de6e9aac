package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Faults lists the faults of a request, which are reported together.
type Faults []apierror.Detail

// maxFaults limits how many unknown properties are reported.
const maxFaults = 20

// Note adds a fault of a field.
func (f *Faults) Note(field, reason, message string) {
	*f = append(*f, apierror.Detail{Field: field, Reason: reason, Message: message})
}

// Err returns an error that reports all faults, or nil without faults.
func (f Faults) Err(status int, code string) error {
	if len(f) == 0 {
		return nil
	}
	return &apierror.Error{Status: status, Code: code, Message: f[0].Message, Details: f}
}

// Objects reads JSON objects whose members are checked separately, and reports all faults together. By contrast,
// Call.Decode decodes into a struct and stops at the first fault.
type Objects struct {
	MaxBytes int64  // limit for the body, in bytes
	Code     string // code of refusals, which have status 400
	TooLarge string // code for a body that is too large, with status 413
}

// Object is the JSON object in the body of a request. Its methods remove members from the object and record faults of
// their values; Err reports all faults. The zero value has no members.
type Object struct {
	Raw []byte // the body as it was received

	members map[string]json.RawMessage
	faults  Faults
	code    string
}

// Read reads the body of a call. It returns an error for a body that is not an object or has a duplicate name. With an
// error it also returns an empty Object, whose methods may be called.
func (o Objects) Read(c *Call) (*Object, error) {
	raw, err := o.read(c)
	if err != nil {
		return new(Object), err
	}
	return o.Parse(raw)
}

// ReadIfAny works like Read but accepts an empty body.
func (o Objects) ReadIfAny(c *Call) (*Object, error) {
	if c.R.ContentLength == 0 {
		return &Object{code: o.Code}, nil
	}
	raw, err := o.read(c)
	switch {
	case err != nil:
		return new(Object), err
	case len(raw) == 0:
		return &Object{code: o.Code}, nil
	}
	return o.Parse(raw)
}

// read returns the body of a call, which may be empty.
func (o Objects) read(c *Call) ([]byte, error) {
	if kind := c.R.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			return nil, o.Refuse("", "content_type", "the body must be sent as application/json")
		}
	}
	raw, err := c.body(o.MaxBytes)
	switch {
	case errors.Is(err, errTooLarge):
		err = apierror.New(http.StatusRequestEntityTooLarge, o.TooLarge, "the body is larger than %d bytes", o.MaxBytes)
	case errors.Is(err, errIncomplete):
		err = o.Refuse("", "incomplete", errIncomplete.Error())
	}
	return raw, err
}

// Parse works like Read for a body that was read before.
func (o Objects) Parse(raw []byte) (*Object, error) {
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return new(Object), o.Refuse("", "missing", "this request needs a JSON body")
	case !utf8.Valid(raw):
		return new(Object), o.Refuse("", "encoding", "the body is not UTF-8")
	}
	if err := o.wellFormed(raw); err != nil {
		return new(Object), err
	}
	b := &Object{Raw: raw, code: o.Code}
	if err := json.Unmarshal(raw, &b.members); err != nil || b.members == nil {
		return new(Object), o.Refuse("", "not_an_object", "the body must be a JSON object")
	}
	return b, nil
}

// Refuse returns an error that reports a single fault. An empty field means the body as a whole.
func (o Objects) Refuse(field, reason, message string) error {
	return Faults{{Field: field, Reason: reason, Message: message}}.Err(http.StatusBadRequest, o.Code)
}

// wellFormed makes the checks that decoding does not make: duplicate names, nesting, and data after the value.
func (o Objects) wellFormed(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	type level struct { // an open object or array
		names    map[string]bool // the object's names so far; nil for an array
		wantName bool            // the next token is a name, or ends the object
	}
	var open []level // outermost first
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return o.Refuse("", "syntax", fmt.Sprintf("the body is not JSON from byte %d on", d.InputOffset()))
		}
		last := len(open) - 1
		if last >= 0 && open[last].wantName {
			if name, ok := token.(string); ok {
				if open[last].names[name] {
					return o.Refuse(Quote(name), "duplicate", "the body has "+Quote(name)+" twice")
				}
				open[last].names[name], open[last].wantName = true, false
				continue
			}
		}
		switch delim, _ := token.(json.Delim); delim {
		case '{', '[':
			if len(open) == maxDepth {
				return o.Refuse("", "nesting", "the body nests deeper than 32 levels")
			}
			next := level{}
			if delim == '{' {
				next = level{names: make(map[string]bool), wantName: true}
			}
			open = append(open, next)
			continue
		case '}', ']':
			open = open[:last]
		}
		// A value has ended. In an object, a name follows.
		if len(open) > 0 {
			enclosing := &open[len(open)-1]
			enclosing.wantName = enclosing.names != nil
			continue
		}
		if d.More() {
			return o.Refuse("", "trailing", "the body has more data after its JSON value")
		}
	}
	if len(open) > 0 {
		return o.Refuse("", "syntax", "the JSON of the body is incomplete")
	}
	return nil
}

// take removes a member and returns it, or nil if it is missing.
func (b *Object) take(name string) json.RawMessage {
	value := b.members[name]
	delete(b.members, name)
	return value
}

// member removes and decodes a member. It returns nil if the member is missing. If the value is not of type T it
// records a fault and returns a zero value. kind names the type in the message of the fault.
func member[T any](b *Object, name, kind string) *T {
	raw := b.take(name)
	if raw == nil {
		return nil
	}
	value := new(T)
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, value) != nil {
		b.faults.Note(name, "type", name+" must be "+kind)
		return new(T)
	}
	return value
}

// Text returns a required text. It returns "" after a fault.
func (b *Object) Text(name string) string {
	value := member[string](b, name, "text")
	if value == nil {
		b.faults.Note(name, "required", name+" is missing")
		return ""
	}
	return *value
}

// OptionalText returns a text, or nil if it is missing.
func (b *Object) OptionalText(name string) *string { return member[string](b, name, "text") }

// Flag returns a boolean, or nil if it is missing.
func (b *Object) Flag(name string) *bool { return member[bool](b, name, "true or false") }

// Integer returns a whole number, or nil if it is missing.
func (b *Object) Integer(name string) *int64 { return member[int64](b, name, "a whole number") }

// Required returns a required whole number. It returns 0 after a fault.
func (b *Object) Required(name string) int64 {
	n := b.Integer(name)
	if n == nil {
		b.faults.Note(name, "required", name+" is missing")
		return 0
	}
	return *n
}

// Nullable returns an id, 0 for null, or nil if the member is missing. For the number 0 it returns -1.
func (b *Object) Nullable(name string) *int64 {
	if raw, ok := b.members[name]; ok && bytes.Equal(raw, []byte("null")) {
		delete(b.members, name)
		return new(int64)
	}
	id := b.Integer(name)
	if id != nil && *id == 0 {
		*id = -1 // 0 is not an id
	}
	return id
}

// Err returns an error that reports all faults, or nil without faults. A member that no method has removed is a fault.
func (b *Object) Err() error {
	for _, name := range slices.Sorted(maps.Keys(b.members)) {
		name = Quote(name)
		b.faults.Note(name, "unknown", "there is no property "+name+" here")
		if len(b.faults) >= maxFaults {
			break
		}
	}
	return b.faults.Err(http.StatusBadRequest, b.code)
}
