package runevents

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep a payload nests.
const maxDepth = 64

// scanner reads JSON text from front to back without building a tree. The first
// mistake sticks: what is read after it is empty, loops over members and
// elements end, and err says where it was.
//
// It expects valid UTF-8. U+0000, which no database stores, becomes U+FFFD.
type scanner struct {
	data  []byte
	pos   int
	depth int
	first bool // no member or element of the innermost container was read yet
	err   error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format+" at byte "+strconv.Itoa(s.pos), args...)
	}
}

// peek is the next byte behind white space, or 0.
func (s *scanner) peek() byte {
	if s.err != nil {
		return 0
	}
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// open enters an object or a list.
func (s *scanner) open(bracket byte) {
	if s.peek() != bracket {
		kind := "a list"
		if bracket == '{' {
			kind = "an object"
		}
		s.fail("%s is expected", kind)
		return
	}
	s.pos++
	if s.depth++; s.depth > maxDepth {
		s.fail("it nests deeper than %d levels", maxDepth)
	}
	s.first = true
}

// more reports whether another member or element follows, past the comma, and
// leaves the container where none does.
func (s *scanner) more(bracket byte) bool {
	switch c := s.peek(); {
	case s.err != nil:
		return false
	case c == bracket:
		s.pos++
		s.depth--
		s.first = false
		return false
	case s.first:
		s.first = false
		return true
	case c == ',':
		s.pos++
		if s.peek() == bracket {
			s.fail("a value is missing")
			return false
		}
		return true
	}
	s.fail("a comma or %q is expected", bracket)
	return false
}

// member reads the name of the next member of an object; the bytes are valid
// until the next call.
func (s *scanner) member() (name []byte, ok bool) {
	if !s.more('}') {
		return nil, false
	}
	name = s.bytes()
	if s.peek() != ':' {
		s.fail("a colon is expected")
		return nil, false
	}
	s.pos++
	return name, s.err == nil
}

// element reports whether a list has another element.
func (s *scanner) element() bool { return s.more(']') }

// null reads a null, if the next value is one.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return s.err == nil
}

func (s *scanner) literal(word string) {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		s.fail("a value is expected")
		return
	}
	s.pos += len(word)
}

func (s *scanner) boolean() bool {
	switch s.peek() {
	case 't':
		s.literal("true")
		return s.err == nil
	case 'f':
		s.literal("false")
	default:
		s.fail("true or false is expected")
	}
	return false
}

// integer reads a whole number.
func (s *scanner) integer() int64 {
	s.peek()
	begin := s.pos
	s.number()
	if s.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(s.data[begin:s.pos]), 10, 64)
	if err != nil {
		s.pos = begin
		s.fail("a whole number is expected")
	}
	return n
}

// number passes a number as RFC 8259 writes it.
func (s *scanner) number() {
	begin := s.pos
	digits := func() bool {
		from := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos > from
	}
	at := func(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }
	if at('-') {
		s.pos++
	}
	ok := true
	if at('0') {
		s.pos++
	} else {
		ok = digits()
	}
	if ok && at('.') {
		s.pos++
		ok = digits()
	}
	if ok && (at('e') || at('E')) {
		s.pos++
		if at('+') || at('-') {
			s.pos++
		}
		ok = digits()
	}
	if !ok {
		s.pos = begin
		s.fail("a number is expected")
	}
}

// text reads a string.
func (s *scanner) text() string { return string(s.bytes()) }

// bytes reads a string; what it returns may be part of the input.
func (s *scanner) bytes() []byte {
	if s.peek() != '"' {
		s.fail("a string is expected")
		return nil
	}
	begin := s.pos + 1
	for i := begin; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			return s.data[begin:i:i]
		case c == '\\':
			return s.unescape(begin, i)
		case c < ' ':
			s.pos = i
			s.fail("a control character is not escaped")
			return nil
		}
	}
	s.fail("a string has no end")
	return nil
}

// unescape goes on with the string that begins at begin from its first escape.
func (s *scanner) unescape(begin, i int) []byte {
	out := append(make([]byte, 0, 2*(i-begin)+32), s.data[begin:i]...)
	for i < len(s.data) {
		c := s.data[i]
		switch {
		case c == '"':
			s.pos = i + 1
			return out
		case c < ' ':
			s.pos = i
			s.fail("a control character is not escaped")
			return nil
		case c != '\\':
			out = append(out, c)
			i++
			continue
		}
		if i+1 >= len(s.data) {
			break
		}
		switch e := s.data[i+1]; e {
		case '"', '\\', '/':
			out = append(out, e)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(s.data[i+2:])
			if !ok {
				s.pos = i
				s.fail("an escape is broken")
				return nil
			}
			i += 4
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if rest := s.data[i+2:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
					if low, ok := hex4(rest[2:]); ok {
						pair = utf16.DecodeRune(r, low)
					}
				}
				if r = pair; r != utf8.RuneError {
					i += 6
				}
			}
			if r == 0 {
				r = utf8.RuneError
			}
			out = utf8.AppendRune(out, r)
		default:
			s.pos = i
			s.fail("an escape is unknown")
			return nil
		}
		i += 2
	}
	s.fail("a string has no end")
	return nil
}

func hex4(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range text[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// raw passes a value of any kind and returns its text.
func (s *scanner) raw() []byte {
	s.peek()
	begin := s.pos
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.data[begin:s.pos:s.pos]
}

func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '{':
		for s.open('{'); s.err == nil; s.skip() {
			if _, ok := s.member(); !ok {
				return
			}
		}
	case '[':
		for s.open('['); s.err == nil && s.element(); {
			s.skip()
		}
	case '"':
		s.bytes()
	case 't', 'f':
		s.boolean()
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

var errNotUTF8 = errors.New("it is not UTF-8")

// end checks that nothing follows.
func (s *scanner) end() error {
	if s.err == nil && s.peek() != 0 || s.err == nil && s.pos < len(s.data) {
		s.fail("there is more behind the value")
	}
	return s.err
}
