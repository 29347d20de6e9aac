package corpus

import (
	"fmt"
	"strings"
)

// Spans lists the sizes of stretches. A stretch of a span is a range of 1 << span consecutive passage ids. PostgreSQL's
// full-text index has a word for each stretch, so that a search can be limited to the latest passages.
var Spans = []uint{13, 15, 17, 19}

// SpanFactor is how many stretches of one span make up a stretch of the next span.
const SpanFactor = 4

// spanWord returns the word of a stretch. No word of a text begins with "@".
func spanWord(span uint, stretch int64) string { return fmt.Sprintf("@%d:%d", span, stretch) }

// spanWords returns the words of the stretches that contain the passage with an id, as a PostgreSQL array.
func spanWords(id int64) string {
	words := make([]string, len(Spans))
	for i, span := range Spans {
		words[i] = spanWord(span, id>>span)
	}
	return "{" + strings.Join(words, ",") + "}"
}

// Latest returns a full-text query for the last two stretches of a span: the last stretch may have begun just now. last
// is the id of the last passage. ok reports whether there are stretches before these two.
func Latest(span uint, last int64) (query string, ok bool) {
	stretch := last >> span
	return fmt.Sprintf("'%s' | '%s'", spanWord(span, stretch), spanWord(span, stretch-1)), stretch >= 2
}
