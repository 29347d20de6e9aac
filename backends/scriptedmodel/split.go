package scriptedmodel

import (
	"unicode"
	"unicode/utf8"
)

// maxChunks limits the number of pieces into which a text is split.
const maxChunks = 100_000

// The split functions return pieces whose concatenation is s. No piece is empty, and none ends within a character.
// The pieces share the memory of s.

// splitWords returns pieces of n words, or of more if there would be more than maxChunks pieces. White space belongs to
// the preceding word.
func splitWords(s string, n int) []string {
	words := 0
	eachWord(s, func(int) { words++ })
	n = max(n, (words+maxChunks-1)/maxChunks) // rounded up
	if words == 0 {
		return splitBytes(s, max(len(s), 1)) // white space is one piece, an empty text none
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
	afterSpace := true
	for i, r := range s {
		isSpace := unicode.IsSpace(r)
		if afterSpace && !isSpace {
			f(i)
		}
		afterSpace = isSpace
	}
}

// splitBytes returns pieces of at most size bytes, or of more if there would be more than maxChunks pieces. A character
// that is longer than size is a piece by itself.
func splitBytes(s string, size int) []string {
	if len(s) > size*maxChunks {
		size = (len(s)+maxChunks-1)/maxChunks + utf8.UTFMax // room for pieces that are shorter than size
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

// charBoundary returns the last index up to limit at which s can be split without splitting a character. It looks
// back at most the length of a character, so that invalid UTF-8 takes no longer than text.
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

// splitN returns n pieces whose numbers of characters differ by at most one. If s has fewer than n characters, each
// one is a piece.
func splitN(s string, n int) []string {
	total := utf8.RuneCountInString(s)
	n = min(n, total)
	pieces := make([]string, 0, n)
	start, seen := 0, 0
	for i := range s {
		if k := len(pieces) + 1; k < n && seen == total*k/n { // piece k ends after k/n of all characters
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
