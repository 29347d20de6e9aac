package selector

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// KeyMost is how many characters of a text are ordered and indexed by.
const KeyMost = 200

// Fold is a text as it is compared: composed (NFKC) and in lower case. A character that
// a database does not take is left out.
func Fold(text string) string {
	return strings.ToLower(norm.NFKC.String(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")))
}

// Key is the begin of a folded text by which it is ordered; more tells that it goes on.
func Key(folded string) (key string, more bool) {
	n := 0
	for i := range folded {
		if n == KeyMost {
			return folded[:i], true
		}
		n++
	}
	return folded, false
}

// wordMost is how many bytes a word has at most; what is longer is cut.
const wordMost = 255

// SplitWords are the words of a folded text: runs of letters, digits and marks.
func SplitWords(folded string) []string {
	words := strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	for i, word := range words {
		if len(word) > wordMost {
			words[i] = strings.ToValidUTF8(word[:wordMost], "")
		}
	}
	return words
}
