package wire

import (
	"bytes"
	"hash/maphash"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// seed is the seed of all hashes of arguments, so that they can be compared.
var seed = maphash.MakeSeed()

// Repeats removes repetitions from the arguments of a tool call. Arguments come in pieces, and some upstreams send the
// whole arguments once more after the pieces.
type Repeats struct {
	size int          // number of bytes so far, without repetitions
	sum  maphash.Hash // hash of these bytes
}

// Size returns the number of bytes so far, without repetitions.
func (r *Repeats) Size() int { return r.size }

// Rest takes the next piece of the arguments and returns the part of the piece that is not a repetition. Pieces are
// parts of the text between the quotes of a JSON string, still escaped.
func (r *Repeats) Rest(piece []byte) []byte {
	if r.size == 0 {
		r.sum.SetSeed(seed)
	} else if r.repeats(piece) {
		piece = piece[r.size:]
	}
	r.size += len(piece)
	_, _ = r.sum.Write(piece) // never fails
	return piece
}

// repeats reports whether a piece begins with a repetition of all earlier pieces.
func (r *Repeats) repeats(piece []byte) bool {
	return len(piece) >= r.size && maphash.Bytes(seed, piece[:r.size]) == r.sum.Sum64() &&
		!objectMayFollow(jsontext.AppendUnquoted(nil, WholeEscapes(piece[:r.size])))
}

// WholeEscapes returns text without an unfinished escape sequence at its end. The text is a part of a JSON string,
// still escaped.
func WholeEscapes(text []byte) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		start := i
		if i++; i < len(text) && text[i] == 'u' {
			i += 4
		}
		if i >= len(text) {
			return text[:start]
		}
	}
	return text
}

// objectMayFollow reports whether valid JSON that begins with text may continue with an object. If it may not, an
// object that comes next can only be a repetition.
func objectMayFollow(text []byte) bool {
	var (
		openBrackets []byte // the brackets that are open, outermost first
		lastByte     byte   // the last byte outside of strings that is not white space, or a string's last quote
		inString     bool
		trimmed      = bytes.TrimLeft(text, " \t\r\n")
	)
	if !bytes.HasPrefix(trimmed, []byte("{")) {
		return true // the text does not begin with an object
	}
	for i := 0; i < len(trimmed); i++ {
		b := trimmed[i]
		switch {
		case inString && b == '\\': // the next byte is escaped
			i++
			continue
		case b == '"':
			inString = !inString
		case inString, b == ' ', b == '\t', b == '\r', b == '\n':
			continue
		case b == '{', b == '[':
			openBrackets = append(openBrackets, b)
		case (b == '}' || b == ']') && len(openBrackets) > 0:
			openBrackets = openBrackets[:len(openBrackets)-1]
		}
		lastByte = b
	}
	switch {
	case inString:
		return false
	case lastByte == ',': // the next element of an array may be an object, but in an object a key follows
		return len(openBrackets) > 0 && openBrackets[len(openBrackets)-1] == '['
	}
	return lastByte == ':' || lastByte == '[' // a value follows
}
