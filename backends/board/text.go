package board

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of texts, in characters. Those of titles and messages are settings.
const (
	reasonMost = 200
	slugMost   = 60
	wordsMost  = 10_000 // words; forums and settings allow fewer
)

// normal trims a text and brings it into the one form that is stored (NFC).
func normal(text string) string { return strings.TrimSpace(norm.NFC.String(text)) }

func (s *Settings) checkTitle(text string) (string, error) {
	text = normal(text)
	n := int64(utf8.RuneCountInString(text))
	switch {
	case strings.ContainsFunc(text, forbiddenInLine):
		return "", invalid("title", "control_character", "the title must be one line without control characters")
	case n < s.TitleLeast:
		return "", invalid("title", "too_short", fmt.Sprintf("the title must have at least %d characters", s.TitleLeast))
	case n > s.TitleMost:
		return "", invalid("title", "too_long", fmt.Sprintf("the title has %d characters, at most %d are allowed", n, s.TitleMost))
	case words(text) == 0:
		return "", invalid("title", "no_words", "the title must have a word")
	}
	return text, nil
}

// checkMessage checks the text of a post by the board's rules; those of a forum
// come on top.
func (s *Settings) checkMessage(text string) (string, error) {
	text = normal(strings.ReplaceAll(text, "\r\n", "\n"))
	n := int64(utf8.RuneCountInString(text))
	switch {
	case strings.ContainsFunc(text, forbiddenInText):
		return "", invalid("message", "control_character", "the message must not have control characters")
	case n < s.MessageLeast:
		return "", invalid("message", "too_short", fmt.Sprintf("the message must have at least %d characters", s.MessageLeast))
	case n > s.MessageMost:
		return "", invalid("message", "too_long", fmt.Sprintf("the message has %d characters, at most %d are allowed", n, s.MessageMost))
	}
	return text, checkWords(text, 1, s.WordsMost)
}

func checkWords(text string, least, most int64) error {
	switch n := int64(words(text)); {
	case n < least:
		return invalid("message", "too_few_words", fmt.Sprintf("the message has %d words, at least %d are needed", n, least))
	case n > most:
		return invalid("message", "too_many_words", fmt.Sprintf("the message has %d words, at most %d are allowed", n, most))
	}
	return nil
}

// checkReason checks why something was done; it may be empty.
func checkReason(text string) (string, error) {
	text = normal(text)
	switch n := utf8.RuneCountInString(text); {
	case strings.ContainsFunc(text, forbiddenInLine):
		return "", invalid("reason", "control_character", "the reason must be one line without control characters")
	case n > reasonMost:
		return "", invalid("reason", "too_long", fmt.Sprintf("the reason has %d characters, at most %d are allowed", n, reasonMost))
	}
	return text, nil
}

// forbiddenInLine also names the marks that turn the direction of text, with
// which a title could disturb the page around it.
func forbiddenInLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

func forbiddenInText(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t'
}

// words counts runs of letters or digits.
func words(text string) (n int) {
	inside := false
	for _, r := range text {
		is := unicode.IsLetter(r) || unicode.IsDigit(r) || inside && unicode.IsMark(r)
		if is && !inside {
			n++
		}
		inside = is
	}
	return n
}

// transliterate has the letters that do not fall apart into a letter and marks.
var transliterate = strings.NewReplacer(
	"ß", "ss", "ẞ", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l", "đ", "d", "Đ", "d",
	"ð", "d", "Ð", "d", "þ", "th", "Þ", "th", "ħ", "h", "Ħ", "h", "ı", "i", "ŋ", "n", "Ŋ", "n",
)

// slug is a text as a part of an address.
func slug(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(transliterate.Replace(text)) {
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
		if b.Len() >= slugMost {
			break
		}
	}
	if b.Len() == 0 {
		return "thread"
	}
	made := b.String()
	return strings.TrimRight(made[:min(len(made), slugMost)], "-")
}

// fold is a name as it is compared: look-alikes by case and width are one.
func fold(name string) string { return storable(strings.ToLower(norm.NFKC.String(normal(name)))) }

// storable is a text that is looked for; PostgreSQL takes no U+0000.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }
