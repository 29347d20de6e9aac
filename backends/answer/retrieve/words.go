package retrieve

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// maxTerms bounds the terms of a question with which passages are searched.
const maxTerms = 32

// searchQuery is a question in the form for a search: its terms, years, periods and metrics. parseQuery makes it. Then
// scan sets the field found of each term, and weigh the field idf, for the passages of the last scan. A searchQuery is
// used by one search only.
type searchQuery struct {
	terms []searchTerm
	years []int
	// periods are the periods that the question names, with their quarters.
	periods []kernel.Period
	// pairs are the pairs of words that follow each other in the question, joined by a space.
	pairs     []string
	metrics   []string // keys of the metrics that the question names
	parts     []byte   // the parts of a report that have these metrics, encoded as in vectors
	acceptAll bool     // passages without any of the terms are accepted too
	vague     bool     // all words of the question are instructionWords or years
}

// searchTerm is a term of a search, with its weight.
type searchTerm struct {
	term    terms.Term
	hash    uint32  // of the term, as in vectors
	word    string  // the term as it is written in the question; empty for a synonym
	weight  float64 // without the rarity of the term: 1, instructionWeight or synonymWeight
	year    bool
	synonym bool    // the term is a synonym, or from another name of a metric in the question
	found   int     // the number of scanned passages that have the term
	idf     float64 // weight multiplied by the rarity of the term among the scanned passages
}

// instructionWords holds words that tell what to do with a figure. Such words seldom occur near the figure.
var instructionWords = terms.SetOf(`change percentage percent difference average ratio proportion increase decrease increased decreased compare compared
		amount value year years respective nominal number sum calculate computed higher lower highest lowest larger greater more less than exceed
		reason due because why explain describe information table provide show following include included based
		across each every several overall reported report reports ongoing important material materially major main key primary primarily company recent currently history period periods end ended ending fiscal financial month months quarter date out list name`)

// instructionWeight is the weight of the instructionWords.
const instructionWeight = 0.25

// parseQuery returns the terms, years, periods and metrics of a question.
func parseQuery(text string) *searchQuery {
	w := &searchQuery{years: metrics.Years(text)}
	previous := "" // the word before, unless it has no stem
	terms.Each(text, func(word string) {
		t := terms.Stem(word)
		if t == "" || len(w.terms) == maxTerms {
			previous = ""
			return
		}
		if previous != "" {
			w.pairs = append(w.pairs, previous+" "+word)
		}
		previous = word
		if slices.ContainsFunc(w.terms, func(s searchTerm) bool { return s.term == t }) {
			return
		}
		s := searchTerm{term: t, hash: t.Hash(), word: word, weight: 1}
		digits := string(t)
		s.year = len(t) == 4 && strings.Trim(digits, "0123456789") == "" &&
			(strings.HasPrefix(digits, "19") || strings.HasPrefix(digits, "20"))
		if instructionWords[t] {
			s.weight = instructionWeight
		}
		w.terms = append(w.terms, s)
	})
	w.vague = !slices.ContainsFunc(w.terms, func(s searchTerm) bool { return s.weight == 1 && !s.year })
	for _, m := range metrics.Periods(text) {
		w.periods = append(w.periods, m.Period)
	}
	w.addMetrics(text)
	w.addSynonyms()
	return w
}

//go:embed synonyms.txt
var synonymsText string

// synonymGroups maps each term of synonyms.txt to all terms of the lines that contain it. Reports use the terms of a
// line for the same thing.
var synonymGroups = sync.OnceValue(func() map[terms.Term][]terms.Term {
	all := make(map[terms.Term][]terms.Term)
	for line := range strings.Lines(synonymsText) {
		if line[0] == '#' {
			continue
		}
		group := terms.Of(strings.ReplaceAll(line, ";", " "))
		for _, t := range group {
			all[t] = append(all[t], group...)
		}
	}
	return all
})

// synonymWeight is the weight of synonyms and of terms from other names of a metric.
const synonymWeight = 0.35

// addSynonym adds a term that the question itself does not have. It does nothing if w has the term already, or if w has
// maxTerms terms.
func (w *searchQuery) addSynonym(t terms.Term) {
	if len(w.terms) < maxTerms && !slices.ContainsFunc(w.terms, func(s searchTerm) bool { return s.term == t }) {
		w.terms = append(w.terms, searchTerm{term: t, hash: t.Hash(), weight: synonymWeight, synonym: true})
	}
}

// addMetrics adds the metrics that a question names: their keys, the parts of reports that state them, and the terms of
// all their names.
func (w *searchQuery) addMetrics(text string) {
	for _, m := range metrics.Find(text) {
		if slices.Contains(w.metrics, m.Metric.Key) {
			continue
		}
		w.metrics = append(w.metrics, m.Metric.Key)
		w.parts = append(w.parts, metrics.TopicOf(m.Metric.Statement))
		for _, name := range metrics.Names(m.Metric.Key) {
			for _, t := range terms.Of(name) {
				w.addSynonym(t)
			}
		}
	}
}

// addSynonyms adds the synonyms of the question's own terms, except those of instructionWords.
func (w *searchQuery) addSynonyms() {
	for _, s := range slices.Clone(w.terms) {
		if s.weight == 1 {
			for _, t := range synonymGroups()[s.term] {
				w.addSynonym(t)
			}
		}
	}
}

// weigh sets the idf of each term from its rarity among n passages.
func (w *searchQuery) weigh(n int) {
	for i := range w.terms {
		s := &w.terms[i]
		s.idf = s.weight * math.Log(1+(float64(n-s.found)+0.5)/(float64(s.found)+0.5))
	}
}
