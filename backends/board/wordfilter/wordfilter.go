// Package wordfilter finds the words in a text that administrators have set: those that
// the board replaces, and those that hold a post. Filters are prepared once, and a text
// once for all of them.
package wordfilter

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Filter is a word, whatever its case. It may be a part of another.
type Filter struct {
	Pattern     string
	Replacement string
	Hold        bool // holds a post; else it is replaced
}

// List are filters that are prepared.
type List struct {
	holds    []string // in lower case
	replaces []replacement
}

type replacement struct {
	pattern, by folded
	odd         bool // one of them is not plain text: it is looked for letter by letter
}

// New prepares filters. They replace in this order, each in what those before it left.
func New(filters []Filter) *List {
	l := new(List)
	for _, f := range filters {
		switch {
		case f.Pattern == "":
		case f.Hold:
			l.holds = append(l.holds, strings.ToLower(f.Pattern))
		default:
			l.replaces = append(l.replaces, replacement{
				pattern: fold(f.Pattern), by: fold(f.Replacement),
				odd: strings.ContainsRune(f.Pattern, utf8.RuneError) || !utf8.ValidString(f.Replacement),
			})
		}
	}
	return l
}

// Load reads the filters of a board.
func Load(c store.Conn) (*List, error) {
	filters, err := store.List(c, func(r store.Row) (f Filter, err error) {
		var action string
		err = r.Scan(&f.Pattern, &f.Replacement, &action)
		f.Hold = action == "hold"
		return f, err
	}, "SELECT pattern, replacement, action FROM board_word_filters ORDER BY id")
	return New(filters), err
}

// Holds reports whether a text has a word that holds it.
func (l *List) Holds(text string) bool {
	if len(l.holds) == 0 {
		return false
	}
	lower := strings.ToLower(text)
	var has pieces
	has.add(lower)
	return slices.ContainsFunc(l.holds,
		func(word string) bool { return has.mayHave(word) && strings.Contains(lower, word) })
}

// replacedMost bounds how long, in bytes, replacements may make a text; it is
// too long for everything then.
const replacedMost = 1 << 20

// Replace replaces words.
func (l *List) Replace(text string) string {
	if len(l.replaces) == 0 {
		return text
	}
	plain := utf8.ValidString(text)
	at := fold(text)
	var has pieces
	has.add(at.folded)
	for i := range l.replaces {
		r := &l.replaces[i]
		switch {
		case len(at.text) > replacedMost:
			return at.text
		case r.odd || !plain:
			if text := replaceLetters(at.text, r.pattern.text, r.by.text); text != at.text {
				plain, at = utf8.ValidString(text), fold(text)
				has.add(at.folded)
			}
		case has.mayHave(r.pattern.folded):
			at.replace(r, &has)
		}
	}
	return at.text
}

// replaceLetters tries a word at each byte. It is what [folded.replace] does, for any bytes.
func replaceLetters(text, old, by string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := len(old); i+n <= len(text) && strings.EqualFold(text[i:i+n], old) {
			b.WriteString(by)
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}
