package hub

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Syntax scans the pieces of a text that should be one JSON object (RFC 8259), to find out up to which byte the text is
// valid.
type Syntax struct {
	open      []byte // the closing brackets that are missing
	state     syntaxState
	key       bool   // the current string is a key
	digits    int    // hexadecimal digits missing in the current escape
	literal   string // the missing part of true, false or null
	hasMember bool   // the object has a member, or the beginning of one
	broken    bool
}

type syntaxState uint8

// The scanner's states, named after the position in the text. Those within a number are adjacent, see step.
const (
	syntaxBefore syntaxState = iota // before the object
	syntaxKeyOrEnd
	syntaxKey
	syntaxColon
	syntaxValueOrEnd
	syntaxValue
	syntaxComma // or the end of the object or array
	syntaxString
	syntaxEscape
	syntaxHex
	syntaxLiteral
	syntaxMinus // the parts of a number
	syntaxZero
	syntaxInteger
	syntaxPoint
	syntaxFraction
	syntaxExponent
	syntaxSign
	syntaxPower
	syntaxEnd // after the object
)

// Begun reports whether the object has begun.
func (s *Syntax) Begun() bool { return s.state != syntaxBefore }

// Ended reports whether the object has ended, followed by nothing but white space.
func (s *Syntax) Ended() bool { return s.state == syntaxEnd && !s.broken }

// Broken reports whether the text can no longer become an object.
func (s *Syntax) Broken() bool { return s.broken }

// Pass scans the next piece of the text. It returns how many bytes of the piece are valid and come before the bracket
// that ends the object. After a piece in which the object ends or becomes invalid, the results of further calls have no
// meaning.
func (s *Syntax) Pass(piece []byte) (validLen int) {
	validLen = len(piece)
	for i, c := range piece {
		switch {
		case s.broken:
			return 0
		case s.state == syntaxString && c != '"' && c != '\\' && c >= ' ': // an ordinary character of a string
			continue
		}
		hadEnded := s.state == syntaxEnd
		if !s.step(c) {
			s.broken = true
			return min(validLen, i) // the object may have ended before i
		}
		if !hadEnded && s.state == syntaxEnd {
			validLen = i
		}
	}
	return validLen
}

// step processes one byte. It returns false if the byte is not allowed at this position.
func (s *Syntax) step(c byte) bool {
	switch s.state {
	case syntaxString:
		return s.inString(c)
	case syntaxEscape:
		switch {
		case c == 'u':
			s.state, s.digits = syntaxHex, 4
		case strings.IndexByte(`"\/bfnrt`, c) >= 0:
			s.state = syntaxString
		default:
			return false
		}
		return true
	case syntaxHex:
		if strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
			return false
		}
		if s.digits--; s.digits == 0 {
			s.state = syntaxString
		}
		return true
	case syntaxLiteral:
		if c != s.literal[0] {
			return false
		}
		if s.literal = s.literal[1:]; s.literal == "" {
			s.state = syntaxComma
		}
		return true
	default:
	}
	if next, ok := s.state.number(c); ok {
		s.state = next
		return true
	}
	if s.state.completeNumber() { // only the byte after a number shows where it ends
		s.state = syntaxComma
	}
	switch c {
	case ' ', '\t', '\r', '\n':
		return s.state < syntaxMinus || s.state == syntaxEnd // not within a number
	}
	return s.betweenTokens(c)
}

// inString processes a byte within a string if the byte is not an ordinary character: a backslash, a quote or a
// control character.
func (s *Syntax) inString(c byte) bool {
	switch {
	case c == '\\':
		s.state = syntaxEscape
	case c == '"' && s.key:
		s.state, s.key = syntaxColon, false
	case c == '"':
		s.state = syntaxComma
	default:
		return false // a control character
	}
	return true
}

// betweenTokens processes a byte between strings, numbers and literals, or the first byte of such a token.
func (s *Syntax) betweenTokens(c byte) bool {
	switch s.state {
	case syntaxBefore:
		return c == '{' && s.enter('}', syntaxKeyOrEnd)
	case syntaxKeyOrEnd, syntaxKey:
		if c == '}' && s.state == syntaxKeyOrEnd {
			return s.leave(c)
		}
		if c != '"' {
			return false
		}
		s.state, s.key, s.hasMember = syntaxString, true, true
		return true
	case syntaxColon:
		if c != ':' {
			return false
		}
		s.state = syntaxValue
		return true
	case syntaxValueOrEnd:
		if c == ']' {
			return s.leave(c)
		}
		return s.value(c)
	case syntaxValue:
		return s.value(c)
	case syntaxComma:
		if c != ',' { // only the closing bracket is allowed
			return s.leave(c)
		}
		s.state = syntaxValue
		if s.open[len(s.open)-1] == '}' { // in an object a key follows
			s.state = syntaxKey
		}
		return true
	default:
		return false
	}
}

// value processes the first byte of a value.
func (s *Syntax) value(c byte) bool {
	switch {
	case c == '{':
		return s.enter('}', syntaxKeyOrEnd)
	case c == '[':
		return s.enter(']', syntaxValueOrEnd)
	case c == '"':
		s.state = syntaxString
	case c == '-':
		s.state = syntaxMinus
	case c == '0':
		s.state = syntaxZero
	case '1' <= c && c <= '9':
		s.state = syntaxInteger
	case c == 't': // the literal's first letter has been scanned now
		s.state, s.literal = syntaxLiteral, "true"[1:]
	case c == 'f':
		s.state, s.literal = syntaxLiteral, "false"[1:]
	case c == 'n':
		s.state, s.literal = syntaxLiteral, "null"[1:]
	default:
		return false
	}
	return true
}

// enter opens an object or array. nextState is the state in which scanning continues, and closing is the bracket that
// closes the object or array. enter returns false if the nesting is too deep.
func (s *Syntax) enter(closing byte, nextState syntaxState) bool {
	if len(s.open) == jsontext.MaxDepth {
		return false
	}
	s.open = append(s.open, closing)
	s.state = nextState
	return true
}

// leave closes the innermost object or array. closing is the bracket that was read. It returns false if another bracket
// should have closed the object or array.
func (s *Syntax) leave(closing byte) bool {
	n := len(s.open) - 1
	if s.open[n] != closing {
		return false
	}
	s.open = s.open[:n]
	s.state = syntaxComma
	if n == 0 {
		s.state = syntaxEnd
	}
	return true
}

// number returns the state after the byte c of a number. ok is false if c does not continue the number.
func (s syntaxState) number(c byte) (next syntaxState, ok bool) {
	digit := '0' <= c && c <= '9'
	switch s {
	case syntaxMinus:
		if c == '0' {
			return syntaxZero, true
		}
		return syntaxInteger, digit
	case syntaxZero, syntaxInteger:
		switch c {
		case '.':
			return syntaxPoint, true
		case 'e', 'E':
			return syntaxExponent, true
		}
		return syntaxInteger, digit && s == syntaxInteger // no digit follows a leading zero
	case syntaxPoint:
		return syntaxFraction, digit
	case syntaxFraction:
		if c == 'e' || c == 'E' {
			return syntaxExponent, true
		}
		return syntaxFraction, digit
	case syntaxExponent:
		if c == '+' || c == '-' {
			return syntaxSign, true
		}
		return syntaxPower, digit
	case syntaxSign, syntaxPower:
		return syntaxPower, digit
	default:
		return s, false
	}
}

// completeNumber reports whether a number may end in this state.
func (s syntaxState) completeNumber() bool {
	return s == syntaxZero || s == syntaxInteger || s == syntaxFraction || s == syntaxPower
}

// Close appends the closing quote and brackets that make the text so far an object. ok is false if closing is not
// enough.
func (s *Syntax) Close(dst []byte) (_ []byte, ok bool) {
	switch {
	case s.broken, len(s.open) == 0:
		return dst, false
	case s.state == syntaxString && !s.key:
		dst = append(dst, '"')
	case s.state != syntaxComma && s.state != syntaxKeyOrEnd && s.state != syntaxValueOrEnd && !s.state.completeNumber():
		return dst, false
	}
	return s.appendClosing(dst, 0), true
}

// appendClosing appends the closing brackets of the open objects and arrays, except the n outermost.
func (s *Syntax) appendClosing(dst []byte, n int) []byte {
	for _, bracket := range slices.Backward(s.open[min(n, len(s.open)):]) {
		dst = append(dst, bracket)
	}
	return dst
}

// Extend appends text to dst, the valid part of an unfinished JSON object, so that one more field and the closing brace
// can follow. An unfinished token is completed with an arbitrary value, and strings, arrays and objects that are open
// within the object are closed.
func (s *Syntax) Extend(dst []byte) []byte {
	comma := s.hasMember
	state := s.state
	switch state { // an unfinished escape is completed first, so that the string can be closed
	case syntaxEscape:
		dst, state = append(dst, '\\'), syntaxString
	case syntaxHex:
		dst, state = append(dst, "0000"[:s.digits]...), syntaxString
	default:
	}
	switch state {
	case syntaxBefore:
		return append(dst, '{')
	case syntaxString:
		if dst = append(dst, '"'); s.key {
			dst = append(dst, ":null"...)
		}
	case syntaxColon:
		dst = append(dst, ":null"...)
	case syntaxValue:
		dst = append(dst, "null"...)
	case syntaxKey:
		if len(s.open) > 1 {
			dst = append(dst, `"":null`...)
		} else { // the comma of the outermost object is there already
			comma = false
		}
	case syntaxLiteral:
		dst = append(dst, s.literal...)
	case syntaxMinus, syntaxPoint, syntaxExponent, syntaxSign:
		dst = append(dst, '0')
	default: // a value has ended, or an object or array has begun
	}
	dst = s.appendClosing(dst, 1)
	if comma {
		dst = append(dst, ',')
	}
	return dst
}
