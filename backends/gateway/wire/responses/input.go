package responses

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// inputDecoder extracts the text from {"input": "…"}, the arguments of a custom tool, while they arrive. Its output is
// the inside of a JSON string, so valid escapes stay as the model wrote them.
type inputDecoder struct {
	phase inputPhase
	// held is JSON text that was not decoded yet: the part before the text, an incomplete escape, or everything if the
	// arguments do not have the expected form.
	held    []byte
	scratch []byte
}

type inputPhase uint8

const (
	inputBefore inputPhase = iota
	inputWithin
	inputBehind
	inputOther // not the expected form; decoded at the end
)

// decode takes the next piece of the arguments, still escaped as in a JSON string. It appends the part of the custom
// tool's input that the piece contains to dst.
func (d *inputDecoder) decode(dst, piece []byte) []byte {
	switch d.phase {
	case inputBehind:
		return dst
	case inputBefore, inputOther:
		d.held = jsontext.AppendUnquoted(d.held, piece)
	case inputWithin:
		d.scratch = append(d.scratch[:0], d.held...)
		d.held = d.held[:0]
		d.scratch = jsontext.AppendUnquoted(d.scratch, piece)
		return d.decodeInside(dst, d.scratch)
	}
	if d.phase == inputOther {
		return dst
	}
	n, more := inputStart(d.held)
	switch {
	case n > 0:
		d.phase = inputWithin
		d.scratch = append(d.scratch[:0], d.held[n:]...)
		d.held = d.held[:0]
		return d.decodeInside(dst, d.scratch)
	case !more || len(d.held) > maxInputStart:
		d.phase = inputOther
	}
	return dst
}

// maxInputStart limits the text that is examined again with every piece.
const maxInputStart = 256

// inputStart returns the length of {"input":" at the beginning of text, including white space. more is set if text is
// too short to decide.
func inputStart(text []byte) (n int, more bool) {
	for _, want := range [...]string{"{", `"input"`, ":", `"`} {
		for n < len(text) && strings.IndexByte(" \t\r\n", text[n]) >= 0 {
			n++
		}
		rest := text[n:]
		if len(rest) < len(want) {
			return 0, bytes.HasPrefix([]byte(want), rest)
		}
		if !bytes.HasPrefix(rest, []byte(want)) {
			return 0, false
		}
		n += len(want)
	}
	return n, false
}

// decodeInside appends a piece of the input's JSON string to dst. An incomplete escape sequence is held until the next
// piece.
func (d *inputDecoder) decodeInside(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"':
			d.phase = inputBehind
			return dst
		case c == '\\':
			size, complete := escapeSize(text[i:])
			if !complete {
				d.held = append(d.held, text[i:]...)
				return dst
			}
			dst = appendEscape(dst, text[i:i+size])
			i += size
		case c < ' ': // models write line ends unescaped
			dst = jsontext.AppendEscaped(dst, text[i:i+1])
			i++
		default:
			from := i
			for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= ' ' {
				i++
			}
			dst = append(dst, text[from:i]...)
		}
	}
	return dst
}

// escapeSize returns the length of the escape at the beginning of a text. Both halves of a surrogate pair count as one
// escape. A size of 1 means that the escape is invalid and the backslash stands for itself. complete is false if the
// end of the escape has not arrived yet.
func escapeSize(text []byte) (size int, complete bool) {
	if len(text) < 2 {
		return 0, false
	}
	if text[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, text[1]) < 0 {
			return 1, true
		}
		return 2, true
	}
	if digits := hexRun(text[2:]); digits < 4 {
		return 1, len(text) > 2+digits
	}
	if !highSurrogate(text) {
		return 6, true
	}
	switch rest := text[6:]; {
	case len(rest) == 0 || len(rest) == 1 && rest[0] == '\\':
		return 0, false
	case rest[0] != '\\' || rest[1] != 'u':
		return 6, true
	default:
		if digits := hexRun(rest[2:]); digits < 4 {
			return 6, len(rest) > 2+digits
		}
		return 12, true
	}
}

// hexRun returns how many of the first four bytes are hexadecimal digits, up to the first that is not.
func hexRun(text []byte) (n int) {
	for n < 4 && n < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[n]) >= 0 {
		n++
	}
	return n
}

// highSurrogate reports whether a \u escape is the first half of a surrogate pair.
func highSurrogate(escape []byte) bool {
	return (escape[2] == 'd' || escape[2] == 'D') && strings.IndexByte("89abAB", escape[3]) >= 0
}

// appendEscape appends an escape to dst. A single half of a surrogate pair becomes U+FFFD. The backslash of an invalid
// escape is kept.
func appendEscape(dst, escape []byte) []byte {
	switch {
	case len(escape) == 1:
		return append(dst, `\\`...)
	case escape[1] == 'u' && (escape[2] == 'd' || escape[2] == 'D'): // possibly a surrogate
		var room [12]byte
		return jsontext.AppendEscaped(dst, jsontext.AppendUnquoted(room[:0], escape))
	default:
		return append(dst, escape...)
	}
}

// finish appends the rest of the custom tool's input to dst when the arguments are complete. If the arguments do not
// have the form {"input": "…"}, it appends the value of their field input or, without such a field, all of the
// arguments.
func (d *inputDecoder) finish(dst []byte) []byte {
	held := d.held
	d.held = nil
	if d.phase == inputWithin || d.phase == inputBehind {
		return dst // an incomplete escape at the end is lost
	}
	if !hub.IsObject(held) {
		return jsontext.AppendEscaped(dst, held)
	}
	object := gjson.ParseBytes(held)
	switch input := object.Get("input"); {
	case input.Type == gjson.String:
		return jsontext.AppendEscaped(dst, input.Str)
	case input.Type != gjson.Null:
		return jsontext.AppendEscaped(dst, input.Raw)
	}
	empty := true
	object.ForEach(func(_, _ gjson.Result) bool {
		empty = false
		return false
	})
	if empty {
		return dst
	}
	return jsontext.AppendEscaped(dst, held)
}

// complete reports whether the arguments so far contain the whole input: a closed string in "input", another complete
// object, or bare text.
func (d *inputDecoder) complete() bool {
	switch d.phase {
	case inputBehind:
		return true
	case inputWithin:
		return false
	case inputBefore, inputOther:
	}
	// Bare text, which some models write, is accepted as the input.
	return hub.IsObject(d.held) || !bytes.HasPrefix(bytes.TrimSpace(d.held), []byte("{"))
}

// repair closes open strings and brackets in arguments that were cut off, and reports whether they are complete then.
func (d *inputDecoder) repair() bool {
	if d.phase == inputWithin {
		return true
	}
	object, ok := hub.Object(jsontext.AppendEscaped(nil, d.held))
	if ok {
		d.held = object
	}
	return ok
}
