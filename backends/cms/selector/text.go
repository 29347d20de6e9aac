package selector

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxKey is the number of characters at the beginning of a text that are indexed and determine its order.
const MaxKey = 200

// Fold returns a text in the form for comparison: in NFKC and lower case, without characters that a database does not
// accept.
func Fold(text string) string {
	return strings.ToLower(norm.NFKC.String(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")))
}

// Key returns the first MaxKey characters of a folded text, which determine its order, and reports whether the text is
// longer.
func Key(folded string) (key string, truncated bool) {
	n := 0
	for i := range folded {
		if n == MaxKey {
			return folded[:i], true
		}
		n++
	}
	return folded, false
}

// maxWord limits the length of a word in bytes; longer words are cut.
const maxWord = 255

// SplitWords returns the words of a folded text: runs of letters, digits and marks.
func SplitWords(folded string) []string {
	words := strings.FieldsFunc(folded, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	for i, word := range words {
		if len(word) > maxWord {
			words[i] = strings.ToValidUTF8(word[:maxWord], "")
		}
	}
	return words
}
