package draft

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// hints are words of which a text that tells a model what to do contains at least one.
var hints = []string{
	"ignore", "disregard", "forget", "override", "prompt", "as an ai", "you are", "assistant", "reply",
	"respond", "answer", "tell ", "do not ", "instruction",
}

// Quiet returns a text without the sentences and table rows that tell a model what to do, so that a model is
// not given them and no answer stands on them.
func Quiet(text string) string {
	if !hinted(text) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !hinted(line) || !instructing.MatchString(line) {
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

func hinted(text string) bool {
	text = strings.ToLower(text)
	for _, hint := range hints {
		if strings.Contains(text, hint) {
			return true
		}
	}
	return false
}
