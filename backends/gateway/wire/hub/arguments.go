package hub

import (
	"bytes"
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Object returns the JSON object in a tool call's arguments, which are given as the text between the quotes of a JSON
// string. Strings and brackets that are open at the end are closed. ok is false if the result is not an object.
func Object(arguments []byte) (object []byte, ok bool) {
	object = bytes.TrimSpace(jsontext.AppendUnquoted(nil, arguments))
	if len(object) == 0 {
		return []byte("{}"), true
	}
	if IsObject(object) {
		return object, true
	}
	object = Closed(object)
	return object, IsObject(object)
}

// IsObject reports whether a text is one JSON object.
func IsObject(text []byte) bool {
	s := jsontext.NewScanner(text)
	return s.Kind() == jsontext.Object && s.Skip() == nil && s.End() == nil
}

// Closed returns a JSON text in which the strings and brackets that are open at the end are closed.
func Closed(text []byte) []byte {
	var a Arguments
	a.Pass(text)
	return append(text, a.Closing()...)
}

// Arguments scans the pieces of a tool call's arguments to find out when their JSON is complete.
type Arguments struct {
	open             []byte // the closing brackets that are missing
	began, inString  bool   // an object or array has begun; a string is open
	escaped, tooDeep bool   // the last byte was a backslash in a string; the nesting exceeds jsontext.MaxDepth
}

// Complete reports whether a JSON object or array has ended.
func (a *Arguments) Complete() bool { return a.began && len(a.open) == 0 && !a.tooDeep }

// Closing returns the text that closes the open strings and brackets. It is empty if nothing is open, or if the JSON is
// nested too deeply.
func (a *Arguments) Closing() []byte {
	if a.tooDeep || a.escaped {
		return nil
	}
	var closing []byte
	if a.inString {
		closing = append(closing, '"')
	}
	for _, bracket := range slices.Backward(a.open) {
		closing = append(closing, bracket)
	}
	return closing
}

// Pass scans the next piece of the arguments, from which the escapes of the surrounding JSON string are already
// removed.
func (a *Arguments) Pass(piece []byte) {
	for _, c := range piece {
		a.step(c)
	}
}

// step processes one byte.
func (a *Arguments) step(c byte) {
	switch {
	case a.tooDeep:
	case a.escaped:
		a.escaped = false
	case a.inString:
		a.escaped = c == '\\'
		a.inString = c != '"'
	case c == '"':
		a.inString = true
	case c == '{':
		a.enter('}')
	case c == '[':
		a.enter(']')
	case (c == '}' || c == ']') && len(a.open) > 0:
		a.open = a.open[:len(a.open)-1]
	}
}

// enter records an opened bracket. closing is the bracket that closes the opened one. Text that is nested too deeply is
// no longer scanned.
func (a *Arguments) enter(closing byte) {
	a.began = true
	a.open = append(a.open, closing)
	a.tooDeep = len(a.open) > jsontext.MaxDepth
}
