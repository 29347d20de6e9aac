package messages

import (
	"bytes"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// arguments follows the arguments of a call, which come in pieces, to know when
// their object is complete.
type arguments struct {
	depth           int
	began, inString bool
	escaped         bool
}

// complete reports whether a JSON value with brackets has ended.
func (a *arguments) complete() bool { return a.began && a.depth <= 0 }

// pass takes the next piece, unescaped.
func (a *arguments) pass(piece []byte) {
	for _, c := range piece {
		a.step(c)
	}
}

func (a *arguments) step(c byte) {
	switch {
	case a.escaped:
		a.escaped = false
	case a.inString:
		a.escaped = c == '\\'
		a.inString = c != '"'
	case c == '"':
		a.inString = true
	case c == '{', c == '[':
		a.began = true
		a.depth++
	case c == '}', c == ']':
		a.depth--
	}
}

// object is the JSON object that arguments (the inside of a JSON string) stand
// for; ok is false when they are none, even with what is open closed.
func object(raw []byte) (text []byte, ok bool) {
	text = bytes.TrimSpace(wire.AppendUnquoted(nil, raw))
	if len(text) == 0 {
		return []byte("{}"), true
	}
	if isObject(text) {
		return text, true
	}
	text = repaired(text)
	return text, isObject(text)
}

func isObject(text []byte) bool {
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
