package hub

import (
	"bytes"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Object is the JSON object that the arguments of a call (the inside of a JSON
// string) stand for; ok is false when they are none, even with what is open closed
// (specification 5).
func Object(arguments []byte) (object []byte, ok bool) {
	object = bytes.TrimSpace(wire.AppendUnquoted(nil, arguments))
	if len(object) == 0 {
		return []byte("{}"), true
	}
	if IsObject(object) {
		return object, true
	}
	object = repaired(object)
	return object, IsObject(object)
}

// IsObject reports whether a text is one JSON object.
func IsObject(text []byte) bool {
	s := wire.NewScanner(text)
	return s.Kind() == wire.Object && s.Skip() == nil && s.End() == nil
}

// repaired closes the strings and brackets that are open at the end of a text.
func repaired(text []byte) []byte {
	var open []byte
	inString, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = c == '\\'
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
		if len(open) > wire.MaxDepth {
			return nil
		}
	}
	if inString {
		text = append(text, '"')
	}
	for len(open) > 0 {
		text = append(text, open[len(open)-1])
		open = open[:len(open)-1]
	}
	return text
}
