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

// maxTerms bounds the terms of a question that are looked for.
const maxTerms = 32

// wanted holds what a question is searched by: its terms, years, periods and metrics.
type wanted struct {
	terms []sought
	years []int
	// periods are those that the question names, with their quarters.
	periods []kernel.Period
	// pairs are words that follow each other, joined by a space.
	pairs   []string
	metrics []string // keys of the metrics that the question names
	parts   []byte   // the parts of a report that have these metrics, encoded as in vectors
	all     bool     // passages without any of the terms are accepted too
	vague   bool     // the question has no other words than those in asking
}

// sought is a term that is searched for, with its weight.
type sought struct {
	term   terms.Term
	hash   uint32
	word   string
	weight float64 // before it is multiplied by the rarity
	year   bool
	other  bool // it is from another name of a metric that the question names
	found  int  // the number of passages that have it
	idf    float64
}

// asking holds words that say what to do with what is looked for, and that seldom stand beside it.
var asking = func() map[terms.Term]bool {
	set := make(map[terms.Term]bool)
	for w := range strings.FieldsSeq(`change percentage percent difference average ratio proportion increase decrease increased decreased compare compared
		amount value year years respective nominal number sum calculate computed higher lower highest lowest larger greater more less than exceed
		reason due because why explain describe information table provide show following include included based
		across each every several overall reported report reports ongoing important material materially major main key primary primarily company recent currently history period periods end ended ending fiscal financial month months quarter date out list name`) {
		if t := terms.Stem(w); t != "" {
			set[t] = true
		}
	}
	return set
}()

// askingWeight is the weight of the words in asking.
const askingWeight = 0.25

// parse returns the terms, years, periods and metrics of a question.
func parse(text string) *wanted {
	w := &wanted{years: metrics.Years(text)}
	last := ""
	terms.Each(text, func(word string) {
		t := terms.Stem(word)
		if t == "" || len(w.terms) == maxTerms {
			last = ""
			return
		}
		if last != "" {
			w.pairs = append(w.pairs, last+" "+word)
		}
		last = word
		if slices.ContainsFunc(w.terms, func(s sought) bool { return s.term == t }) {
			return
		}
		s := sought{term: t, hash: t.Hash(), word: word, weight: 1}
		s.year = len(t) == 4 && (strings.HasPrefix(string(t), "19") || strings.HasPrefix(string(t), "20")) &&
			strings.Trim(string(t), "0123456789") == ""
		if asking[t] {
			s.weight = askingWeight
		}
		w.terms = append(w.terms, s)
	})
	w.vague = !slices.ContainsFunc(w.terms, func(s sought) bool { return s.weight == 1 && !s.year })
	for _, m := range metrics.Periods(text) {
		w.periods = append(w.periods, m.Period)
	}
	w.synonyms(text)
	return w
}

//go:embed synonyms.txt
var synonymsText string

// alike maps each term to the terms that sections use for the same thing.
var alike = sync.OnceValue(func() map[terms.Term][]terms.Term {
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

// otherWeight is the weight of a term from another name of a metric.
const otherWeight = 0.35

// synonyms adds the terms of the other names of the metrics that a text names.
func (w *wanted) synonyms(text string) {
	add := func(t terms.Term) {
		if len(w.terms) < maxTerms && !slices.ContainsFunc(w.terms, func(s sought) bool { return s.term == t }) {
			w.terms = append(w.terms, sought{term: t, hash: t.Hash(), weight: otherWeight, other: true})
		}
	}
	for _, m := range metrics.Find(text) {
		if slices.Contains(w.metrics, m.Metric.Key) {
			continue
		}
		w.metrics = append(w.metrics, m.Metric.Key)
		w.parts = append(w.parts, metrics.TopicOf(m.Metric.Statement))
		for _, name := range metrics.Names(m.Metric.Key) {
			for _, t := range terms.Of(name) {
				add(t)
			}
		}
	}
	for _, s := range slices.Clone(w.terms) {
		if s.weight == 1 {
			for _, t := range alike()[s.term] {
				add(t)
			}
		}
	}
}

// weigh sets the weight of each term from its rarity among n passages.
func (w *wanted) weigh(n int) {
	for i := range w.terms {
		s := &w.terms[i]
		s.idf = s.weight * math.Log(1+(float64(n-s.found)+0.5)/(float64(s.found)+0.5))
	}
}
