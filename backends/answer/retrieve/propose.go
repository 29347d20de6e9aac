package retrieve

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Bounds of the proposals from the full-text index.
const (
	maxProposed  = 300  // the latest passages that one query finds
	sampleSize   = 1500 // the passages in a sample
	fewProposals = 60   // with this many proposals no looser query is made
)

// sample is an evenly spaced sample of passage vectors. The frequency of a term among them estimates its
// frequency in the corpus.
type sample struct {
	mu      sync.Mutex // guards the fields below
	version int64      // of the corpus when the sample was taken
	vectors []terms.Vector
	last    int64 // the greatest id of a passage
}

// current returns the sampled vectors and the id of the last passage. If the corpus has changed since the last call, it
// takes a new sample.
func (s *sample) current(ctx context.Context, r *Retriever) (vectors []terms.Vector, last int64, err error) {
	version, err := r.corpus.Version(ctx)
	if err != nil {
		return nil, 0, err
	}
	// The lock is not held while the database is read, so that other searches do not wait. If a goroutine stores the
	// sample of an older version last, the next search takes a new one.
	s.mu.Lock()
	vectors, last, cachedVersion := s.vectors, s.last, s.version
	s.mu.Unlock()
	if cachedVersion == version {
		return vectors, last, nil
	}
	vectors = nil // callers still use the old array
	err = r.corpus.Read(ctx, func(c kernel.Conn) error {
		var first int64
		if err := c.Row("SELECT COALESCE(min(id), 0), COALESCE(max(id), 0) FROM answer_chunks").Scan(&first,
			&last); err != nil || last == 0 {
			return err
		}
		step := max((last-first)/sampleSize, 1) // ids of deleted passages are missing, which makes the sample smaller
		ids := make([]int64, 0, sampleSize+1)
		for id := first; id <= last && len(ids) <= sampleSize; id += step {
			ids = append(ids, id)
		}
		condition, list := corpus.Among(c, "chunk_id", ids)
		return c.All("SELECT terms FROM answer_vectors WHERE "+condition, []any{list}, func(row store.Row) error {
			var v terms.Vector
			if err := row.Scan((*[]byte)(&v)); err != nil {
				return err
			}
			if v.Valid() {
				vectors = append(vectors, v)
			}
			return nil
		})
	})
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vectors, s.last, s.version = vectors, last, version
	return vectors, last, nil
}

// placeholders returns n placeholders for the values of an SQL list.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// rarest returns the words of the question, the rarest in the sample first. Years, and words that only tell what to do,
// are left out unless there are no others.
func (w *searchQuery) rarest(sample []terms.Vector) []string {
	type counted struct {
		word  string
		found int // the number of sampled passages with the word
	}
	var telling, others []counted
	for _, t := range w.terms {
		if t.synonym {
			continue
		}
		word := counted{word: t.word}
		for _, v := range sample {
			if v.Find(t.hash) != 0 {
				word.found++
			}
		}
		if t.year || t.weight < 1 {
			others = append(others, word)
		} else {
			telling = append(telling, word)
		}
	}
	if len(telling) == 0 {
		telling = others
	}
	slices.SortStableFunc(telling, func(a, b counted) int { return a.found - b.found })
	words := make([]string, 0, len(telling))
	for _, t := range telling {
		words = append(words, t.word)
	}
	return words
}

// propose returns the ids of passages with the rarest words of the question. It first looks for passages with the four
// rarest words. While it has found fewer than fewProposals, it continues with the three rarest words, with any two of
// the four, and with each of the two rarest alone.
func (r *Retriever) propose(ctx context.Context, c kernel.Conn, w *searchQuery, f kernel.Filters) ([]int64, error) {
	sampled, last, err := r.sample.current(ctx, r)
	if err != nil {
		return nil, err
	}
	words := w.rarest(sampled)
	words = words[:min(len(words), 4)]
	if len(words) == 0 {
		return nil, nil
	}
	var pairs [][]string
	for i := 1; i < len(words); i++ {
		for k := range i {
			pairs = append(pairs, []string{words[k], words[i]})
		}
	}
	tries := [][][]string{{words}} // each a list of alternatives for withWords
	if len(words) > 3 {
		tries = append(tries, [][]string{words[:3]})
	}
	if len(words) > 2 {
		tries = append(tries, pairs)
	}
	if len(words) > 1 {
		tries = append(tries, [][]string{words[:1]}, [][]string{words[1:2]})
	}
	seen := make(map[int64]bool)
	var ids []int64
	for _, alternatives := range tries {
		if len(ids) >= fewProposals {
			break
		}
		found, err := r.withWords(c, alternatives, f, last)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// enough is the number of hits after which withWordsPostgreSQL ends its search.
const enough = maxProposed / 2

// withWords returns the ids of the latest passages that pass the filters and have all words of one of the alternatives.
// last is the id of the last passage.
func (r *Retriever) withWords(c kernel.Conn, alternatives [][]string, f kernel.Filters, last int64) ([]int64, error) {
	// The index has words for the issuer and the year of a passage. Each element of scopes lists such words, of which a
	// passage must have one.
	var scopes [][]string
	if len(f.Issuers) > 0 {
		issuers := make([]string, 0, len(f.Issuers))
		for _, id := range f.Issuers {
			issuers = append(issuers, "i"+strconv.FormatInt(id, 10))
		}
		scopes = append(scopes, issuers)
	}
	var years []string
	for _, y := range aroundYears(f.Periods) {
		if y != 0 {
			years = append(years, "y"+strconv.Itoa(y))
		}
	}
	if len(years) > 0 {
		scopes = append(scopes, years)
	}
	if c.Dialect() == store.SQLite {
		return withWordsSQLite(c, alternatives, scopes)
	}
	return r.withWordsPostgreSQL(c, alternatives, scopes, last)
}

// withWordsSQLite does the work of withWords in SQLite.
func withWordsSQLite(c kernel.Conn, alternatives, scopes [][]string) ([]int64, error) {
	conditions := make([]string, 0, len(scopes)+1)
	for _, list := range scopes {
		conditions = append(conditions, "scope : ("+strings.Join(list, " OR ")+")")
	}
	lists := make([]string, 0, len(alternatives))
	for _, words := range alternatives {
		lists = append(lists, "("+strings.Join(quoted(words, `"`), " AND ")+")")
	}
	conditions = append(conditions, "{title section text} : ("+strings.Join(lists, " OR ")+")")
	return store.Column[int64](c, "SELECT rowid FROM answer_search WHERE answer_search MATCH ? ORDER BY rowid DESC LIMIT ?",
		strings.Join(conditions, " AND "), maxProposed)
}

// withWordsPostgreSQL does the work of withWords in PostgreSQL.
func (r *Retriever) withWordsPostgreSQL(
	c kernel.Conn, alternatives, scopes [][]string, last int64,
) ([]int64, error) {
	lists := make([]string, 0, len(alternatives))
	for _, words := range alternatives {
		lists = append(lists, "("+strings.Join(quoted(words, "'"), " & ")+")")
	}
	args := make([]any, 0, 6)
	var b strings.Builder
	b.WriteString("SELECT chunk_id FROM (SELECT chunk_id FROM answer_search WHERE words @@ to_tsquery('english', ?)")
	args = append(args, strings.Join(lists, " | "))
	for _, list := range scopes {
		b.WriteString(" AND words @@ to_tsquery('simple', ?)")
		args = append(args, strings.Join(list, " | "))
	}
	// OFFSET 0 keeps the planner from walking all rows backwards from the latest one. It would have to unpack the words
	// of each row.
	searchLatest := func(condition string, args ...any) ([]int64, error) {
		return store.Column[int64](c, b.String()+condition+" OFFSET 0) found ORDER BY chunk_id DESC LIMIT ?",
			append(args, maxProposed)...)
	}
	// The index returns the passages that have a word, in no particular order, and each passage must be fetched to learn
	// its id. So the latest stretches of passages are searched first, from short to long, until one has enough hits.
	// Stretches in which too few hits are expected are left out.
	expected := r.enough // the hits expected in the next stretch; initially r.enough, so that the first one is searched
	for _, span := range corpus.Spans {
		latest, ok := corpus.Latest(span, last)
		if !ok {
			break
		}
		if expected >= r.enough {
			ids, err := searchLatest(" AND words @@ CAST(? AS tsquery)", append(args, latest)...)
			if err != nil || len(ids) >= r.enough {
				return ids, err
			}
			expected = len(ids)
		}
		expected *= corpus.SpanFactor
	}
	return searchLatest("", args...)
}

// quoted returns words with a mark before and after each of them. mark is the quotation mark of the full-text index.
// Words are split at characters other than letters and digits, because the indexes do not agree on the positions of
// the parts of such words: "r&d" becomes two words.
func quoted(words []string, mark string) []string {
	list := make([]string, 0, len(words))
	for _, word := range words {
		for part := range strings.FieldsFuncSeq(word,
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
			list = append(list, mark+part+mark)
		}
	}
	return list
}
