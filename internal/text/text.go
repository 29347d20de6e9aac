// Package text handles texts that users write: their stored form, their comparison, the characters allowed in a line,
// Markdown as safe HTML, slugs, excerpts, and the time zones in which users read times.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normal trims a text and converts it to the stored form (NFC).
func Normal(s string) string { return strings.TrimSpace(norm.NFC.String(s)) }

// Lines works like Normal for a text of several lines, and converts line ends to \n.
func Lines(s string) string { return Normal(strings.ReplaceAll(s, "\r\n", "\n")) }

// Fold returns a name in the form in which names are compared, without differences of case and width.
func Fold(name string) string { return Storable(strings.ToLower(norm.NFKC.String(Normal(name)))) }

// Storable replaces U+0000 in a search text, because PostgreSQL does not accept this character.
func Storable(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// IsLine reports whether a text is a single line without control characters. Bidirectional controls count as control
// characters, because in a title they could disturb the page around it.
func IsLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
	})
}

// IsPlain reports whether a text has no control characters except line ends and tabs.
func IsPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// IsASCII reports whether a text is ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Words returns the number of words, which are runs of letters or digits.
func Words(s string) (n int) {
	inside := false
	for _, r := range s {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || inside && unicode.IsMark(r)
		if inWord && !inside {
			n++
		}
		inside = inWord
	}
	return n
}

// Links returns the number of texts in Markdown that look like a link.
func Links(markdown string) int {
	return strings.Count(markdown, "://") + strings.Count(markdown, "www.") +
		strings.Count(markdown, "](mailto:")
}

// CutBytes returns the first characters of s, as many as fit in limit bytes.
func CutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Cut returns the first limit characters of s.
func Cut(s string, limit int) string {
	if len(s) <= limit { // no more bytes, so no more characters
		return s
	}
	for offset := range s {
		if limit == 0 {
			return s[:offset]
		}
		limit--
	}
	return s
}

// Short returns a text as one line of valid UTF-8, cut after limit characters.
func Short(s string, limit int) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "\uFFFD")
	if start := Cut(s, limit); start != s {
		return start + "…"
	}
	return s
}

// Slug returns a text in a form for URLs: at most limit bytes of lower case ASCII letters, digits and single hyphens.
// It returns "" if no character is left.
func Slug(s string, limit int) string {
	var b strings.Builder
	gap := false // a hyphen must precede the next letter
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
		if b.Len() >= limit {
			break
		}
	}
	slug := b.String() // one byte too long if its last letter follows a hyphen at the limit
	return strings.TrimRight(slug[:min(len(slug), limit)], "-")
}
