package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of a query in either language.
const (
	MaxBytes  = 1 << 20
	MaxDepth  = 64
	maxValues = 20_000 // below the 32,766 parameters that SQLite takes
)

// Limits are the limits of a JSON text: the depth of nesting, and the number of values.
type Limits struct{ Depth, Values int }

// QueryLimits are the limits of a query.
var QueryLimits = Limits{Depth: MaxDepth, Values: maxValues}

// JSONError is a syntax error with its position.
type JSONError struct {
	offset int
	reason string
}

// Error implements error.
func (e *JSONError) Error() string { return e.reason }

// Describe returns the error as text for the client: the position, the input with a caret, and the reason.
func (e *JSONError) Describe(input string) string {
	prefix := input[:min(e.offset, len(input))]
	line := strings.Count(prefix, "\n") + 1
	column := utf8.RuneCountInString(prefix[strings.LastIndexByte(prefix, '\n')+1:]) + 1
	excerpt := Clip(input)
	return fmt.Sprintf("Json parse error at line %d, column %d:\n\n%s\n%s^\n\n%s",
		line, column, excerpt, strings.Repeat(" ", min(max(0, column-2), quotedMax)), e.reason)
}

// parser parses one JSON text. Its methods return errors of the type *JSONError.
type parser struct {
	in     string
	pos    int
	limits Limits // Values is the number of values that may follow
}

// JSON parses a text that consists of one JSON value. It returns nil for a blank text. The error is a *JSONError.
func JSON(input string, limits Limits) (*Value, error) {
	p := &parser{in: input, limits: limits}
	if p.skipSpace(); p.pos == len(input) {
		return nil, nil // blank: no value, and no fault either
	}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.skipSpace(); p.pos < len(input) {
		return nil, p.unexpected("the end of the input")
	}
	return v, nil
}

// skipSpace skips white space.
func (p *parser) skipSpace() {
	for p.pos < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.pos]) >= 0 {
		p.pos++
	}
}

// fail returns an error with the given offset in the text.
func (p *parser) fail(offset int, format string, args ...any) error {
	return &JSONError{offset: offset, reason: fmt.Sprintf(format, args...)}
}

// unexpected returns the error for the next character. expectation says what is expected instead.
func (p *parser) unexpected(expectation string) error {
	r, size := utf8.DecodeRuneInString(p.in[p.pos:])
	return p.fail(p.pos+size, "Unexpected character ('%c' (code %d)): was expecting %s", r, r, expectation)
}

// unclosed returns the error for a list or an object that begins at start and is not closed. container is the word for
// it in the error.
func (p *parser) unclosed(container string, start int) error {
	prefix := p.in[:start]
	return p.fail(len(p.in), "Unexpected end-of-input: expected close marker for %s (start marker at [Source: (StringReader); line: %d, column: %d])",
		container, strings.Count(prefix, "\n")+1, utf8.RuneCountInString(prefix[strings.LastIndexByte(prefix, '\n')+1:])+1)
}

// value reads a value. depth is the number of lists and objects around it.
func (p *parser) value(depth int) (*Value, error) {
	if p.limits.Values--; p.limits.Values < 0 {
		return nil, p.fail(p.pos, "the text holds too many values")
	}
	p.skipSpace()
	if p.pos == len(p.in) {
		return nil, p.fail(p.pos, "Unexpected end-of-input within/between the entries of a value")
	}
	switch c := p.in[p.pos]; {
	case c == '[' || c == '{':
		if depth >= p.limits.Depth {
			return nil, p.fail(p.pos, "lists are nested more than %d deep", p.limits.Depth)
		}
		if c == '[' {
			return p.list(depth)
		}
		return p.object(depth)
	case c == '"':
		s, err := p.string()
		if err != nil {
			return nil, err
		}
		return TextValue(s), nil
	case c == '-' || isDigit(c):
		return p.number()
	}
	end := p.pos
	for end < len(p.in) && isWord(p.in[end]) {
		end++
	}
	word := p.in[p.pos:end]
	if word == "" {
		return nil, p.unexpected("a valid value (JSON String, Number, Array, Object or token 'null', 'true' or 'false')")
	}
	p.pos = end
	switch word {
	case "null":
		return &Value{}, nil
	case "true", "false":
		return boolValue(word == "true"), nil
	}
	return nil, p.fail(end+1, "Unrecognized token '%s': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')", Clip(word))
}

// isWord reports whether c can be part of a word such as true, or of an invalid word.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' ||
		c >= utf8.RuneSelf
}

// list reads an array, beginning with its opening bracket.
func (p *parser) list(depth int) (*Value, error) {
	start := p.pos
	p.pos++
	v := ListValue()
	for {
		if p.skipSpace(); p.pos == len(p.in) {
			return nil, p.unclosed("Array", start)
		}
		if p.in[p.pos] == ']' && len(v.Items) == 0 {
			p.pos++
			return v, nil
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.Items = append(v.Items, item)
		if done, err := p.separator("Array", ']', start); done || err != nil {
			return v, err
		}
	}
}

// object reads an object, beginning with its opening brace. Members keep their order, and keys may occur more than
// once.
func (p *parser) object(depth int) (*Value, error) {
	start := p.pos
	p.pos++
	v := &Value{Kind: Object}
	for {
		if p.skipSpace(); p.pos == len(p.in) {
			return nil, p.unclosed("Object", start)
		}
		if p.in[p.pos] == '}' && len(v.Members) == 0 { // an empty object; separator reads the brace after a member
			p.pos++
			return v, nil
		}
		if p.in[p.pos] != '"' {
			return nil, p.unexpected("double-quote to start field name")
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.skipSpace(); p.pos == len(p.in) {
			return nil, p.unclosed("Object", start)
		}
		if p.in[p.pos] != ':' {
			return nil, p.unexpected("a colon to separate field name and value")
		}
		p.pos++
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.Members = append(v.Members, Member{key, item})
		if done, err := p.separator("Object", '}', start); done || err != nil {
			return v, err
		}
	}
}

// separator reads the comma or the closing bracket after an entry of a list or an object. container is the word for
// the list or object in errors, and start is the offset at which it begins. done reports whether the closing bracket
// was read.
func (p *parser) separator(container string, closing byte, start int) (done bool, err error) {
	if p.skipSpace(); p.pos == len(p.in) {
		return false, p.unclosed(container, start)
	}
	c := p.in[p.pos]
	if c != ',' && c != closing {
		return false, p.unexpected("comma to separate " + container + " entries")
	}
	p.pos++
	return c == closing, nil
}

// skipDigits skips digits and returns their number.
func (p *parser) skipDigits() int {
	start := p.pos
	for p.pos < len(p.in) && isDigit(p.in[p.pos]) {
		p.pos++
	}
	return p.pos - start
}

// number reads a number and keeps its notation.
func (p *parser) number() (*Value, error) {
	start := p.pos
	if p.in[p.pos] == '-' {
		p.pos++
	}
	firstDigit := p.pos
	digits := p.skipDigits()
	if digits == 0 || digits > 1 && p.in[firstDigit] == '0' { // no digit, or a leading zero
		return nil, p.fail(firstDigit+1, "Invalid numeric value")
	}
	if p.pos < len(p.in) && p.in[p.pos] == '.' {
		p.pos++
		if p.skipDigits() == 0 {
			return nil, p.fail(p.pos+1, "Decimal point not followed by a digit")
		}
	}
	if p.pos < len(p.in) && (p.in[p.pos] == 'e' || p.in[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.in) && (p.in[p.pos] == '+' || p.in[p.pos] == '-') {
			p.pos++
		}
		if p.skipDigits() == 0 {
			return nil, p.fail(p.pos+1, "Exponent indicator not followed by a digit")
		}
	}
	if p.pos < len(p.in) && isWord(p.in[p.pos]) {
		return nil, p.unexpected("the end of a number")
	}
	return numberValue(p.in[start:p.pos]), nil
}

// string reads a string, beginning with its opening quote.
func (p *parser) string() (string, error) {
	p.pos++
	var b strings.Builder
	for p.pos < len(p.in) {
		switch c := p.in[p.pos]; {
		case c == '"':
			p.pos++
			return b.String(), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		case c < 0x20:
			return "", p.fail(p.pos+1, "Illegal unquoted character ((CTRL-CHAR, code %d)): has to be escaped using backslash to be included in string value", c)
		default:
			// Invalid UTF-8 becomes U+FFFD.
			r, size := utf8.DecodeRuneInString(p.in[p.pos:])
			b.WriteRune(r)
			p.pos += size
		}
	}
	return "", p.fail(len(p.in), "Unexpected end-of-input: was expecting closing quote for a string value")
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads an escape sequence, beginning with its backslash. An unpaired surrogate becomes U+FFFD.
func (p *parser) escape() (rune, error) {
	p.pos++
	if p.pos == len(p.in) {
		return 0, p.fail(p.pos, "Unexpected end-of-input in character escape sequence")
	}
	c := p.in[p.pos]
	p.pos++
	if r, ok := escapes[c]; ok {
		return r, nil
	}
	if c != 'u' {
		p.pos-- // the error is about this character
		return 0, p.unexpected("a character that can be escaped")
	}
	r, ok := hex4(p.in[p.pos:])
	if !ok {
		return 0, p.fail(p.pos+1, "Unexpected character in an escape sequence: expected four hex digits")
	}
	p.pos += 4
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if strings.HasPrefix(p.in[p.pos:], `\u`) {
		if low, ok := hex4(p.in[p.pos+2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				p.pos += 6 // \u and four digits
				return pair, nil
			}
		}
	}
	return utf8.RuneError, nil
}

// hex4 parses the four hexadecimal digits with which s begins.
func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}
