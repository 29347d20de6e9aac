package responses

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// inputDecoder extracts the text from {"input": "…"}, the arguments of a custom tool, as they arrive. Its output is the
// inside of a JSON string, so valid escapes in the text stay as the model wrote them.
type inputDecoder struct {
	phase inputPhase
	// held is JSON text that was not decoded yet: what comes before the text, an incomplete escape, or everything if
	// the arguments do not have the expected form.
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

// decode takes a piece of the arguments (the inside of a JSON string) and appends the corresponding part of the text to
// dst.
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
		return d.within(dst, d.scratch)
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
		return d.within(dst, d.scratch)
	case !more || len(d.held) > maxInputStart:
		d.phase = inputOther
	}
	return dst
}

// maxInputStart bounds the text that is examined again with every piece.
const maxInputStart = 256

// inputStart returns the length of {"input":" with any white space in it. more reports that the text may still become
// that.
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

// within appends a piece of the inside of the string to dst. An incomplete escape is kept for the next piece.
func (d *inputDecoder) within(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"':
			d.phase = inputBehind
			return dst
		case c == '\\':
			size, whole := escapeSize(text[i:])
			if !whole {
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
// escape. A size of 1 means that it is not an escape and the backslash stands for itself. whole is false if the end has
// not arrived yet.
func escapeSize(text []byte) (size int, whole bool) {
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

// hexRun returns how many of the first four bytes are hexadecimal digits.
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

// appendEscape appends an escape. Half of a surrogate pair becomes U+FFFD, and the backslash of an invalid escape is
// kept.
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

// finish appends what is left when the arguments are complete. If they do not have the expected form that is the member
// "input", else all of the text.
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

// complete reports whether the arguments that have arrived contain the whole input: a closed text in "input", an object
// of another form, or bare text.
func (d *inputDecoder) complete() bool {
	switch d.phase {
	case inputBehind:
		return true
	case inputWithin:
		return false
	case inputBefore, inputOther:
	}
	// A model that writes the bare text is understood.
	return hub.IsObject(d.held) || !bytes.HasPrefix(bytes.TrimSpace(d.held), []byte("{"))
}

// mend closes what input that was cut off left open, and reports whether it is complete then (specification 5).
func (d *inputDecoder) mend() bool {
	if d.phase == inputWithin {
		return true
	}
	object, ok := hub.Object(jsontext.AppendEscaped(nil, d.held))
	if ok {
		d.held = object
	}
	return ok
}
