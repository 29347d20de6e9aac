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
	// Dense makes embedding vectors, which add a list of their own. It may be nil. Passages have vectors only after
	// corpus.Embed has made them.
	Dense Embedder
}

// Retriever finds passages of a corpus. It is safe for concurrent use.
type Retriever struct {
	corpus  *corpus.Corpus
	options Options
	sample  sample
	enough  int // the constant enough, except in tests
}

// New returns a Retriever of the corpus c.
func New(c *corpus.Corpus, o Options) *Retriever {
	o.Limit = cmp.Or(o.Limit, 12)
	o.MaxTokens = cmp.Or(o.MaxTokens, 8_000)
	return &Retriever{corpus: c, options: o, enough: enough}
}

// Query describes a search.
type Query struct {
	// Text is the question, or a part of it that stands alone.
	Text    string
	Filters kernel.Filters
	// Inquiry is the question as a calculation with the figures of one issuer, or nil. The passages that answer it come
	// first, and the facts that it needs are in the result.
	Inquiry *inquiry.Calculation
	// Limit and MaxTokens override those of the Options unless they are 0.
	Limit, MaxTokens int
	// Wide ignores the filter of periods from the beginning.
	Wide bool
	// ProviderLimit limits the time for providers of vectors and web pages. With 0 they may take as long as the whole
	// search.
	ProviderLimit time.Duration
}

// Result is the result of a search.
type Result struct {
	// Passages are the passages found, best first.
	Passages []kernel.Passage
	// Facts are the facts of the issuers, metrics and periods that the query names, the latest first.
	Facts []kernel.Fact
	// Dropped lists the filters that were not applied because fewer than three passages were found with them. The only
	// such filter is "period".
	Dropped []string
	// Degraded reports that a provider of vectors or web pages has failed.
	Degraded bool
}

// minPassages is the number of passages below which a filter is dropped.
const minPassages = 3

// Search finds passages. It returns no error if there are no passages, or if a provider of vectors or web pages fails
// (see Result.Degraded).
func (r *Retriever) Search(ctx context.Context, q Query) (Result, error) {
	q.Limit = cmp.Or(q.Limit, r.options.Limit)
	q.MaxTokens = cmp.Or(q.MaxTokens, r.options.MaxTokens)
	s := &search{Retriever: r, query: q, words: parseQuery(q.Text)}
	if len(s.words.terms) == 0 {
		return s.result, nil
	}
	providerContext := ctx
	if q.ProviderLimit > 0 {
		limited, cancel := context.WithTimeout(ctx, q.ProviderLimit)
		defer cancel()
		providerContext = limited
	}
	meaning, mark, failed := r.questionVector(providerContext, q.Text)
	s.result.Degraded = failed
	s.words.acceptAll = meaning != nil
	err := r.corpus.Read(ctx, func(c kernel.Conn) error { return s.readCorpus(ctx, c, meaning, mark) })
	if err != nil {
		return s.result, err
	}
	s.readWeb(providerContext)
	s.result.Passages = choose(s.ordered(), q.Limit, q.MaxTokens)
	return s.result, nil
}

// search is a search in progress.
type search struct {
	*Retriever
	query         Query // with the defaults of the options
	words         *searchQuery
	lists         []ranking      // the passages, ranked in several ways
	answering     []*candidate   // the passages with the facts of the answer
	matchesFilter map[int64]bool // the passages that were found before the filter of periods was dropped
	result        Result
}

// readCorpus finds the passages of the corpus and ranks them. meaning and mark are the results of questionVector. The
// results are stored in the fields lists, answering and matchesFilter of s, and in Facts and Dropped of its result.
func (s *search) readCorpus(ctx context.Context, c kernel.Conn, meaning []float32, mark []byte) error {
	w, f := s.words, s.query.Filters
	if s.query.Wide {
		f.Periods = nil
	}
	all, err := s.candidates(ctx, c, w, f)
	if err != nil {
		return err
	}
	s.matchesFilter = make(map[int64]bool)
	if len(all) < minPassages && len(f.Periods) > 0 { // search again without the filter of periods
		for _, passage := range all {
			s.matchesFilter[passage.ID] = true
		}
		f.Periods = nil
		s.result.Dropped = []string{"period"}
		if all, err = s.candidates(ctx, c, w, f); err != nil {
			return err
		}
	}
	ranked := score(w, all)
	// byMeaning gets all passages, so that it also finds those beyond the first maxRanked.
	dense := s.byMeaning(c, meaning, mark, ranked)
	ranked = ranked[:min(maxRanked, len(ranked))]
	if err := load(c, union(ranked, dense)); err != nil {
		return err
	}
	// The function facts also records which passages contain a fact of the question's metrics; byNames uses this.
	if s.result.Facts, err = facts(c, w, ranked, s.query.Filters); err != nil {
		return err
	}
	s.lists = []ranking{{ranked, lexicalList}, {s.byNames(w, ranked), namesList}}
	if len(dense) > 0 {
		s.lists = append(s.lists, ranking{dense, denseList})
	}
	if len(s.query.Filters.Issuers) != 1 {
		return nil
	}
	var needed []kernel.Fact
	s.answering, needed, err = fromStatements(c, w, s.query.Inquiry, s.query.Filters.Issuers[0])
	if s.query.Inquiry != nil {
		s.result.Facts = append(s.result.Facts, needed...)
	}
	return err
}

// readWeb adds the passages that the web search finds to s.lists, if a web search is configured. If the search fails,
// the corpus is used alone.
func (s *search) readWeb(ctx context.Context) {
	if s.options.Web == nil {
		return
	}
	found, err := s.fromWeb(ctx, s.query.Text, s.query.Filters.Issuers)
	if err != nil {
		s.result.Degraded = true
		s.corpus.Logger().Warn("the web search failed, so only the corpus was searched", zap.Error(err))
		return
	}
	s.lists = append(s.lists, ranking{found, webList})
}

// ordered returns the passages of all lists in their final order, without repetitions: those with the facts of the
// answer, then the others by their merged ranks, with those outside a dropped filter last.
func (s *search) ordered() []*candidate {
	merged := merge(s.lists...)
	if len(s.query.Filters.Periods) == 0 {
		lowerOldNews(merged)
	}
	slices.SortStableFunc(merged, func(a, b *candidate) int {
		switch {
		case s.matchesFilter[a.ID] == s.matchesFilter[b.ID]:
			return 0
		case s.matchesFilter[a.ID]:
			return -1
		}
		return 1
	})
	ordered := slices.Clone(s.answering)
	for _, passage := range merged { // passages of the web have no id, but they are never in s.answering
		if !slices.ContainsFunc(s.answering, func(other *candidate) bool { return other.ID == passage.ID }) {
			ordered = append(ordered, passage)
		}
	}
	return ordered
}

// questionVector returns the embedding vector of a question and the mark that identifies its model. The vector is nil
// without an embedder, if the passages have no vectors yet, or if the embedder fails; failed reports the latter.
// Passages are then ranked by words alone.
func (r *Retriever) questionVector(ctx context.Context, text string) (vector []float32, mark []byte, failed bool) {
	if r.options.Dense == nil {
		return nil, nil, false
	}
	vector, mark, err := r.corpus.QueryVector(ctx, r.options.Dense, text)
	if err != nil {
		r.corpus.Logger().Warn("no embedding vector for a question, so passages are ranked by words alone", zap.Error(err))
	}
	return vector, mark, err != nil
}

// maxRanked is how many of the best passages of a list are read and ranked further.
const maxRanked = 80

// reciprocal is the constant k of reciprocal rank fusion.
const reciprocal = 60

// ranking is a list of passages, best first, with its weight.
type ranking struct {
	list   []*candidate
	weight float64
}

// Weights of the lists. They were measured on long reports, only on passages that have a word of the question. Among
// these, the ranking by words is the weakest.
const (
	lexicalList = 0.25
	namesList   = 1
	webList     = 0.5
	denseList   = 1
)

// merge merges lists by reciprocal rank fusion. It adds the weighted reciprocal ranks of each passage in all lists to
// its Score, and returns the passages sorted by score, the best first.
func merge(lists ...ranking) []*candidate {
	var all []*candidate
	for _, l := range lists {
		for rank, passage := range l.list {
			if !passage.merged {
				passage.merged = true
				all = append(all, passage)
			}
			passage.Score += l.weight / float64(reciprocal+rank+1)
		}
	}
	slices.SortStableFunc(all, compareScores)
	return all
}

// compareScores compares candidates by descending score and then by id, so that the order is always the same.
func compareScores(a, b *candidate) int {
	if c := cmp.Compare(b.Score, a.Score); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

// advantage is the share of its score that a news item loses with age, and halfLife is the age at which half of this
// share is lost. The share is small because the scores, sums of reciprocal ranks, differ little: if the whole score
// were halved, news of the day before yesterday would already come after every report.
const (
	halfLife  = 90 * 24 * time.Hour
	advantage = 0.05 // a twentieth is about three places
)

// lowerOldNews lowers the scores of news by their age, compared with the newest news, and sorts the candidates by score
// again. It is called if the question names no period.
func lowerOldNews(candidates []*candidate) {
	var newest time.Time
	for _, passage := range candidates {
		if passage.Kind == kernel.News && passage.Published.After(newest) {
			newest = passage.Published
		}
	}
	changed := false
	for _, passage := range candidates {
		if passage.Kind == kernel.News && !passage.Published.IsZero() {
			age := newest.Sub(passage.Published)
			passage.Score *= 1 - advantage + advantage*math.Exp2(-float64(age)/float64(halfLife))
			changed = true
		}
	}
	if changed {
		slices.SortStableFunc(candidates, compareScores)
	}
}

// nearDuplicate is the least share of terms that two near duplicates have in common. It is high because tables of two
// years have the same names, and differ only in their figures.
const nearDuplicate = 0.95

// choose returns the best passages that are not near duplicates of better ones: at most limit passages, with at most
// maxTokens tokens in all.
func choose(candidates []*candidate, limit, maxTokens int) []kernel.Passage {
	var chosen []kernel.Passage
	var selection []*candidate
	tokens := 0
	for _, passage := range candidates {
		if len(chosen) == limit {
			break
		}
		repeats := func(other *candidate) bool { return passage.vector.Overlap(other.vector) >= nearDuplicate }
		if tokens+passage.Tokens > maxTokens || slices.ContainsFunc(selection, repeats) {
			continue
		}
		tokens += passage.Tokens
		chosen = append(chosen, passage.Passage)
		selection = append(selection, passage)
	}
	return chosen
}
