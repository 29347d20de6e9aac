package retrieve

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// byNames ranks passages by closeness and returns them, the closest first. Passages with the closeness 0 are left out.
func (r *Retriever) byNames(w *searchQuery, candidates []*candidate) []*candidate {
	type ranked struct {
		passage *candidate
		score   float64
	}
	weights := make(map[terms.Term]float64, len(w.terms)) // of the question's own terms
	sum := 0.0
	for _, s := range w.terms {
		if !s.year && !s.synonym {
			weights[s.term] = s.idf
			sum += s.idf
		}
	}
	if sum == 0 || len(candidates) == 0 {
		return nil
	}
	list := make([]ranked, 0, len(candidates))
	for _, passage := range candidates {
		list = append(list, ranked{passage, closeness(w, passage, weights, sum)})
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	out := make([]*candidate, 0, len(list))
	for _, l := range list {
		if l.score > 0 {
			out = append(out, l.passage)
		}
	}
	return out
}

// closeness returns a score, 0 or greater, for how well a passage matches the question by other signs than the
// frequency of words: the name of a table, row or column, pairs of words that follow each other in the question, years,
// and the part and the period of the report. weights are the weights of the question's own terms and sum is their
// total.
func closeness(w *searchQuery, passage *candidate, weights map[terms.Term]float64, sum float64) float64 {
	// The share of the question's terms that the passage has anywhere.
	covered := 0.0
	for i, s := range w.terms {
		if !s.year && !s.synonym && passage.counts[i] != 0 {
			covered += s.idf
		}
	}
	covered /= sum
	bestMatch := 0.0
	for line := range strings.SplitSeq(passage.headers, "\n") {
		bestMatch = max(bestMatch, nameMatch(line, weights, sum))
	}
	if passage.fact {
		bestMatch = max(bestMatch, synonymMatch)
	}
	bestMatch = max(bestMatch, 0.8*nameMatch(passage.Section, weights, sum))
	years := 0.0 // the share of the question's years that the text contains
	if len(w.years) > 0 {
		for _, y := range w.years {
			if strings.Contains(passage.Text, strconv.Itoa(y)) {
				years++
			}
		}
		years /= float64(len(w.years))
	}
	pairs := pairShare(w, passage.Text)
	part := 0.0
	if slices.Contains(w.parts, passage.vector.Topic()) {
		part = 1
	}
	report := 0.0
	if len(w.years) > 0 && passage.Period.Year == slices.Max(w.years) {
		report = 1 // it is the report for the latest year that the question names
		if slices.ContainsFunc(w.periods, func(p kernel.Period) bool {
			return p.Quarter != 0 && p.Year == passage.Period.Year && p.Quarter == passage.Period.Quarter
		}) {
			report = 3 // and also for the quarter that the question names
		}
	}
	return reportWeight*report + covered + nameWeight*bestMatch + pairWeight*pairs + yearWeight*years + partWeight*part
}

// Weights of the parts of closeness, besides the share of the question's terms.
const (
	nameWeight   = 1
	pairWeight   = 1
	yearWeight   = 0.5
	partWeight   = 0.1
	reportWeight = 0.3
	synonymMatch = 0.5 // the name match of a passage with a fact of a metric of the question, under whatever name
)

// nameMatch returns how well a name matches the question, from 0 to 1: the weight of the question's terms in it,
// reduced by the share of its other words. weights and sum are those of closeness.
func nameMatch(line string, weights map[terms.Term]float64, sum float64) float64 {
	matched, known, all := 0.0, 0, 0
	for _, t := range terms.Of(line) {
		all++
		if weight, ok := weights[t]; ok {
			matched += weight
			known++
		}
	}
	if all == 0 || matched == 0 {
		return 0
	}
	return min(matched/sum, 1) * math.Sqrt(float64(known)/float64(all))
}

// pairShare returns the share of the question's word pairs that a text contains.
func pairShare(w *searchQuery, text string) float64 {
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
