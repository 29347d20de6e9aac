// Package selector parses selectors, by which pages are found, and compiles them to parameterized SQL. It does not use
// a database: the caller passes the existing fields and templates, and the rights of the user.
//
// A selector is a comma-separated list of terms. A page must meet all of them:
//
//	template=post, title|body~=gateway caddy, created>=2026-01-01, sort=-created, limit=10
//
// A term consists of a field, an operator and a value. Several fields (a|b) or values (x|y) are alternatives. A value
// that contains a comma, a quote or a bar must be enclosed in " or '. Within the value, this quote is doubled.
//
// The operators = != < <= > >= compare; ^= means begins with, $= ends with, %= contains, ~= contains all words, and *=
// contains the words in this order, next to each other. Texts are compared without regard to case; order comparisons
// use the first 200 characters. A page without a value of a field meets != for any value, and = for the empty value. If
// a field has several values, one of them must meet the term; for !=, none may be equal.
//
// In addition to fields there are id, name, path, parent and has_parent (an ID or a path), template, status, created,
// modified and published. The list is defined by limit (1 to 500, default 25), start (up to 10,000), after (the cursor
// of the previous part), include (hidden, unpublished or all) and sort. sort can occur several times and names a field
// or one of these words; -created means the newest first. Without sort, pages are in the order of their IDs, and the
// children of one parent in the order that editors have set.
package selector

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a selector.
const (
	MaxLength = 4096 // length of the selector, in bytes
	MaxTerms  = 32
	// MaxAlternatives limits the sum, over all terms, of the number of fields times the number of values.
	MaxAlternatives = 600
	MaxSorts        = 4 // number of values of "sort"

	DefaultLimit = 25
	MaxLimit     = 500
	MaxStart     = 10_000
)

// Error is an error in a selector, with its position.
type Error struct {
	Position int // of the character, counted from 1
	Message  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("selector, character %d: %s", e.Position, e.Message)
}

// Op is an operator.
type Op string

// The operators.
const (
	Equal        Op = "="
	NotEqual     Op = "!="
	Less         Op = "<"
	LessEqual    Op = "<="
	Greater      Op = ">"
	GreaterEqual Op = ">="
	Phrase       Op = "*="
	Words        Op = "~="
	Contains     Op = "%="
	Prefix       Op = "^="
	Suffix       Op = "$="
)

// ops lists the operators. An operator comes before any operator that is a prefix of it.
var ops = []Op{NotEqual, LessEqual, GreaterEqual, Phrase, Words, Contains, Prefix, Suffix, Equal, Less, Greater}

// Term is a condition: one of the fields must match one of the values.
type Term struct {
	Fields []Name
	Op     Op
	Values []Value
}

// Name is a field name and its position.
type Name struct {
	Text     string
	position int
}

// Value is a value and its position.
type Value struct {
	Text     string
	position int
}

// Selector is a parsed selector.
type Selector struct{ Terms []Term }

// Parse parses a selector. The empty selector matches all pages. The error is an *Error.
func Parse(text string) (*Selector, error) {
	if len(text) > MaxLength {
		return nil, &Error{1, fmt.Sprintf("it is longer than %d bytes", MaxLength)}
	}
	r := reader{text: text}
	if !utf8.ValidString(text) {
		return nil, r.errorf("it is not UTF-8")
	}
	s := new(Selector)
	alternatives := 0
	for r.skipSpace(); r.offset < len(text); {
		if len(s.Terms) == MaxTerms {
			return nil, r.errorf("it has more than %d terms", MaxTerms)
		}
		t, err := r.term()
		if err != nil {
			return nil, err
		}
		if alternatives += len(t.Fields) * len(t.Values); alternatives > MaxAlternatives {
			return nil, r.errorf("it has more than %d alternatives", MaxAlternatives)
		}
		s.Terms = append(s.Terms, t)
		if r.offset == len(text) {
			break
		}
		r.offset++ // the next byte is a comma, because nothing else ends a value
		if r.skipSpace(); r.offset == len(text) {
			return nil, r.errorf("a term is missing behind the comma")
		}
	}
	return s, nil
}

// reader is the state of Parse.
type reader struct {
	text   string
	offset int // byte offset
}

// position returns the position of the character at a byte offset, counted from 1.
func (r *reader) position(offset int) int { return utf8.RuneCountInString(r.text[:offset]) + 1 }

// errorf returns an *Error at the current position.
func (r *reader) errorf(format string, args ...any) error {
	return &Error{r.position(r.offset), fmt.Sprintf(format, args...)}
}

// skipSpace skips white space.
func (r *reader) skipSpace() {
	for r.offset < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.offset]) >= 0 {
		r.offset++
	}
}

// accept skips the next byte if it is b, and reports whether it was.
func (r *reader) accept(b byte) bool {
	if r.offset < len(r.text) && r.text[r.offset] == b {
		r.offset++
		return true
	}
	return false
}

// term reads a term: one or more fields, an operator, and one or more values, with | between alternatives.
func (r *reader) term() (t Term, err error) {
	for {
		start := r.offset
		for r.offset < len(r.text) && isNameByte(r.text[r.offset]) {
			r.offset++
		}
		if r.offset == start {
			return t, r.errorf("a field is expected")
		}
		t.Fields = append(t.Fields, Name{r.text[start:r.offset], r.position(start)})
		r.skipSpace()
		if !r.accept('|') {
			break
		}
		r.skipSpace()
	}
	// The first match is the longest; see ops.
	i := slices.IndexFunc(ops, func(op Op) bool { return strings.HasPrefix(r.text[r.offset:], string(op)) })
	if i < 0 {
		return t, r.errorf("an operator is expected, one of = != < <= > >= *= ~= %%= ^= $=")
	}
	t.Op = ops[i]
	r.offset += len(t.Op)
	for {
		r.skipSpace()
		value, err := r.value()
		if err != nil {
			return t, err
		}
		t.Values = append(t.Values, value)
		if !r.accept('|') {
			return t, nil
		}
	}
}

// value parses a value and skips the white space after it.
func (r *reader) value() (Value, error) {
	if r.offset < len(r.text) && (r.text[r.offset] == '"' || r.text[r.offset] == '\'') {
		return r.quotedValue()
	}
	start := r.offset
	v := Value{position: r.position(start)}
	for r.offset < len(r.text) && !r.atEnd() {
		if r.text[r.offset] == '"' || r.text[r.offset] == '\'' {
			return v, r.errorf("a value with a quote in it must be quoted")
		}
		r.offset++
	}
	v.Text = strings.TrimSpace(r.text[start:r.offset])
	return v, nil
}

// atEnd reports whether the next byte ends a value: the comma behind a term, or the bar before another value.
func (r *reader) atEnd() bool { return r.text[r.offset] == ',' || r.text[r.offset] == '|' }

// quotedValue parses a value in quotes and skips the white space after it. Within the value, two quotes stand for one.
func (r *reader) quotedValue() (Value, error) {
	v := Value{position: r.position(r.offset)}
	quote := r.text[r.offset]
	var value strings.Builder
	for r.offset++; ; r.offset++ {
		if r.offset == len(r.text) {
			return v, &Error{v.position, "this quote is never closed"}
		}
		if r.text[r.offset] == quote {
			r.offset++
			if r.offset == len(r.text) || r.text[r.offset] != quote {
				break
			}
		}
		value.WriteByte(r.text[r.offset])
	}
	v.Text = value.String()
	if r.skipSpace(); r.offset < len(r.text) && !r.atEnd() {
		return v, r.errorf("a comma or a bar is expected behind a quoted value")
	}
	return v, nil
}

// isNameByte reports whether the name of a field can contain b.
func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

// Quote returns a value quoted for use in a selector, if necessary.
func Quote(value string) string {
	if value != "" && value == strings.TrimSpace(value) && !strings.ContainsAny(value, `,|"'`) {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}
