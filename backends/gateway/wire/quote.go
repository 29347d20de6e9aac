package wire

import (
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text as a JSON string (RFC 8259, section 7). Nothing is
// escaped that need not be: a text that grows costs its reader tokens. What is
// no UTF-8 becomes U+FFFD.
func AppendQuoted[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, text)
	return append(dst, '"')
}

// AppendEscaped is AppendQuoted without the quotes.
func AppendEscaped[T string | []byte](dst []byte, text T) []byte {
	from := 0 // text[from:i] is plain
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			var rest []byte
			var tail [utf8.UTFMax]byte
			rest = tail[:copy(tail[:], text[i:])]
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, text[from:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				from = i + 1
			}
			i += size
			continue
		case c >= ' ' && c != '"' && c != '\\':
			i++
			continue
		}
		dst = append(dst, text[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(dst, text[from:]...)
}

// AppendUnquoted appends what the inside of a JSON string stands for; the
// Scanner must have passed the string. Half of a surrogate pair becomes U+FFFD.
func AppendUnquoted(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			i++
			continue
		}
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
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		default: // quote, backslash, slash
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// rune4 is the number that four hexadecimal digits make.
func rune4(digits []byte) (r rune) {
	for _, c := range digits[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}
