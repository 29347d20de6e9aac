// Package text is what people write: the form in which it is stored and compared,
// what a line of it may hold, Markdown that becomes safe HTML, parts of addresses
// and excerpts made of it, and the time zones in which people read times.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normal trims a text and brings it into the one form that is stored (NFC).
func Normal(s string) string { return strings.TrimSpace(norm.NFC.String(s)) }

// Lines is Normal for a text of several lines, which end with \n.
func Lines(s string) string { return Normal(strings.ReplaceAll(s, "\r\n", "\n")) }

// Fold is a name as it is compared: look-alikes by case and width are one.
func Fold(name string) string { return Storable(strings.ToLower(norm.NFKC.String(Normal(name)))) }

// Storable is a text that is looked for; PostgreSQL takes no U+0000.
func Storable(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// IsLine reports whether a text is one line without control characters. The marks
// that turn the direction of text count as such: with them a title could disturb
// the page around it.
func IsLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
	})
}

// IsPlain reports whether a text has no control characters but line ends and tabs.
func IsPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// IsASCII reports whether a text has no character beyond ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Words counts runs of letters or digits.
func Words(s string) (n int) {
	inside := false
	for _, r := range s {
		is := unicode.IsLetter(r) || unicode.IsDigit(r) || inside && unicode.IsMark(r)
		if is && !inside {
			n++
		}
		inside = is
	}
	return n
}

// Links counts what looks like a link in Markdown.
func Links(markdown string) int {
	return strings.Count(markdown, "://") + strings.Count(markdown, "www.") + strings.Count(markdown, "](mailto:")
}

// Short is a text on one line, cut behind most characters.
func Short(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// Slug is a text as a part of an address, at most that many bytes of lower case
// ASCII letters, digits and single hyphens; empty: nothing of it is one.
func Slug(s string, most int) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(latin.Replace(s)) {
		r = unicode.ToLower(r)
		switch {
		case unicode.IsMark(r):
			continue
		case (r < 'a' || r > 'z') && (r < '0' || r > '9'):
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(r)
		if b.Len() >= most {
			break
		}
	}
	made := b.String()
	return strings.TrimRight(made[:min(len(made), most)], "-")
}
