package corpus

import (
	"fmt"
	"strings"
)

// Spans are the stretches of passages that the full-text index of PostgreSQL has words for,
// so that it can look among the latest alone: each of 1 << span passages by their numbers.
var Spans = []uint{13, 15, 17, 19}

// SpanFactor is how much longer a span is than the one before.
const SpanFactor = 4

// spanWord is the word of a stretch. No word of a text begins so.
func spanWord(span uint, stretch int64) string { return fmt.Sprintf("@%d:%d", span, stretch) }

// spanWords are those of a passage, as PostgreSQL reads an array.
func spanWords(id int64) string {
	words := make([]string, len(Spans))
	for i, span := range Spans {
		words[i] = spanWord(span, id>>span)
	}
	return "{" + strings.Join(words, ",") + "}"
}

// Latest is the query for the last two stretches of a span, of which the last may have begun
// just now; ok: there are others before them. last is the number of the last passage.
func Latest(span uint, last int64) (query string, ok bool) {
	at := last >> span
	return fmt.Sprintf("'%s' | '%s'", spanWord(span, at), spanWord(span, at-1)), at >= 2
}
