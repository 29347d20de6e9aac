package kernel

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The maximum lengths of texts, in characters. The maximum lengths of titles and messages are settings.
const (
	maxReason = 200
	MaxSlug   = 60
	MaxWords  = 10_000 // in words; settings and forums may allow fewer
)

// CheckTitle normalizes a thread title and returns it. If the title breaks a rule of the settings, CheckTitle returns
// an error of Invalid.
func (s *Settings) CheckTitle(title string) (string, error) {
	title = text.Normal(title)
	n := int64(utf8.RuneCountInString(title))
	switch {
	case !text.IsLine(title):
		return "", Invalid("title", "control_character", "the title must be one line without control characters")
	case n < s.MinTitle:
		return "", Invalid("title", "too_short", fmt.Sprintf("the title must have at least %d characters", s.MinTitle))
	case n > s.MaxTitle:
		return "", Invalid("title", "too_long", fmt.Sprintf("the title has %d characters, at most %d are allowed",
			n, s.MaxTitle))
	case text.Words(title) == 0:
		return "", Invalid("title", "no_words", "the title must have at least one word")
	}
	return title, nil
}

// CheckMessage normalizes the text of a post and returns it. If the text breaks a rule of the settings, CheckMessage
// returns an error of Invalid. The stricter rules of single forums are not checked here.
func (s *Settings) CheckMessage(message string) (string, error) {
	message = text.Lines(message)
	n := int64(utf8.RuneCountInString(message))
	switch {
	case !text.IsPlain(message):
		return "", Invalid("message", "control_character", "the message must not have control characters")
	case n < s.MinMessage:
		return "", Invalid("message", "too_short", fmt.Sprintf("the message must have at least %d characters",
			s.MinMessage))
	case n > s.MaxMessage:
		return "", Invalid("message", "too_long", fmt.Sprintf("the message has %d characters, at most %d are allowed",
			n, s.MaxMessage))
	}
	return message, CheckWords(message, 1, s.MaxWords)
}

// CheckWords returns an error of Invalid if message has fewer words than minimum or more than maximum.
func CheckWords(message string, minimum, maximum int64) error {
	switch n := int64(text.Words(message)); {
	case n < minimum:
		return Invalid("message", "too_few_words", fmt.Sprintf("the message has %d words, at least %d are needed", n, minimum))
	case n > maximum:
		return Invalid("message", "too_many_words", fmt.Sprintf("the message has %d words, at most %d are allowed", n, maximum))
	}
	return nil
}

// CheckReason normalizes the reason for an action, which may be empty, and returns it. If the reason is too long or not
// a single line, CheckReason returns an error of Invalid.
func CheckReason(reason string) (string, error) {
	reason = text.Normal(reason)
	switch n := utf8.RuneCountInString(reason); {
	case !text.IsLine(reason):
		return "", Invalid("reason", "control_character", "the reason must be one line without control characters")
	case n > maxReason:
		return "", Invalid("reason", "too_long", fmt.Sprintf("the reason has %d characters, at most %d are allowed",
			n, maxReason))
	}
	return reason, nil
}

// Slug returns a title in the form that URLs contain, or "thread" if no character of the title is usable in a URL.
func Slug(title string) string { return cmp.Or(text.Slug(title, MaxSlug), "thread") }
