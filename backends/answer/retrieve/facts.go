package retrieve

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// facts are those of the metrics that are asked for. The passages that they stand in are
// marked.
func facts(c kernel.Conn, w *wanted, all []*candidate, f kernel.Filters) ([]kernel.Fact, error) {
	if len(w.metrics) == 0 || len(f.Issuers) == 0 {
		return nil, nil
	}
	found, err := corpus.FactsOf(c, corpus.FactQuery{Issuers: f.Issuers, Metrics: w.metrics})
	if err != nil {
		return nil, err
	}
	in := make(map[int64]bool, len(found))
	kept := found[:0]
	for _, one := range found {
		in[one.Passage] = true
		if len(f.Periods) == 0 || named(one.Period, f.Periods) {
			kept = append(kept, one)
		}
	}
	for _, one := range all {
		one.fact = in[one.ID]
	}
	return kept, nil
}

// named reports whether a period may be one of those that a question names.
func named(p kernel.Period, periods []kernel.Period) bool {
	return slices.ContainsFunc(periods, p.Same)
}
