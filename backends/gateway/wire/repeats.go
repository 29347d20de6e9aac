package wire

import (
	"bytes"
	"hash/maphash"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

var seed = maphash.MakeSeed()

// Repeats follows the arguments of a tool call, which come in pieces, to know them
// again: some upstreams send them as a whole once more behind the pieces.
type Repeats struct {
	size int
	sum  maphash.Hash
}

// Size is the number of bytes so far.
func (r *Repeats) Size() int { return r.size }

// Rest takes the next piece (the inside of a JSON string) and returns what is new
// in it.
func (r *Repeats) Rest(piece []byte) []byte {
	if r.size == 0 {
		r.sum.SetSeed(seed)
	} else if r.again(piece) {
		piece = piece[r.size:]
	}
	r.size += len(piece)
	_, _ = r.sum.Write(piece) // never fails
	return piece
}

// again reports whether a piece begins with all that came before it.
func (r *Repeats) again(piece []byte) bool {
	return len(piece) >= r.size && maphash.Bytes(seed, piece[:r.size]) == r.sum.Sum64() &&
		!objectMayFollow(jsontext.AppendUnquoted(nil, WholeEscapes(piece[:r.size])))
}

// WholeEscapes cuts an escape off that is not finished from the inside of a JSON string.
func WholeEscapes(text []byte) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		from := i
		if i++; i < len(text) && text[i] == 'u' {
			i += 4
		}
		if i >= len(text) {
			return text[:from]
		}
	}
	return text
}

// objectMayFollow reports whether an object may stand behind the beginning of
// some JSON. Where it may not, what looks like a repetition is one.
func objectMayFollow(text []byte) bool {
	var (
		open       []byte
		last       byte
		quoted     bool
		characters = bytes.TrimLeft(text, " \t\r\n")
	)
	if !bytes.HasPrefix(characters, []byte("{")) {
		return true // no object to begin with
	}
	for i := 0; i < len(characters); i++ {
		b := characters[i]
		switch {
		case quoted && b == '\\':
			i++
			continue
		case b == '"':
			quoted = !quoted
		case quoted, b == ' ', b == '\t', b == '\r', b == '\n':
			continue
		case b == '{', b == '[':
			open = append(open, b)
		case (b == '}' || b == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
		last = b
	}
	switch {
	case quoted:
		return false
	case last == ',':
		return len(open) > 0 && open[len(open)-1] == '['
	}
	return last == ':' || last == '['
}
