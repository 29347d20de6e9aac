// Package retrieve finds the passages that a question is answered from.
//
// Filters come first: near-identical reports of other issuers and years are what
// misleads most. Among what is left, lists that rank by different signs are merged by
// reciprocal rank: the words of passages (BM25 over their parts), and the names of
// tables, rows and columns together with the facts in them. Pages of the web and dense
// vectors are further lists, where they are wired.
//
// All passages that the filters leave of an issuer are scored, by their vectors, with
// the weights that words have among them. The full-text index proposes passages where no
// issuer is named, or where there are too many of them to score all.
package retrieve

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Options are how a Retriever works. The zero Options are good.
type Options struct {
	// Most is how many passages an answer has. Default: 12.
	Most int
	// MostTokens is how many tokens they have together. Default: 8,000.
	MostTokens int
	// Web is a provider of web search, for a list of its own; nil: there is none.
	Web Web
	// Dense makes vectors of meaning, for a list of its own; nil: there are none. The
	// corpus has those of its passages once Embed has made them.
	Dense Embedder
}

// Retriever finds passages of a corpus.
type Retriever struct {
	corpus  *corpus.Corpus
	options Options
	sample  sample
	enough  int
}

// New makes a retriever.
func New(c *corpus.Corpus, o Options) *Retriever {
	o.Most = cmp.Or(o.Most, 12)
	o.MostTokens = cmp.Or(o.MostTokens, 8_000)
	return &Retriever{corpus: c, options: o, enough: enough}
}

// Query is what is looked for.
type Query struct {
	// Text is the question, or a part of it that stands alone.
	Text    string
	Filters kernel.Filters
	// Inquiry is the question as far as it asks for figures of one issuer; nil: it does not. The passages that it is
	// answered of come first, and the facts that it needs are among those of the result.
	Inquiry *inquiry.Inquiry
	// Most and MostTokens are in the place of those of the Options; 0: they are not.
	Most, MostTokens int
	// Wide looks beyond the period and the kind from the beginning.
	Wide bool
	// Outside is how long providers of vectors and of the web's pages are waited for; 0: as
	// long as for the corpus.
	Outside time.Duration
}

// Result is what was found.
type Result struct {
	// Passages are the best first; behind them those before and after the first four of
	// them, where there is room.
	Passages []kernel.Passage
	// Facts are those of the issuers, metrics and periods that the query names, the
	// latest first.
	Facts []kernel.Fact
	// Dropped are the filters that were given up, "period" and "kind", in this order:
	// fewer than three passages were found with them.
	Dropped []string
	// Lacking tells that a provider, of vectors or of the web's pages, has given nothing.
	Lacking bool
}

// fewest is how many passages a filter has to leave.
const fewest = 3

// Search finds passages. None is no error.
func (r *Retriever) Search(ctx context.Context, q Query) (Result, error) {
	q.Most = cmp.Or(q.Most, r.options.Most)
	q.MostTokens = cmp.Or(q.MostTokens, r.options.MostTokens)
	var result Result
	w := parse(q.Text)
	if len(w.terms) == 0 {
		return result, nil
	}
	f := q.Filters
	if q.Wide {
		f.Periods, f.Kinds = nil, nil
	}
	outside := ctx
	if q.Outside > 0 {
		limited, cancel := context.WithTimeout(ctx, q.Outside)
		defer cancel()
		outside = limited
	}
	var meaning []float32
	var mark []byte
	if r.options.Dense != nil {
		var err error
		if meaning, mark, err = r.corpus.Meaning(outside, r.options.Dense, q.Text); err != nil { // words do without
			result.Lacking = true
			r.corpus.Logger().Warn("vectors of meaning", zap.Error(err))
		}
		w.all = meaning != nil
	}
	var ranked, front []*candidate
	var others []ranking
	within := make(map[int64]bool) // what was found before a filter was given up
	err := r.corpus.Read(ctx, func(c kernel.Conn) (err error) {
		for {
			var all []*candidate
			all, err = r.candidates(ctx, c, w, f)
			if err != nil {
				return err
			}
			if len(all) >= fewest || len(f.Periods) == 0 && len(f.Kinds) == 0 {
				ranked = score(w, all)
				break
			}
			for _, one := range all {
				within[one.ID] = true
			}
			if len(f.Periods) > 0 {
				f.Periods = nil
				result.Dropped = append(result.Dropped, "period")
			} else {
				f.Kinds = nil
				result.Dropped = append(result.Dropped, "kind")
			}
		}
		dense := r.byMeaning(c, meaning, mark, ranked)
		ranked = ranked[:min(deep, len(ranked))]
		if len(dense) > 0 {
			others = append(others, ranking{dense, denseList})
		}
		if err := load(c, union(ranked, dense)); err != nil {
			return err
		}
		if result.Facts, err = facts(c, w, ranked, q.Filters); err != nil || len(q.Filters.Issuers) != 1 {
			return err
		}
		var more []kernel.Fact
		if front, more, err = stated(c, w, q.Inquiry, q.Filters.Issuers[0]); q.Inquiry != nil {
			result.Facts = append(result.Facts, more...)
		}
		return err
	})
	if err != nil {
		return result, err
	}
	lists := []ranking{{ranked, lexicalList}, {r.byNames(w, ranked), namesList}}
	lists = append(lists, others...)
	if r.options.Web != nil {
		if found, err := r.fromWeb(outside, q.Text, q.Filters.Issuers); err != nil { // the corpus may do
			result.Lacking = true
			r.corpus.Logger().Warn("web search", zap.Error(err))
		} else {
			lists = append(lists, ranking{found, webList})
		}
	}
	merged := merge(lists...)
	if len(q.Filters.Periods) == 0 {
		recent(merged)
	}
	slices.SortStableFunc(merged, func(a, b *candidate) int { // what is beyond a filter comes behind
		switch {
		case within[a.ID] == within[b.ID]:
			return 0
		case within[a.ID]:
			return -1
		}
		return 1
	})
	for _, one := range merged {
		if !slices.ContainsFunc(front, func(other *candidate) bool { return other.ID == one.ID }) {
			front = append(front, one)
		}
	}
	result.Passages = choose(front, q.Most, q.MostTokens)
	err = r.corpus.Read(ctx, func(c kernel.Conn) error { return neighbours(c, &result, q) })
	return result, err
}

// deep is how many passages are looked at closely.
const deep = 80

// reciprocal is the k of reciprocal rank fusion.
const reciprocal = 60

// ranking is a list of passages, the best first, with what it counts beside others.
type ranking struct {
	list   []*candidate
	weight float64
}

// What the lists count. Which words a passage has is the weakest of the signs, once
// those without them are out: the weights were measured on long reports.
const (
	lexicalList = 0.25
	namesList   = 1
	webList     = 0.5
	denseList   = 1
)

// merge gives each passage the sum of its reciprocal ranks in all lists, and sorts.
func merge(lists ...ranking) []*candidate {
	var all []*candidate
	for _, l := range lists {
		for rank, one := range l.list {
			if !one.merged {
				one.merged = true
				all = append(all, one)
			}
			one.Score += l.weight / float64(reciprocal+rank+1)
		}
	}
	slices.SortStableFunc(all, better)
	return all
}

// better orders by score, and equal ones by their number, so that it is one order.
func better(a, b *candidate) int {
	if c := cmp.Compare(b.Score, a.Score); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

// halfLife is how old news is when half of its advantage is gone, and advantage what that
// is of its score. Reciprocal ranks lie close together: if all of the score were halved,
// every report would be before news of the day before yesterday.
const (
	halfLife  = 90 * 24 * time.Hour
	advantage = 0.05 // a twentieth is about three places
)

// recent makes news count less that is older than other news, where no period is asked for.
func recent(all []*candidate) {
	var newest time.Time
	for _, one := range all {
		if one.Kind == kernel.News && one.Published.After(newest) {
			newest = one.Published
		}
	}
	some := false
	for _, one := range all {
		if one.Kind == kernel.News && !one.Published.IsZero() {
			age := newest.Sub(one.Published)
			one.Score *= 1 - advantage + advantage*exp2(-float64(age)/float64(halfLife))
			some = true
		}
	}
	if some {
		slices.SortStableFunc(all, better)
	}
}

// nearDuplicate is the share of their terms that two passages have in common of which
// one is enough. Tables of two years have the same names, and other figures.
const nearDuplicate = 0.95

// choose takes the best that are no near duplicates of better ones.
func choose(all []*candidate, most, mostTokens int) []kernel.Passage {
	var chosen []kernel.Passage
	var vectors []*candidate
	tokens := 0
	for _, one := range all {
		if len(chosen) == most {
			break
		}
		if tokens+one.Tokens > mostTokens || slices.ContainsFunc(vectors, func(other *candidate) bool { return one.vector.Overlap(other.vector) >= nearDuplicate }) {
			continue
		}
		tokens += one.Tokens
		chosen = append(chosen, one.Passage)
		vectors = append(vectors, one)
	}
	return chosen
}
