package routes

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// str parses a PHP string in single or double quotes. It fails for a variable in a string, because interpolation is not
// supported.
func (r *reader) str() string {
	quote := r.src[r.offset]
	start := r.offset
	r.offset++
	var text strings.Builder
	for {
		if r.offset == len(r.src) {
			r.offset = start
			r.fail("the string does not end")
		}
		c := r.src[r.offset]
		switch {
		case c == quote:
			r.offset++
			return text.String()
		case c == '\\' && quote == '\'': // any escape sequence other than \' and \\ is plain text
			r.offset++
			if r.offset < len(r.src) && (r.src[r.offset] == '\'' || r.src[r.offset] == '\\') {
				c = r.src[r.offset]
				r.offset++
			}
			text.WriteByte(c)
		case c == '\\':
			r.escape(&text)
		case quote == '"' && beginsVariable(r.src[r.offset:]):
			r.fail("a string must not contain a variable: write \\$ for a dollar sign, or use single quotes")
		default:
			char, size := utf8.DecodeRuneInString(r.src[r.offset:])
			if char == utf8.RuneError && size < 2 {
				r.fail("the string is not UTF-8")
			}
			if char == 0 {
				r.fail("the string has a null character")
			}
			text.WriteString(r.src[r.offset : r.offset+size])
			r.offset += size
		}
	}
}

// beginsVariable reports whether s begins with a variable of PHP's string interpolation: $name, ${name} or {$name}.
func beginsVariable(s string) bool {
	if strings.HasPrefix(s, "${") || strings.HasPrefix(s, "{$") {
		return true
	}
	return len(s) > 1 && s[0] == '$' && wordByte(s[1]) && s[1] > '9' // not a digit
}

// escape parses an escape sequence in a string with double quotes, and appends its character to text. As in PHP, an
// unknown sequence is kept unchanged, with its backslash.
func (r *reader) escape(text *strings.Builder) {
	start := r.offset
	rest := r.src[r.offset+1:] // after the backslash
	if rest == "" {
		text.WriteByte('\\')
		r.offset++
		return
	}
	if index := strings.IndexByte(`nrtvef\$"`, rest[0]); index >= 0 {
		text.WriteByte("\n\r\t\v\x1b\f\\$\""[index])
		r.offset += 2
		return
	}
	var digits string
	base := 16
	switch {
	case rest[0] >= '0' && rest[0] <= '7':
		digits, base = leading(rest, 3, "01234567"), 8
		r.offset += 1 + len(digits)
	case rest[0] == 'x' && leading(rest[1:], 2, hexDigits) != "":
		digits = leading(rest[1:], 2, hexDigits)
		r.offset += 2 + len(digits)
	case strings.HasPrefix(rest, "u{"):
		digits = leading(rest[2:], 6, hexDigits)
		if digits == "" || !strings.HasPrefix(rest[2+len(digits):], "}") {
			r.fail("\\u{ is not followed by hexadecimal digits and }")
		}
		r.offset += 4 + len(digits) // with the backslash, u{ and }
	default:
		text.WriteByte('\\')
		r.offset++
		return
	}
	n, err := strconv.ParseInt(digits, base, 32)
	// An escape sequence for a byte above 127 is an error, because such bytes are only valid UTF-8 in certain sequences.
	// Authors can write the character or \u{...} instead.
	if err != nil || n == 0 || rest[0] != 'u' && n > 127 || !utf8.ValidRune(rune(n)) {
		r.offset = start
		r.fail("the escape sequence is not a valid character: write \\u{...}")
	}
	text.WriteRune(rune(n))
}

const hexDigits = "0123456789abcdefABCDEF"

// leading returns the longest prefix of s that has at most limit bytes, all of them in set.
func leading(s string, limit int, set string) string {
	n := 0
	for n < len(s) && n < limit && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return s[:n]
}
