package runevents

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxDepth limits the nesting of a payload.
const maxDepth = 64

// scanner reads JSON text sequentially, without building a tree. It stores the first error, with its position, in err.
// After an error, all values are empty, and loops over members and elements end. These are the loops:
//
//	var name []byte
//	for s.object(); s.member(&name); {
//		… // read the value
//	}
//	for s.list(); s.element(); {
//		… // read the element
//	}
//
// The text must be valid UTF-8. The scanner replaces U+0000, which no database stores, by U+FFFD.
type scanner struct {
	text       jsontext.Scanner
	justOpened bool // no member or element of the innermost container has been read yet
	empty      bool // the innermost container is empty
	err        error
}

// newScanner returns a scanner for text, which it does not modify.
func newScanner(text []byte) scanner {
	s := scanner{text: jsontext.NewScanner(text)}
	s.text.Limit(maxDepth)
	return s
}

// fail stores an error with the current position, unless there is an error already.
func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format+" at byte "+strconv.Itoa(s.text.Offset()), args...)
	}
}

// record stores err, which may be nil, unless there is an error already. It reports whether there is no error so far.
func (s *scanner) record(err error) bool {
	if s.err == nil {
		s.err = err
	}
	return s.err == nil
}

// nextIs reports whether the next value is of the given kind.
func (s *scanner) nextIs(kind jsontext.Kind) bool { return s.err == nil && s.text.Kind() == kind }

// expect is like nextIs, but stores an error if the next value is of another kind. kindName is the expected kind in the
// error.
func (s *scanner) expect(kind jsontext.Kind, kindName string) bool {
	if !s.nextIs(kind) {
		s.fail("%s is expected", kindName)
	}
	return s.err == nil
}

// object and list read the opening bracket of an object or a list.
func (s *scanner) object() { s.open('{', jsontext.Object, "an object") }
func (s *scanner) list()   { s.open('[', jsontext.Array, "a list") }

// open reads the opening bracket of a value that must be of the given kind.
func (s *scanner) open(bracket byte, kind jsontext.Kind, kindName string) {
	if s.expect(kind, kindName) {
		empty, err := s.text.Enter(bracket)
		s.record(err)
		s.justOpened, s.empty = true, empty
	}
}

// more reports whether the object or list has another member or element, and moves to it. At the end it reads bracket,
// the closing bracket.
func (s *scanner) more(bracket byte) bool {
	if s.err != nil {
		return false
	}
	if s.justOpened {
		s.justOpened = false
		return !s.empty
	}
	done, err := s.text.Next(bracket)
	return s.record(err) && !done
}

// member reads the name of the next member of an object into *name, and reports whether there is another member. The
// name may be a part of the input.
func (s *scanner) member(name *[]byte) bool {
	if !s.more('}') {
		return false
	}
	raw, escaped, err := s.text.Key()
	if !s.record(err) {
		return false
	}
	*name = unescaped(raw, escaped)
	return true
}

// element reports whether a list has another element.
func (s *scanner) element() bool { return s.more(']') }

// null skips the next value if it is null, and reports whether it was.
func (s *scanner) null() bool { return s.nextIs(jsontext.Null) && s.record(s.text.Skip()) }

// boolean reads true or false.
func (s *scanner) boolean() bool {
	if !s.expect(jsontext.Bool, "true or false") {
		return false
	}
	value, err := s.text.Bool()
	return s.record(err) && value
}

// integer reads an integer.
func (s *scanner) integer() int64 {
	if !s.expect(jsontext.Number, "a whole number") {
		return 0
	}
	start := s.text.Offset()
	n, ok, err := s.text.Int()
	if s.record(err) && !ok {
		s.text.From(start)
		s.fail("a whole number is expected")
	}
	return n
}

// string reads a string.
func (s *scanner) string() string { return string(s.bytes()) }

// bytes reads a string. The result may be a part of the input.
func (s *scanner) bytes() []byte {
	if !s.expect(jsontext.String, "a string") {
		return nil
	}
	raw, escaped, err := s.text.Text()
	if !s.record(err) {
		return nil
	}
	return unescaped(raw, escaped)
}

// quoted reads a string and appends it to out as JSON.
func (s *scanner) quoted(out []byte) []byte {
	if !s.expect(jsontext.String, "a string") {
		return out
	}
	raw, escaped, err := s.text.Text()
	switch {
	case !s.record(err):
		return out
	case escaped:
		return jsontext.AppendQuoted(out, unescaped(raw, escaped))
	}
	return append(append(append(out, '"'), raw...), '"')
}

// unescaped returns the text of a JSON string. raw is the content of the string, and escaped reports whether raw
// contains escape sequences.
func unescaped(raw []byte, escaped bool) []byte {
	if !escaped {
		return raw
	}
	text := jsontext.AppendUnquoted(make([]byte, 0, len(raw)), raw)
	if bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
	}
	return text
}

// raw skips a value of any kind and returns its text.
func (s *scanner) raw() []byte {
	if s.err != nil {
		return nil
	}
	start := s.text.Start()
	if !s.record(s.text.Skip()) {
		return nil
	}
	return s.text.Since(start)
}

var errNotUTF8 = errors.New("it is not UTF-8")

// end returns the first error, or an error if the input continues after the value.
func (s *scanner) end() error {
	if s.err == nil {
		s.err = s.text.End()
	}
	return s.err
}
