package kernel

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words returns the set of the words in a list. White space separates the words, and their spelling is not changed.
func Words(list string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// Capital returns a text with its first letter in upper case.
func Capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
