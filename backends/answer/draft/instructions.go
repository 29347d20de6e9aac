package draft

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// hints lists words that are faster to search for than the pattern instructing. Every text that instructing matches
// contains at least one of them.
var hints = []string{
	"ignore", "disregard", "forget", "override", "prompt", "as an ai", "you are", "assistant", "reply",
	"respond", "answer", "tell ", "do not ", "instruction",
}

// WithoutInstructions returns a text without the sentences and table rows that give instructions to a model, so that no
// model reads them and no answer quotes them.
func WithoutInstructions(text string) string {
	if !hasHint(text) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !hasHint(line) || !instructing.MatchString(line) {
			b.WriteString(line)
			continue
		}
		if tables.IsRow(strings.TrimSpace(line)) {
			continue
		}
		for _, s := range Split(line) {
			if !instructing.MatchString(s) {
				b.WriteString(s)
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n ")
}

// hasHint reports whether a text contains one of the hints, so that it may give instructions to a model.
func hasHint(text string) bool {
	text = strings.ToLower(text)
	for _, hint := range hints {
		if strings.Contains(text, hint) {
			return true
		}
	}
	return false
}
