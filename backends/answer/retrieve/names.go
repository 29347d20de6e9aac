package retrieve

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// byNames ranks passages by how closely the name of a table, row or column matches the question, by pairs of
// words that follow each other as in the question, and by the years above the columns.
func (r *Retriever) byNames(w *wanted, all []*candidate) []*candidate {
	type ranked struct {
		one   *candidate
		score float64
	}
	weights := make(map[terms.Term]float64, len(w.terms))
	sum := 0.0
	for _, s := range w.terms {
		if !s.year && !s.other {
			weights[s.term] = s.idf
			sum += s.idf
		}
	}
	if sum == 0 || len(all) == 0 {
		return nil
	}
	list := make([]ranked, 0, len(all))
	for _, one := range all {
		list = append(list, ranked{one, closeness(w, one, weights, sum)})
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	out := make([]*candidate, 0, len(list))
	for _, l := range list {
		if l.score > 0 {
			out = append(out, l.one)
		}
	}
	return out
}

// closeness returns how closely the names of a passage match the question. weights are the weights of the
// terms and sum is their total.
func closeness(w *wanted, one *candidate, weights map[terms.Term]float64, sum float64) float64 {
	// The share of the question's terms that the passage has at all.
	covered := 0.0
	for i, s := range w.terms {
		if !s.year && !s.other && one.counts[i] != 0 {
			covered += s.idf
		}
	}
	covered /= sum
	best := 0.0
	for line := range strings.SplitSeq(one.headers, "\n") {
		best = max(best, match(line, weights, sum))
	}
	if one.fact {
		best = max(best, synonymMatch)
	}
	best = max(best, 0.8*match(one.Section, weights, sum))
	years := 0.0
	if len(w.years) > 0 {
		for _, y := range w.years {
			if strings.Contains(one.Text, strconv.Itoa(y)) {
				years++
			}
		}
		years /= float64(len(w.years))
	}
	pairs := pairShare(w, one.Text)
	part := 0.0
	if slices.Contains(w.parts, one.vector.Topic()) {
		part = 1
	}
	report := 0.0
	// The report for the latest year that the question names.
	if len(w.years) > 0 && one.Period.Year == slices.Max(w.years) {
		report = 1
		if slices.ContainsFunc(w.periods, func(p kernel.Period) bool {
			return p.Quarter != 0 && p.Year == one.Period.Year && p.Quarter == one.Period.Quarter
		}) {
			report = 3 // and for its quarter
		}
	}
	return reportWeight*report + covered + nameWeight*best + pairWeight*pairs + yearWeight*years + partWeight*part
}

// Weights of the signs of closeness, besides the share of terms that are there.
const (
	nameWeight   = 1
	pairWeight   = 1
	yearWeight   = 0.5
	partWeight   = 0.1
	reportWeight = 0.3
	synonymMatch = 0.5
)

// match returns how closely a name matches the question: the weight of the terms it has, reduced by the share
// of its words that the question does not have.
func match(line string, weights map[terms.Term]float64, sum float64) float64 {
	hit, words, n := 0.0, 0.0, 0
	for _, t := range terms.Of(line) {
		n++
		if weight, ok := weights[t]; ok {
			hit += weight
			words++
		}
	}
	if n == 0 || hit == 0 {
		return 0
	}
	return min(hit/sum, 1) * math.Sqrt(words/float64(n))
}

// pairShare returns the share of the question's word pairs that a text contains.
func pairShare(w *wanted, text string) float64 {
	if len(w.pairs) == 0 {
		return 0
	}
	text = strings.ToLower(text)
	n := 0
	for _, pair := range w.pairs {
		if strings.Contains(text, pair) {
			n++
		}
	}
	return float64(n) / float64(len(w.pairs))
}

func unix(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
