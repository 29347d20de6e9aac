package responses

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// inputDecoder extracts the text from {"input": "…"}, the arguments of a custom tool, while the arguments arrive. Its
// output is the inside of a JSON string, so valid escapes stay as the model wrote them.
type inputDecoder struct {
	phase inputPhase
	// undecoded is JSON text that was not decoded yet: the part before the text, an incomplete escape, or everything if
	// the arguments do not have the expected form.
	undecoded []byte
	scratch   []byte
}

// inputPhase is the position of an inputDecoder in the arguments.
type inputPhase uint8

const (
	inputBefore inputPhase = iota // before the text
	inputWithin                   // within the text
	inputAfter                    // after the text's closing quote
	inputOther                    // not the expected form; decoded at the end
)

// decode takes the next piece of the arguments, which is still escaped as in a JSON string. It appends to dst what the
// piece contains of the custom tool's input.
func (d *inputDecoder) decode(dst, piece []byte) []byte {
	switch d.phase {
	case inputAfter:
		return dst
	case inputWithin:
		d.scratch = append(d.scratch[:0], d.undecoded...) // an incomplete escape of the piece before
		d.undecoded = d.undecoded[:0]
		d.scratch = jsontext.AppendUnquoted(d.scratch, piece)
		return d.decodeInside(dst, d.scratch)
	case inputOther:
		d.undecoded = jsontext.AppendUnquoted(d.undecoded, piece)
		return dst
	case inputBefore:
		d.undecoded = jsontext.AppendUnquoted(d.undecoded, piece)
	}
	textStart, undecided := inputStart(d.undecoded)
	switch {
	case textStart > 0:
		d.phase = inputWithin
		d.scratch = append(d.scratch[:0], d.undecoded[textStart:]...)
		d.undecoded = d.undecoded[:0]
		return d.decodeInside(dst, d.scratch)
	case !undecided || len(d.undecoded) > maxInputStart:
		d.phase = inputOther
	}
	return dst
}

// maxInputStart limits the size, in bytes, of the JSON text before the input, which is examined again with every piece.
const maxInputStart = 256

// inputStart returns the length of {"input":" at the beginning of text, including white space before each of its
// tokens. The length is 0 if text does not begin so. undecided is set if text is too short to tell.
func inputStart(text []byte) (n int, undecided bool) {
	for _, token := range [...]string{"{", `"input"`, ":", `"`} {
		for n < len(text) && strings.IndexByte(" \t\r\n", text[n]) >= 0 {
			n++
		}
		remaining := text[n:]
		if len(remaining) < len(token) {
			return 0, bytes.HasPrefix([]byte(token), remaining)
		}
		if !bytes.HasPrefix(remaining, []byte(token)) {
			return 0, false
		}
		n += len(token)
	}
	return n, false
}

// decodeInside appends text, a piece of the input's JSON string, to dst, up to the string's closing quote. What it
// appends is still escaped, as the content of a JSON string. An incomplete escape sequence at the end of text is stored
// in d.undecoded, which the caller puts before the next piece.
func (d *inputDecoder) decodeInside(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"':
			d.phase = inputAfter
			return dst
		case c == '\\':
			size, complete := escapeSize(text[i:])
			if !complete {
				d.undecoded = append(d.undecoded, text[i:]...)
				return dst
			}
			dst = appendEscape(dst, text[i:i+size])
			i += size
		case c < ' ': // models write line ends unescaped
			dst = jsontext.AppendEscaped(dst, text[i:i+1])
			i++
		default:
			start := i
			for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= ' ' {
				i++
			}
			dst = append(dst, text[start:i]...)
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
		return 1, len(text) > 2+digits // complete if a character other than a hexadecimal digit follows
	}
	if !highSurrogate(text) {
		return len(`\uXXXX`), true
	}
	switch second := text[len(`\uXXXX`):]; {
	case len(second) == 0 || len(second) == 1 && second[0] == '\\': // the second half may follow
		return 0, false
	case second[0] != '\\' || second[1] != 'u':
		return len(`\uXXXX`), true
	default:
		if digits := hexRun(second[2:]); digits < 4 {
			return len(`\uXXXX`), len(second) > 2+digits
		}
		return len(`\uXXXX\uXXXX`), true
	}
}

// hexRun returns the number of hexadecimal digits at the beginning of a text, at most four.
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
// have the form {"input": "…"}, finish appends the value of the field "input" in the arguments. If there is no such
// field, it appends all of the arguments.
func (d *inputDecoder) finish(dst []byte) []byte {
	undecoded := d.undecoded
	d.undecoded = nil
	if d.phase == inputWithin || d.phase == inputAfter {
		return dst // an incomplete escape at the end is lost
	}
	if !hub.IsObject(undecoded) {
		return jsontext.AppendEscaped(dst, undecoded)
	}
	object := gjson.ParseBytes(undecoded)
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
	return jsontext.AppendEscaped(dst, undecoded)
}

// complete reports whether the arguments so far contain the whole input. This is the case if the arguments begin with
// the field "input" and its string is closed, even if the object is not closed yet; if the arguments are any other
// complete object; or if they are bare text.
func (d *inputDecoder) complete() bool {
	switch d.phase {
	case inputAfter:
		return true
	case inputWithin:
		return false
	case inputBefore, inputOther: // all arguments are in d.undecoded
	}
	// Bare text, which some models write, is accepted as the input.
	return hub.IsObject(d.undecoded) || !bytes.HasPrefix(bytes.TrimSpace(d.undecoded), []byte("{"))
}

// repair closes open strings and brackets in arguments that were cut off, and reports whether they are complete then.
func (d *inputDecoder) repair() bool {
	if d.phase == inputWithin {
		return true // the text so far becomes the input
	}
	object, ok := hub.Object(jsontext.AppendEscaped(nil, d.undecoded))
	if ok {
		d.undecoded = object
	}
	return ok
}
