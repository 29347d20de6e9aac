// Package selector reads the selectors by which pages are found, and makes SQL with
// parameters of them. It knows no database: what fields and templates there are, and
// which pages may be seen, it is told.
//
// A selector is a list of terms between commas, each of which a page has to meet:
//
//	template=post, title|body~=gateway caddy, created>=2026-01-01, sort=-created, limit=10
//
// A term is a field, or several of which one is enough (a|b), an operator, and a value,
// or several of which one is enough (x|y). A value with a comma, a quote or a bar in it
// is quoted, with " or '; the quote itself is written twice in it.
//
// Operators: = != < <= > >= compare; ^= $= %= are begins, ends, contains; ~= has all
// words, *= has them in this order, next to each other. Texts are compared without
// regard to case, at most 200 characters deep where they are ordered. A page that has no
// value of a field is != any, and = the empty one. Of several values of a field one has
// to meet the term, with != none may be equal.
//
// Beside fields there are id, name, path, parent and has_parent (an id or a path),
// template, status, created, modified and published; limit (1 to 500, default 25), start
// (to 10,000), after (the cursor of the page before), include (hidden, unpublished or
// all), and sort, which may be there several times and be of any field: -created is the
// newest first. Without sort pages are in the order of their ids, those of one parent in
// the order that people gave them.
package selector

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a selector.
const (
	Most      = 4096 // bytes
	TermsMost = 32
	// AlternativesMost bounds the fields of a term times its values, of all terms together.
	AlternativesMost = 600
	SortsMost        = 4

	DefaultLimit = 25
	LimitMost    = 500
	StartMost    = 10_000
)

// Error is what is wrong with a selector.
type Error struct {
	Position int // of the character, from 1
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

// ops begin with those that another one is the begin of.
var ops = []Op{NotEqual, LessEqual, GreaterEqual, Phrase, Words, Contains, Prefix, Suffix, Equal, Less, Greater}

// Term is what a page has to meet: one of the fields with one of the values.
type Term struct {
	Fields []Name
	Op     Op
	Values []Value
}

// Name is a field where it is written.
type Name struct {
	Text     string
	position int
}

// Value is a value where it is written.
type Value struct {
	Text     string
	position int
}

// Selector is one that was read.
type Selector struct{ Terms []Term }

// Parse reads a selector; the empty one is of all pages. The error is an *Error.
func Parse(text string) (*Selector, error) {
	if len(text) > Most {
		return nil, &Error{1, fmt.Sprintf("it is longer than %d bytes", Most)}
	}
	r := reader{text: text}
	if !utf8.ValidString(text) {
		return nil, r.refuse("it is not UTF-8")
	}
	s := new(Selector)
	alternatives := 0
	for r.blank(); r.at < len(text); {
		if len(s.Terms) == TermsMost {
			return nil, r.refuse("it has more than %d terms", TermsMost)
		}
		t, err := r.term()
		if err != nil {
			return nil, err
		}
		if alternatives += len(t.Fields) * len(t.Values); alternatives > AlternativesMost {
			return nil, r.refuse("it has more than %d alternatives", AlternativesMost)
		}
		s.Terms = append(s.Terms, t)
		if r.at == len(text) {
			break
		}
		r.at++ // a comma, where a value ends otherwise
		if r.blank(); r.at == len(text) {
			return nil, r.refuse("a term is missing behind the comma")
		}
	}
	return s, nil
}

// reader is where Parse is in the text.
type reader struct {
	text string
	at   int // byte
}

func (r *reader) position(at int) int { return utf8.RuneCountInString(r.text[:at]) + 1 }

func (r *reader) refuse(format string, args ...any) error {
	return &Error{r.position(r.at), fmt.Sprintf(format, args...)}
}

func (r *reader) blank() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// next reports whether a byte is next, and is behind it then.
func (r *reader) next(b byte) bool {
	if r.at < len(r.text) && r.text[r.at] == b {
		r.at++
		return true
	}
	return false
}

func (r *reader) term() (t Term, err error) {
	for {
		begin := r.at
		for r.at < len(r.text) && nameByte(r.text[r.at]) {
			r.at++
		}
		if r.at == begin {
			return t, r.refuse("a field is expected")
		}
		t.Fields = append(t.Fields, Name{r.text[begin:r.at], r.position(begin)})
		r.blank()
		if !r.next('|') {
			break
		}
		r.blank()
	}
	i := slices.IndexFunc(ops, func(op Op) bool { return strings.HasPrefix(r.text[r.at:], string(op)) })
	if i < 0 {
		return t, r.refuse("an operator is expected, one of = != < <= > >= *= ~= %%= ^= $=")
	}
	t.Op = ops[i]
	r.at += len(t.Op)
	for {
		r.blank()
		value, err := r.value()
		if err != nil {
			return t, err
		}
		t.Values = append(t.Values, value)
		if !r.next('|') {
			return t, nil
		}
	}
}

// value reads one value and the space behind it.
func (r *reader) value() (Value, error) {
	begin := r.at
	v := Value{position: r.position(begin)}
	if r.at < len(r.text) && (r.text[r.at] == '"' || r.text[r.at] == '\'') {
		quote := r.text[r.at]
		var value strings.Builder
		for r.at++; ; r.at++ {
			if r.at == len(r.text) {
				return v, &Error{v.position, "this quote is never closed"}
			}
			if r.text[r.at] == quote {
				if r.at+1 == len(r.text) || r.text[r.at+1] != quote {
					break
				}
				r.at++
			}
			value.WriteByte(r.text[r.at])
		}
		v.Text = value.String()
		r.at++
		if r.blank(); r.at < len(r.text) && r.text[r.at] != ',' && r.text[r.at] != '|' {
			return v, r.refuse("a comma or a bar is expected behind a quoted value")
		}
		return v, nil
	}
	for r.at < len(r.text) && r.text[r.at] != ',' && r.text[r.at] != '|' {
		if r.text[r.at] == '"' || r.text[r.at] == '\'' {
			return v, r.refuse("a value with a quote in it must be quoted")
		}
		r.at++
	}
	v.Text = strings.TrimSpace(r.text[begin:r.at])
	return v, nil
}

func nameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

// Quote writes a value as it can stand in a selector.
func Quote(value string) string {
	if value != "" && value == strings.TrimSpace(value) && !strings.ContainsAny(value, `,|"'`) {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}
