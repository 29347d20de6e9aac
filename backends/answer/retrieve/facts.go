package retrieve

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// facts returns the facts of the metrics that the question names, in the periods that it names. It marks the
// candidates that contain a fact of these metrics. Without issuers it returns none.
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

// maxStated bounds the facts that an inquiry is answered from.
const maxStated = 4000

// stated returns the passages of the facts that answer an inquiry, and all facts of its metrics. With a nil
// inquiry these are the metrics that the question names, in its periods.
func stated(
	c kernel.Conn, w *wanted, q *inquiry.Calculation, issuer int64,
) (passages []*candidate, found []kernel.Fact, err error) {
	keys := append(inquiry.Signs(), w.metrics...)
	if q != nil {
		keys = q.Metrics()
	}
	found, err = corpus.FactsOf(c, corpus.FactQuery{Issuers: []int64{issuer}, Metrics: keys, Limit: maxStated})
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	book := inquiry.NewBook(found)
	var needs []inquiry.Need
	if q != nil {
		_, needs = q.Answer(book)
	} else {
		for _, metric := range w.metrics {
			for _, p := range w.periods {
				needs = append(needs, inquiry.Need{Metric: metric, Period: inquiry.Period{Year: p.AnyYear(), Quarter: p.Quarter}})
			}
		}
	}
	var ids []int64
	add := func(id int64) {
		if id != 0 && !slices.Contains(ids, id) && (q != nil || len(ids) < maxBeside) {
			ids = append(ids, id)
		}
	}
	for _, used := range book.Used() {
		add(used.Passage)
	}
	for _, f := range book.Beside(needs) {
		add(f.Passage)
	}
	passages, err = passagesOf(c, ids)
	return passages, found, err
}

// maxBeside bounds the passages of statements that are put before others if there is no inquiry.
const maxBeside = 3

// passagesOf reads the passages with the given ids, in the order of ids.
func passagesOf(c kernel.Conn, ids []int64) ([]*candidate, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	all, _, err := scan(c, &wanted{all: true}, "chunk_id IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(ids)), ", ")+
		")", args)
	if err == nil {
		err = load(c, all)
	}
	slices.SortStableFunc(all, func(a, b *candidate) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return all, err
}
