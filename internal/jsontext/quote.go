package jsontext

import (
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text as a JSON string (RFC 8259, section 7). It escapes only the characters that must be
// escaped, because a longer text costs its reader tokens. Invalid UTF-8 becomes U+FFFD.
func AppendQuoted[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, text)
	return append(dst, '"')
}

// AppendMember appends prefix, a JSON text that ends with a member's name and a colon, and then the member's value
// as a JSON string.
func AppendMember[T string | []byte](dst []byte, prefix string, value T) []byte {
	return AppendQuoted(append(dst, prefix...), value)
}

// AppendAll appends several texts.
func AppendAll(dst []byte, texts ...string) []byte {
	for _, text := range texts {
		dst = append(dst, text...)
	}
	return dst
}

// AppendEscaped works like AppendQuoted without the quotes.
func AppendEscaped[T string | []byte](dst []byte, text T) []byte {
	start := 0 // text[start:i] needs no escape and is not appended yet
	for i := 0; i < len(text); {
		if i+8 <= len(text) { // pass eight bytes at a time while none of them is special or non-ASCII
			w := load(text, i)
			marks := special(w) | w&highs
			if marks == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(marks) / 8 // the lowest mark is always a true one
		}
		c := text[i]
		switch {
		case c >= utf8.RuneSelf: // a valid character stays
			var buffer [utf8.UTFMax]byte
			r, size := utf8.DecodeRune(buffer[:copy(buffer[:], text[i:])])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, text[start:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				start = i + 1
			}
			i += size
			continue
		case c >= ' ' && c != '"' && c != '\\':
			i++
			continue
		}
		dst = append(dst, text[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(dst, text[start:]...)
}

// AppendUnquoted appends the value of a JSON string, given the raw text between its quotes. A Scanner must have
// validated that text. An unpaired surrogate becomes U+FFFD.
func AppendUnquoted[T string | []byte](dst []byte, raw T) []byte {
	for i := 0; ; {
		start := i
		i = escapeAt(raw, i)
		dst = append(dst, raw[start:i]...)
		if i == len(raw) {
			return dst
		}
		dst, i = appendEscape(dst, raw, i)
	}
}

// unquoted works like AppendUnquoted and returns the result as a string.
func unquoted(raw string) string {
	i := escapeAt(raw, 0)
	if i == len(raw) {
		return raw
	}
	var (
		text strings.Builder
		tail [utf8.UTFMax]byte
	)
	text.Grow(len(raw))
	for start := 0; ; i = escapeAt(raw, start) {
		text.WriteString(raw[start:i])
		if i == len(raw) {
			return text.String()
		}
		var buffer []byte
		buffer, start = appendEscape(tail[:0], raw, i)
		text.Write(buffer)
	}
}

// Known returns string(raw), without an allocation if it equals one of the usual texts.
func Known(raw []byte, usual ...string) string {
	for _, text := range usual {
		if string(raw) == text {
			return text
		}
	}
	return string(raw)
}

// appendEscape appends the character of the escape sequence at offset i and returns the offset after the sequence.
func appendEscape[T string | []byte](dst []byte, raw T, i int) (_ []byte, next int) {
	switch c := raw[i+1]; c {
	case 'b':
		dst = append(dst, '\b')
	case 'f':
		dst = append(dst, '\f')
	case 'n':
		dst = append(dst, '\n')
	case 'r':
		dst = append(dst, '\r')
	case 't':
		dst = append(dst, '\t')
	case 'u':
		r := rune4(raw[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if len(raw) >= i+6 && raw[i] == '\\' && raw[i+1] == 'u' {
				low = rune4(raw[i+2:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError { // a pair: pass its second half, too
				i += 6
			}
		}
		return utf8.AppendRune(dst, r), i
	default: // quote, backslash, slash
		dst = append(dst, c)
	}
	return dst, i + 2
}

// load reads 8 bytes in little-endian order. The compiler turns it into one read.
func load[T string | []byte](text T, i int) uint64 {
	_ = text[i+7]
	return uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
		uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
}

// escapeAt returns the offset of the first backslash at or after i, or len(raw).
func escapeAt[T string | []byte](raw T, i int) int {
	for ; i+8 <= len(raw); i += 8 {
		slash := load(raw, i) ^ (ones * '\\')
		if marks := (slash - ones) &^ slash & highs; marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(raw) && raw[i] != '\\' {
		i++
	}
	return i
}

// rune4 returns the value of four hexadecimal digits.
func rune4[T string | []byte](digits T) (r rune) {
	for i := range 4 {
		c := rune(digits[i])
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | c
	}
	return r
}
