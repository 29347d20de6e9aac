package corpus

import (
	"fmt"
	"strings"
)

// Spans lists the lengths of ranges of passage ids, as powers of two: the passage with an id is in the range number
// id >> span, which has 1 << span ids. In PostgreSQL's full-text index each passage has a word for each of its ranges,
// so that a search can be limited to the latest passages.
var Spans = []uint{13, 15, 17, 19}

// SpanFactor is how many times as long a range is as a range of the previous span.
const SpanFactor = 4

// spanWord returns the word that stands for a range of ids in the index (see Spans). number is the number of the
// range. The word cannot be a word of a text, because no word of a text begins with "@".
func spanWord(span uint, number int64) string { return fmt.Sprintf("@%d:%d", span, number) }

// spanWords returns the words that stand for the ranges that contain the passage with the given id, as a PostgreSQL
// array.
func spanWords(id int64) string {
	words := make([]string, len(Spans))
	for i, span := range Spans {
		words[i] = spanWord(span, id>>span)
	}
	return "{" + strings.Join(words, ",") + "}"
}

// Latest returns a full-text query for the passages in the last two ranges of a span. A single range is not enough,
// because the last one may have only a few passages. last is the id of the last passage. ok reports whether there are
// ranges before these two, so that the query excludes passages.
func Latest(span uint, last int64) (query string, ok bool) {
	number := last >> span
	return fmt.Sprintf("'%s' | '%s'", spanWord(span, number), spanWord(span, number-1)), number >= 2
}
