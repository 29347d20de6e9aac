// Package wordfilter finds the words that administrators have chosen in a text: words that the board replaces, and
// words for which it holds a post. The filters are prepared once, and a text is prepared once for all filters.
package wordfilter

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Filter is a word to look for, regardless of case, also as a part of other words.
type Filter struct {
	Pattern     string
	Replacement string
	Hold        bool // the word holds the post; otherwise it is replaced
}

// List is a list of prepared filters.
type List struct {
	holds    []string // words, as returned by caseless
	replaces []replacement
}

// replacement is a prepared filter that replaces a word.
type replacement struct {
	pattern, replacement folded
	bytewise             bool // the filter is not valid UTF-8, so that a match can begin at any byte
}

// New prepares filters. They replace words in this order, each in the result of the previous filters.
func New(filters []Filter) *List {
	l := new(List)
	for _, f := range filters {
		switch {
		case f.Pattern == "":
			// An empty word would match everywhere.
		case f.Hold:
			l.holds = append(l.holds, caseless(f.Pattern))
		default:
			l.replaces = append(l.replaces, replacement{
				pattern: fold(f.Pattern), replacement: fold(f.Replacement),
				bytewise: strings.ContainsRune(f.Pattern, utf8.RuneError) || !utf8.ValidString(f.Replacement),
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

// Holds reports whether a text contains a word for which posts are held.
func (l *List) Holds(text string) bool {
	if len(l.holds) == 0 {
		return false
	}
	text = caseless(text)
	var known pieces
	known.add(text)
	return slices.ContainsFunc(l.holds,
		func(word string) bool { return known.mayHave(word) && strings.Contains(text, word) })
}

// caseless returns a text without differences of case. Both steps are needed: ToLower knows that İ is a capital i, and
// fold knows that σ and ς are the same letter.
func caseless(text string) string { return fold(strings.ToLower(text)).folded }

// maxReplaced is the length of a text, in bytes, at which replacements stop. A text of that length exceeds every limit
// of the board.
const maxReplaced = 1 << 20

// Replace returns the text with filtered words replaced.
func (l *List) Replace(text string) string {
	if len(l.replaces) == 0 {
		return text
	}
	valid := utf8.ValidString(text)
	filtered := fold(text)
	var known pieces
	known.add(filtered.folded)
	for i := range l.replaces {
		r := &l.replaces[i]
		switch {
		case len(filtered.text) > maxReplaced:
			return filtered.text
		case r.bytewise || !valid:
			if replaced := replaceBytewise(filtered.text, r.pattern.text, r.replacement.text); replaced != filtered.text {
				valid, filtered = utf8.ValidString(replaced), fold(replaced)
				known.add(filtered.folded)
			}
		case known.mayHave(r.pattern.folded):
			filtered.replace(r, &known)
		}
	}
	return filtered.text
}

// replaceBytewise replaces all occurrences of a word, regardless of case. It compares the word at each byte. It gives
// the same result as [folded.replace], but for any bytes, even invalid UTF-8.
func replaceBytewise(text, old, replacement string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := len(old); i+n <= len(text) && strings.EqualFold(text[i:i+n], old) {
			b.WriteString(replacement)
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}
