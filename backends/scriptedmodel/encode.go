package scriptedmodel

import (
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, as in
// encoding/json; unlike there, <, > and & stay as they are, as providers send them.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		ch := s[i]
		if ch < utf8.RuneSelf {
			if ch >= ' ' && ch != '"' && ch != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch ch {
			case '"', '\\':
				b = append(b, '\\', ch)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[ch>>4], hexDigits[ch&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\uFFFD"...)
			start = i + 1
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendOrNull appends s as a JSON string, or null when it is empty.
func appendOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// appendID appends 24 base62 characters made from a hash.
func appendID(b []byte, sum *[32]byte) []byte {
	for _, x := range sum[:24] {
		b = append(b, base62[int(x)%len(base62)])
	}
	return b
}

// shorten cuts s after at most limit bytes, at a character, and marks the cut.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:charBoundary(s, limit)] + "…"
}
