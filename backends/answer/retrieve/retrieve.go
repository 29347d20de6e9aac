// Package retrieve finds the passages that a question is answered from.
//
// Filters come first, because near-identical reports of other issuers and years mislead most. The passages
// that are left are ranked by several lists, which are merged by reciprocal rank: one by the words of
// passages (BM25 over their parts), and one by the names of tables, rows and columns together with the facts
// in them. Web pages and dense vectors are further lists, if they are configured.
//
// All passages of an issuer that the filters leave are scored by their vectors, with the weights that words
// have among them. The full-text index proposes passages if no issuer is named, or if there are too many
// passages to score all.
package retrieve

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Options configure a Retriever. The zero Options are usable.
type Options struct {
	// Limit is the largest number of passages in a result. Default: 12.
	Limit int
	// MaxTokens is the largest number of tokens in the passages of a result. Default: 8,000.
	MaxTokens int
	// Web is a provider of web search, which adds a list of its own. It may be nil.
	Web Web
	// Dense makes embedding vectors, which add a list of their own. It may be nil. The corpus has the vectors of
	// its passages once Embed has made them.
	Dense Embedder
}

// Retriever finds passages of a corpus. It is safe for concurrent use.
type Retriever struct {
	corpus  *corpus.Corpus
	options Options
	sample  sample
	enough  int
}

// New returns a Retriever of the corpus c.
func New(c *corpus.Corpus, o Options) *Retriever {
	o.Limit = cmp.Or(o.Limit, 12)
	o.MaxTokens = cmp.Or(o.MaxTokens, 8_000)
	return &Retriever{corpus: c, options: o, enough: enough}
}

// Query describes what is looked for.
type Query struct {
	// Text is the question, or a part of it that stands alone.
	Text    string
	Filters kernel.Filters
	// Inquiry is the question in so far as it asks for figures of one issuer, or nil. The passages that answer
	// it come first, and the facts that it needs are among those of the result.
	Inquiry *inquiry.Calculation
	// Limit and MaxTokens override those of the Options unless they are 0.
	Limit, MaxTokens int
	// Wide ignores the filter of periods from the beginning.
	Wide bool
	// Outside limits the time that is spent on providers of vectors and web pages. With 0 they have as long as
	// the whole search.
	Outside time.Duration
}

// Result is what was found.
type Result struct {
	// Passages are the passages found, best first, followed by the neighbours of the first four of them if there
	// is room.
	Passages []kernel.Passage
	// Facts are the facts of the issuers, metrics and periods that the query names, the latest first.
	Facts []kernel.Fact
	// Dropped lists the filters that were given up, which may be "period", because fewer than three passages were
	// found with them.
	Dropped []string
	// Lacking reports that a provider of vectors or web pages has failed.
	Lacking bool
}

// fewest is the number of passages below which a filter is given up.
const fewest = 3

// Search finds passages. It is no error if there are none, or if a provider of vectors or web pages fails
// (see Result.Lacking).
func (r *Retriever) Search(ctx context.Context, q Query) (Result, error) {
	q.Limit = cmp.Or(q.Limit, r.options.Limit)
	q.MaxTokens = cmp.Or(q.MaxTokens, r.options.MaxTokens)
	var result Result
	w := parse(q.Text)
	if len(w.terms) == 0 {
		return result, nil
	}
	f := q.Filters
	if q.Wide {
		f.Periods = nil
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
		// The ranking by words has to do.
		if meaning, mark, err = r.corpus.Meaning(outside, r.options.Dense, q.Text); err != nil {
			result.Lacking = true
			r.corpus.Logger().Warn("vectors of meaning", zap.Error(err))
		}
		w.all = meaning != nil
	}
	var ranked, front []*candidate
	var others []ranking
	within := make(map[int64]bool) // the passages that were found before a filter was given up
	err := r.corpus.Read(ctx, func(c kernel.Conn) (err error) {
		for {
			var all []*candidate
			all, err = r.candidates(ctx, c, w, f)
			if err != nil {
				return err
			}
			if len(all) >= fewest || len(f.Periods) == 0 {
				ranked = score(w, all)
				break
			}
			for _, one := range all {
				within[one.ID] = true
			}
			f.Periods = nil
			result.Dropped = append(result.Dropped, "period")
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
		if found, err := r.fromWeb(outside, q.Text, q.Filters.Issuers); err != nil { // the corpus has to do
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
	slices.SortStableFunc(merged, func(a, b *candidate) int { // passages outside a dropped filter come last
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
	result.Passages = choose(front, q.Limit, q.MaxTokens)
	err = r.corpus.Read(ctx, func(c kernel.Conn) error { return neighbours(c, &result, q) })
	return result, err
}

// deep is how many passages are looked at closely.
const deep = 80

// reciprocal is the constant k of reciprocal rank fusion.
const reciprocal = 60

// ranking is a list of passages, best first, with its weight.
type ranking struct {
	list   []*candidate
	weight float64
}

// Weights of the lists. They were measured on long reports: once passages without the question's words are
// out, which of the words a passage has is the weakest sign.
const (
	lexicalList = 0.25
	namesList   = 1
	webList     = 0.5
	denseList   = 1
)

// merge adds the weighted reciprocal ranks of each passage in all lists to its score, and returns the
// passages sorted by score.
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

// better compares candidates by descending score and then by id, so that the order is total.
func better(a, b *candidate) int {
	if c := cmp.Compare(b.Score, a.Score); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

// halfLife is the age at which news have lost half of their advantage, and advantage is the share of the
// score that it is. Reciprocal ranks lie close together: if the whole score were halved, every report would
// come before news of the day before yesterday.
const (
	halfLife  = 90 * 24 * time.Hour
	advantage = 0.05 // a twentieth is about three places
)

// recent lowers the scores of news relative to their age against the newest news. It is called if the
// question names no period.
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
			one.Score *= 1 - advantage + advantage*math.Exp2(-float64(age)/float64(halfLife))
			some = true
		}
	}
	if some {
		slices.SortStableFunc(all, better)
	}
}

// nearDuplicate is the share of common terms from which on one of two passages is enough. Tables of two years
// have the same names, and other figures.
const nearDuplicate = 0.95

// choose returns the best passages that are not near duplicates of better ones, at most limit with at most
// mostTokens tokens.
func choose(all []*candidate, limit, mostTokens int) []kernel.Passage {
	var chosen []kernel.Passage
	var vectors []*candidate
	tokens := 0
	for _, one := range all {
		if len(chosen) == limit {
			break
		}
		repeats := func(other *candidate) bool { return one.vector.Overlap(other.vector) >= nearDuplicate }
		if tokens+one.Tokens > mostTokens || slices.ContainsFunc(vectors, repeats) {
			continue
		}
		tokens += one.Tokens
		chosen = append(chosen, one.Passage)
		vectors = append(vectors, one)
	}
	return chosen
}
