package scriptedmodel

import (
	"unicode"
	"unicode/utf8"
)

// maxChunks is the most pieces a text is cut into.
const maxChunks = 100_000

// The splitters return pieces that together are s; none is empty and none
// ends inside a character. The pieces share the memory of s.

// splitWords cuts before every n-th word; white space belongs to the word before it.
func splitWords(s string, n int) []string {
	words := 0
	eachWord(s, func(int) { words++ })
	n = max(n, (words+maxChunks-1)/maxChunks)
	if words == 0 {
		return splitBytes(s, max(len(s), 1))
	}
	pieces := make([]string, 0, (words+n-1)/n)
	seen, start := 0, 0
	eachWord(s, func(i int) {
		if seen > 0 && seen%n == 0 {
			pieces = append(pieces, s[start:i])
			start = i
		}
		seen++
	})
	return append(pieces, s[start:])
}

// eachWord calls f with the index of the first byte of every word.
func eachWord(s string, f func(int)) {
	space := true
	for i, r := range s {
		is := unicode.IsSpace(r)
		if space && !is {
			f(i)
		}
		space = is
	}
}

// splitBytes cuts pieces of at most size bytes, or one character if that is longer.
func splitBytes(s string, size int) []string {
	if len(s) > size*maxChunks {
		size = (len(s)+maxChunks-1)/maxChunks + utf8.UTFMax // room for cuts that come early
	}
	var pieces []string
	for len(s) > 0 {
		end := charBoundary(s, size)
		if end == 0 {
			_, end = utf8.DecodeRuneInString(s)
		}
		pieces = append(pieces, s[:end])
		s = s[end:]
	}
	return pieces
}

// charBoundary returns the last index up to limit where s may be cut without
// cutting a character. It looks back no further than a character is long, so
// that bytes that are no text cost no more than text.
func charBoundary(s string, limit int) int {
	if len(s) <= limit {
		return len(s)
	}
	for i := limit; i >= 0 && i > limit-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return limit
}

// splitN cuts n pieces whose numbers of characters differ by one at most, or
// one piece a character if there are fewer.
func splitN(s string, n int) []string {
	total := utf8.RuneCountInString(s)
	n = min(n, total)
	pieces := make([]string, 0, n)
	start, seen := 0, 0
	for i := range s {
		if k := len(pieces) + 1; k < n && seen == total*k/n {
			pieces = append(pieces, s[start:i])
			start = i
		}
		seen++
	}
	if start < len(s) {
		pieces = append(pieces, s[start:])
	}
	return pieces
}
