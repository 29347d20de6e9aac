package retrieve

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// facts returns the facts of the metrics and the periods that the question names. In the field fact of each candidate
// it records whether the candidate contains a fact of these metrics. Without issuers facts returns nothing.
func facts(c kernel.Conn, w *searchQuery, candidates []*candidate, f kernel.Filters) ([]kernel.Fact, error) {
	if len(w.metrics) == 0 || len(f.Issuers) == 0 {
		return nil, nil
	}
	found, err := corpus.FactsOf(c, corpus.FactQuery{Issuers: f.Issuers, Metrics: w.metrics})
	if err != nil {
		return nil, err
	}
	hasFact := make(map[int64]bool, len(found))
	inPeriods := found[:0]
	for _, fact := range found {
		hasFact[fact.Passage] = true
		if len(f.Periods) == 0 || inAnyOf(fact.Period, f.Periods) {
			inPeriods = append(inPeriods, fact)
		}
	}
	for _, passage := range candidates {
		passage.fact = hasFact[passage.ID]
	}
	return inPeriods, nil
}

// inAnyOf reports whether a period may be the same as one of periods.
func inAnyOf(p kernel.Period, periods []kernel.Period) bool {
	return slices.ContainsFunc(periods, p.MayEqual)
}

// maxStatementFacts bounds the facts for an inquiry.
const maxStatementFacts = 4000

// fromStatements returns the passages with the facts of an issuer from which a calculation is made. It also returns
// all facts of the issuer for the metrics of the calculation. If calculation is nil, fromStatements uses the metrics
// and the periods that the question names, and returns at most maxWithoutInquiry passages.
func fromStatements(
	c kernel.Conn, w *searchQuery, calculation *inquiry.Calculation, issuer int64,
) (passages []*candidate, found []kernel.Fact, err error) {
	keys := append(inquiry.StatementSigns(), w.metrics...)
	if calculation != nil {
		keys = calculation.Metrics()
	}
	found, err = corpus.FactsOf(c, corpus.FactQuery{Issuers: []int64{issuer}, Metrics: keys, Limit: maxStatementFacts})
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	book := inquiry.NewBook(found)
	var needs []inquiry.Need
	if calculation != nil {
		_, needs = calculation.Answer(book) // book.Used then returns the facts that it found
	} else {
		for _, metric := range w.metrics {
			for _, p := range w.periods {
				needs = append(needs, inquiry.Need{Metric: metric, Period: inquiry.Period{Year: p.AnyYear(), Quarter: p.Quarter}})
			}
		}
	}
	var ids []int64
	add := func(id int64) {
		if id != 0 && !slices.Contains(ids, id) && (calculation != nil || len(ids) < maxWithoutInquiry) {
			ids = append(ids, id)
		}
	}
	for _, used := range book.Used() {
		add(used.Passage)
	}
	for _, f := range book.FactsFor(needs) {
		add(f.Passage)
	}
	passages, err = passagesOf(c, ids)
	return passages, found, err
}

// maxWithoutInquiry bounds the passages that fromStatements returns for a nil calculation.
const maxWithoutInquiry = 3

// passagesOf reads the passages with the given ids, in the order of ids.
func passagesOf(c kernel.Conn, ids []int64) ([]*candidate, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	condition, list := corpus.Among(c, "chunk_id", ids)
	all, _, err := scan(c, &searchQuery{acceptAll: true}, condition, []any{list})
	if err == nil {
		err = load(c, all)
	}
	slices.SortStableFunc(all, func(a, b *candidate) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return all, err
}
