package library

import (
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
)

// Span is the part of a text from the byte Start up to, but not including, the byte End.
type Span struct{ Start, End int }

// minLetters is the least length of a sentence that Highlight searches for.
const minLetters = 12

// Highlight returns the parts of a passage that support a claim, in order and without overlaps. These are the
// sentences of the claim that the passage contains word for word, and the figures that have the same value in the
// passage and in the claim. Years and single digits are left out, because every passage has them.
func Highlight(passage, claim string) []Span {
	var spans []Span
	for _, sentence := range sentences(claim) {
		if index := strings.Index(passage, sentence); index >= 0 {
			spans = append(spans, Span{index, index + len(sentence)})
		}
	}
	stated := figures.Find(claim)
	for _, m := range figures.Find(passage) {
		if m.Year || countDigits(passage[m.Start:m.End]) < 2 {
			continue
		}
		if slices.ContainsFunc(stated, func(s figures.Mention) bool { return !s.Year && sameNumber(s, m) }) {
			spans = append(spans, Span{m.Start, m.End})
		}
	}
	return merge(spans)
}

// countDigits returns the number of ASCII digits in a text.
func countDigits(text string) (n int) {
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	return n
}

// sameNumber reports whether two figures may be the same number, rounded to the precision of either and without regard
// to signs. They may also differ by a factor of a thousand, a million or a billion, because one of them may have its
// scale in a header that the passage does not contain ("2,601" below "In millions").
func sameNumber(a, b figures.Mention) bool {
	x, y := math.Abs(a.Value), math.Abs(b.Value)
	if x == 0 || y == 0 {
		return x == y
	}
	for _, scale := range []float64{1, 1e3, 1e6, 1e9} {
		if roundsTo(x, y*scale, a.Step) || roundsTo(y, x*scale, b.Step) {
			return true
		}
	}
	return false
}

// roundsTo reports whether figure may be the result of rounding value to a multiple of step. The two may differ by at
// most half a per cent, so that "5" does not stand for 4.6.
func roundsTo(figure, value, step float64) bool {
	return math.Abs(figure-value) <= min(step/2, figure/200)
}

// sentences returns the sentences of a claim that have at least minLetters bytes.
func sentences(claim string) (list []string) {
	for line := range strings.SplitSeq(claim, "\n") {
		for rest := line; rest != ""; {
			end := strings.Index(rest, ". ")
			if end < 0 {
				end = len(rest) - 1
			}
			if sentence := strings.TrimSpace(rest[:end+1]); len(sentence) >= minLetters {
				list = append(list, strings.TrimSuffix(sentence, "."))
			}
			rest = rest[end+1:]
		}
	}
	return list
}

// merge sorts spans and merges spans that overlap or touch.
func merge(spans []Span) []Span {
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
