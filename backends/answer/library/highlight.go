package library

import (
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
)

// Span is the part of a text from the byte Start up to, but not including, the byte End.
type Span struct{ Start, End int }

// minLetters is the least length of a sentence of a claim that is looked for as a whole.
const minLetters = 12

// Highlight returns the parts of a passage that a claim about it repeats, in order and without overlaps:
// sentences that the passage contains word for word, and figures of the same value. Years and single digits
// are not marked, because every passage has them.
func Highlight(passage, claim string) []Span {
	var spans []Span
	for _, sentence := range sentences(claim) {
		if at := strings.Index(passage, sentence); at >= 0 {
			spans = append(spans, Span{at, at + len(sentence)})
		}
	}
	stated := figures.Find(claim)
	for _, m := range figures.Find(passage) {
		if m.Year || countDigits(passage[m.Start:m.End]) < 2 {
			continue
		}
		if slices.ContainsFunc(stated, func(s figures.Mention) bool { return !s.Year && same(s, m) }) {
			spans = append(spans, Span{m.Start, m.End})
		}
	}
	return joined(spans)
}

func countDigits(text string) (n int) {
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	return n
}

// same reports whether two figures are the same number, in single units or by their digits if one of them
// leaves its scale to a header ("2,601" below "In millions").
func same(a, b figures.Mention) bool {
	x, y := math.Abs(a.Value), math.Abs(b.Value)
	if x == 0 || y == 0 {
		return x == y
	}
	for _, scale := range []float64{1, 1e3, 1e6, 1e9} {
		if near(x, y*scale, a.Step) || near(y, x*scale, b.Step) {
			return true
		}
	}
	return false
}

// near reports whether a value rounds to a figure with a step, and is at most half a per cent away from it:
// "5" is not 4.6.
func near(figure, value, step float64) bool {
	return math.Abs(figure-value) <= min(step/2, figure/200)
}

// sentences returns the sentences of a claim that are long enough to be looked for.
func sentences(claim string) (list []string) {
	for line := range strings.SplitSeq(claim, "\n") {
		for rest := line; rest != ""; {
			end := strings.Index(rest, ". ")
			if end < 0 {
				end = len(rest) - 1
			}
			if one := strings.TrimSpace(rest[:end+1]); len(one) >= minLetters {
				list = append(list, strings.TrimSuffix(one, "."))
			}
			rest = rest[end+1:]
		}
	}
	return list
}

// joined sorts spans and merges those that overlap or touch.
func joined(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
