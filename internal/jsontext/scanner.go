// Package jsontext handles JSON as text (RFC 8259). A Scanner validates a text and walks it in one pass. Members and
// Elements walk text that is known to be valid. AppendQuoted writes strings, and Edits change parts of a text while all
// other bytes stay unchanged. The package knows no field of any format.
package jsontext

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// MaxDepth is how deep arrays and objects may nest, unless Limit sets another limit. Deeper input is an error.
const MaxDepth = 128

// Kind is the kind of a JSON value, determined by its first byte.
type Kind byte

// The kinds of JSON values (RFC 8259, section 3).
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the name of the kind for error messages.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// SyntaxError describes where a text stops being JSON.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// Scanner walks a JSON text once and validates the part it has passed (RFC 8259), without copying. The callbacks of
// Object and Array are called for each member or element in order. Each callback must consume the value by one call of
// Skip, Text, Object or Array. Enter, Key and Next walk the same way without callbacks.
//
// Scanner has two advantages. One validating pass that also records offsets is several times cheaper than validating,
// parsing and searching one after the other. And its depth is limited, so that no text can exhaust the stack.
type Scanner struct {
	b     []byte // the text
	i     int    // offset of the next byte
	depth int    // number of objects and arrays around the next byte
	limit int    // maximum depth
	bits  uint64 // all bytes of strings combined by OR: a high bit means non-ASCII
}

// NewScanner returns a scanner at the start of b.
func NewScanner(b []byte) Scanner { return Scanner{b: b, limit: MaxDepth} }

// Limit makes the scanner refuse values that nest deeper than levels.
func (s *Scanner) Limit(levels int) { s.limit = levels }

// From moves the scanner to an offset at which a value begins.
func (s *Scanner) From(offset int) { s.i = offset }

// Offset returns the offset of the next byte to read.
func (s *Scanner) Offset() int { return s.i }

// Start skips white space and returns the offset after it.
func (s *Scanner) Start() int {
	s.space()
	return s.i
}

// Since returns the text from an offset to the current position.
func (s *Scanner) Since(offset int) []byte { return s.b[offset:s.i:s.i] }

// fail returns a SyntaxError for the current position.
func (s *Scanner) fail(reason string) error { return &SyntaxError{Offset: s.i, Reason: reason} }

// space skips white space.
func (s *Scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// Kind skips white space and returns the kind of the next value. It returns Invalid at the end of the text, or if no
// JSON value follows.
func (s *Scanner) Kind() Kind {
	s.space()
	if s.i >= len(s.b) {
		return Invalid
	}
	switch c := s.b[s.i]; {
	case c == '"':
		return String
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	case c == '-' || '0' <= c && c <= '9':
		return Number
	}
	return Invalid
}

// End returns an error if anything but white space is left.
func (s *Scanner) End() error {
	s.space()
	if s.i < len(s.b) {
		return s.fail("unexpected data after the JSON value")
	}
	return nil
}

// Skip passes and validates one value of any kind.
func (s *Scanner) Skip() error {
	switch s.Kind() {
	case String:
		_, _, err := s.string()
		return err
	case Object:
		return s.Object(nil)
	case Array:
		return s.Array(nil)
	case Number:
		return s.number()
	case Bool:
		_, err := s.Bool()
		return err
	case Null:
		return s.literal("null")
	case Invalid:
	}
	if s.i >= len(s.b) {
		return s.fail("unexpected end of JSON")
	}
	return s.fail("unexpected character")
}

// Object reads an object. For each member, it moves to the value and calls the function member, which must consume
// the value. The key is unescaped and valid until the next call. If member is nil, Object skips all members.
func (s *Scanner) Object(member func(key []byte) error) error {
	if empty, err := s.Enter('{'); empty || err != nil {
		return err
	}
	for {
		raw, escaped, err := s.Key()
		if err != nil {
			return err
		}
		if member == nil {
			err = s.Skip()
		} else {
			if escaped {
				raw = AppendUnquoted(nil, raw)
			}
			err = member(raw)
		}
		if err != nil {
			return err
		}
		if done, err := s.Next('}'); done || err != nil {
			return err
		}
	}
}

// Array reads an array. For each element, it moves to the element and calls the function element with the index. The
// function must consume the element. If element is nil, Array skips all elements.
func (s *Scanner) Array(element func(i int) error) error {
	if empty, err := s.Enter('['); empty || err != nil {
		return err
	}
	for n := 0; ; n++ {
		var err error
		if element == nil {
			err = s.Skip()
		} else {
			err = element(n)
		}
		if err != nil {
			return err
		}
		if done, err := s.Next(']'); done || err != nil {
			return err
		}
	}
}

// Text passes a string and returns the text between its quotes, still escaped; see Unquoted. escaped reports whether it
// has escapes. Text returns an error for a value of any other kind.
func (s *Scanner) Text() (raw []byte, escaped bool, err error) {
	s.space()
	return s.string()
}

// Unquoted works like Text but resolves the escapes.
func (s *Scanner) Unquoted() (string, error) {
	raw, escaped, err := s.Text()
	if err != nil {
		return "", err
	}
	if escaped {
		return string(AppendUnquoted(nil, raw)), nil
	}
	return string(raw), nil
}

// Word works like Unquoted but does not allocate unless the string has escapes.
func (s *Scanner) Word() ([]byte, error) {
	raw, escaped, err := s.Text()
	if escaped && err == nil {
		raw = AppendUnquoted(nil, raw)
	}
	return raw, err
}

// Bool passes true or false.
func (s *Scanner) Bool() (value bool, err error) {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == 't' {
		return true, s.literal("true")
	}
	return false, s.literal("false")
}

// Int passes a number and returns it if it is an integer of at most 18 digits. ok is false for fractions, exponents and
// longer numbers.
func (s *Scanner) Int() (n int64, ok bool, err error) {
	s.space()
	start := s.i
	if err := s.number(); err != nil {
		return 0, false, err
	}
	digits := s.b[start:s.i]
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false, nil
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false, nil
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true, nil
}

// Inside passes a value of any kind. For a string it returns the text between the quotes, still escaped, and otherwise
// nil.
func (s *Scanner) Inside() ([]byte, error) {
	if s.Kind() != String {
		return nil, s.Skip()
	}
	raw, _, err := s.string()
	return raw, err
}

// Count passes a value of any kind. If it is an integer above zero, Count stores it in *target.
func (s *Scanner) Count(target *int64) error {
	if s.Kind() != Number {
		return s.Skip()
	}
	n, ok, err := s.Int()
	if ok && n > 0 {
		*target = n
	}
	return err
}

// Enter passes the opening bracket of an object or array. If the object or array is empty, Enter passes the closing
// bracket too and returns empty as true.
func (s *Scanner) Enter(open byte) (empty bool, err error) {
	s.space()
	if s.i >= len(s.b) {
		return false, s.fail("unexpected end of JSON")
	}
	if s.b[s.i] != open {
		return false, s.fail("expected '" + string(open) + "'")
	}
	if s.depth == s.limit {
		return false, s.fail(fmt.Sprintf("nested deeper than %d levels", s.limit))
	}
	s.i++
	s.space()
	if s.i < len(s.b) && s.b[s.i] == open+2 { // ']' is two after '[', and '}' two after '{'
		s.i++
		return true, nil
	}
	s.depth++
	return false, nil
}

// Key passes the key of a member and the colon, and returns the key as Text returns a string.
func (s *Scanner) Key() (raw []byte, escaped bool, err error) {
	s.space()
	if raw, escaped, err = s.string(); err != nil {
		return nil, false, err
	}
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != ':' {
		return nil, false, s.fail("expected ':' after an object key")
	}
	s.i++
	return raw, escaped, nil
}

// Next passes the comma after a member or element, or the closing bracket. done reports whether it was the bracket.
func (s *Scanner) Next(closing byte) (done bool, err error) {
	s.space()
	if s.i >= len(s.b) {
		return false, s.fail("unexpected end of JSON")
	}
	switch s.b[s.i] {
	case ',':
		s.i++
		return false, nil
	case closing:
		s.i++
		s.depth--
		return true, nil
	}
	return false, s.fail("expected ',' or '" + string(closing) + "'")
}

// literal passes the given word.
func (s *Scanner) literal(word string) error {
	if !bytes.HasPrefix(s.b[s.i:], []byte(word)) {
		return s.fail("unexpected character")
	}
	s.i += len(word)
	return nil
}

// number passes a number.
func (s *Scanner) number() error {
	s.pass('-')
	// First the digits before the point, 0 or a number without leading zeros, then those after it.
	if !s.pass('0') && s.digits() == 0 || s.pass('.') && s.digits() == 0 {
		return s.fail("expected a digit")
	}
	if s.pass('e') || s.pass('E') {
		if !s.pass('+') {
			s.pass('-')
		}
		if s.digits() == 0 {
			return s.fail("expected a digit")
		}
	}
	return nil
}

// pass passes the byte c and returns true, unless another byte follows.
func (s *Scanner) pass(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// digits passes digits and returns their number.
func (s *Scanner) digits() (n int) {
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
		n++
	}
	return n
}

// A word of 8 bytes with 1 in each byte, and one with the high bit in each byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, with the high bit, the bytes of w that end a run of plain string bytes: the quote, the backslash and
// control characters. A byte above a marked byte may be marked wrongly (borrow), but the lowest mark is always right. A
// result of 0 therefore means that no byte is special.
func special(w uint64) uint64 { return below(w) &^ w & highs }

// below works like special but may also mark non-ASCII bytes. Flipping the bit with the value 2 swaps the quote with
// the space, so that the quote and the control characters are all below '!'.
func below(w uint64) uint64 {
	return ((w ^ ones*('"'^' ')) - ones*'!') | ((w ^ ones*'\\') - ones)
}

// string works like Text, but does not skip white space.
func (s *Scanner) string() (raw []byte, escaped bool, err error) {
	if s.i >= len(s.b) {
		return nil, false, s.fail("unexpected end of JSON")
	}
	if s.b[s.i] != '"' {
		return nil, false, s.fail("expected a string")
	}
	s.i++
	start := s.i
	for {
		s.plain()
		if s.i >= len(s.b) {
			return nil, false, s.fail("unterminated string")
		}
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1], escaped, nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		case c < 0x20:
			return nil, false, s.fail("control character in a string")
		default:
			s.bits |= uint64(c)
			s.i++
		}
	}
}

// plain passes string bytes that need no further check, a word at a time, and stops at the first other byte. The last
// bytes, fewer than a word, are left to the caller. s.bits collects the bits of all words that were read, for ASCII.
func (s *Scanner) plain() {
	b, n, seen := s.b[s.i:], 0, s.bits
	for len(b) >= n+32 { // long texts by four words at a time
		c := b[n : n+32 : n+32]
		w0, w1 := binary.LittleEndian.Uint64(c), binary.LittleEndian.Uint64(c[8:])
		w2, w3 := binary.LittleEndian.Uint64(c[16:]), binary.LittleEndian.Uint64(c[24:])
		// The condition is that special(w) is not 0 for one of the words. The next loop finds the byte.
		if (below(w0)&^w0|below(w1)&^w1|below(w2)&^w2|below(w3)&^w3)&highs != 0 {
			break
		}
		seen |= w0 | w1 | w2 | w3
		n += 32
	}
	for len(b) >= n+8 {
		w := binary.LittleEndian.Uint64(b[n:])
		seen |= w
		if marks := special(w); marks != 0 {
			n += bits.TrailingZeros64(marks) / 8 // carries can cause false marks, but only above a true one
			break
		}
		n += 8
	}
	s.bits = seen
	s.i += n
}

// ASCII reports whether all strings passed until now were ASCII.
func (s *Scanner) ASCII() bool { return s.bits&highs == 0 }

// escape passes an escape sequence in a string.
func (s *Scanner) escape() error {
	if s.i+1 >= len(s.b) {
		return s.fail("unterminated string")
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return nil
	case 'u':
		if s.i+6 > len(s.b) {
			return s.fail("unterminated string")
		}
		for _, c := range s.b[s.i+2 : s.i+6] {
			if ('0' > c || c > '9') && ('a' > c || c > 'f') && ('A' > c || c > 'F') {
				return s.fail("invalid \\u escape")
			}
		}
		s.i += 6
		return nil
	}
	return s.fail("invalid escape")
}
