package retrieve

import (
	"cmp"
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// candidate is a passage that may become part of the result. Its fields are set in stages, because reading the texts of
// all candidates would take too long: scan sets the ids and the vector, score sorts by the vectors, and load reads the
// other fields of the best candidates. Finally, merge sets the Score.
type candidate struct {
	kernel.Passage
	vector terms.Vector
	counts []terms.Counts // how often each of searchQuery.terms occurs in the parts of the passage
	merged bool           // merge has added the passage to its result
	// headers are the captions and the names of the columns and rows of the passage's tables, one per line.
	headers string
	lexical float64 // the BM25 score
	fact    bool    // the passage contains a fact of a metric that the question names
}

// maxScored is how many passages are scored. If the filters leave more, the full-text index proposes some of
// them.
const maxScored = 8_000

// candidates returns the passages to score: those that pass the filters and contain a term of the question. It reads
// every passage of the issuers in f. If f has no issuers, or if more than maxScored of their passages pass the filters,
// it reads only those that propose finds in the full-text index.
func (r *Retriever) candidates(
	ctx context.Context, c kernel.Conn, w *searchQuery, f kernel.Filters,
) ([]*candidate, error) {
	if len(f.Issuers) > 0 {
		args := make([]any, 0, 8)
		condition := "issuer_id IN (" + placeholders(len(f.Issuers)) + ")"
		for _, id := range f.Issuers {
			args = append(args, id)
		}
		if years := aroundYears(f.Periods); len(years) > 0 {
			condition += " AND fiscal IN (" + placeholders(len(years)) + ")"
			for _, y := range years {
				args = append(args, y)
			}
		}
		all, scanned, err := scan(c, w, condition, args)
		if err != nil || scanned <= maxScored { // scan has read all that pass the filters
			return all, err
		}
	}
	ids, err := r.propose(ctx, c, w, f)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	condition, list := corpus.Among(c, "chunk_id", ids)
	all, _, err := scan(c, w, condition, []any{list})
	return all, err
}

// scan reads the vectors of the passages that satisfy an SQL condition, at most maxScored+1, and returns the passages
// with a term of the question. Years and instructionWords count as terms only if the question has no other words. rows
// is the number of rows read. scan also counts in w.terms how many of these rows have each term.
func scan(c kernel.Conn, w *searchQuery, condition string, args []any) (candidates []*candidate, rows int, err error) {
	for i := range w.terms {
		w.terms[i].found = 0 // an earlier scan with narrower filters may have counted
	}
	err = c.All("SELECT chunk_id, document_id, issuer_id, kind, terms FROM answer_vectors WHERE "+condition+" LIMIT ?",
		append(args, maxScored+1), func(r store.Row) error {
			passage := new(candidate)
			err := r.Scan(&passage.ID, &passage.Document, &passage.Issuer, &passage.Kind, (*[]byte)(&passage.vector))
			if err != nil {
				return err
			}
			if rows++; !passage.vector.Valid() {
				return nil
			}
			counts := make([]terms.Counts, len(w.terms))
			accepted := w.acceptAll
			for i := range w.terms {
				t := &w.terms[i]
				if counts[i] = passage.vector.Find(t.hash); counts[i] != 0 {
					t.found++
					isTelling := t.weight == 1 || t.synonym || w.vague // not an instruction word
					accepted = accepted || isTelling && !t.year
				}
			}
			passage.counts = counts
			if accepted {
				candidates = append(candidates, passage)
			}
			return nil
		})
	return candidates, rows, err
}

// aroundYears returns the years of the periods, the years before and after them, and 0 for an unknown year. It returns
// nil if no period has a year.
func aroundYears(periods []kernel.Period) []int {
	var years []int
	for _, p := range periods {
		if y := p.AnyYear(); y != 0 {
			years = append(years, y-1, y, y+1)
		}
	}
	if len(years) == 0 {
		return nil
	}
	years = append(years, 0)
	slices.Sort(years)
	return slices.Compact(years)
}

// The parameters of BM25, and the weights of the parts of a passage.
const (
	saturation  = 1.2 // the parameter k1
	lengthShare = 0.6 // the parameter b
	// A term in the title counts like titleWeight occurrences in the text, and a term in the section counts like
	// sectionWeight occurrences. Each occurrence in the names of a table counts like labelWeight occurrences.
	titleWeight   = 4
	sectionWeight = 2
	labelWeight   = 2
)

// score computes the lexical score (BM25) of the candidates. It sorts them in place and returns them, the best first.
// Each term in w must already have in its field named found the number of candidates that contain the term.
func score(w *searchQuery, candidates []*candidate) []*candidate {
	if len(candidates) == 0 {
		return nil
	}
	total := 0
	for _, passage := range candidates {
		total += passage.vector.Words()
	}
	mean := max(float64(total)/float64(len(candidates)), 1) // the mean length of a passage in words
	w.weigh(len(candidates))
	for _, passage := range candidates {
		// norm is greater for longer passages, in which a term occurs more often by chance.
		norm := saturation * (1 - lengthShare + lengthShare*float64(passage.vector.Words())/mean)
		for i, c := range passage.counts {
			if c == 0 {
				continue
			}
			frequency := float64(c.Text() + labelWeight*c.Label())
			if c.Section() {
				frequency += sectionWeight
			}
			if c.Title() {
				frequency += titleWeight
			}
			passage.lexical += w.terms[i].idf * frequency * (saturation + 1) / (frequency + norm)
		}
	}
	slices.SortFunc(candidates, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.lexical, a.lexical), cmp.Compare(a.ID, b.ID))
	})
	return candidates
}

// load reads the texts and documents of the passages from the database and sets the fields that scan does not set.
func load(c kernel.Conn, candidates []*candidate) error {
	if len(candidates) == 0 {
		return nil
	}
	byID := make(map[int64]*candidate, len(candidates))
	ids := make([]int64, 0, len(candidates))
	for _, passage := range candidates {
		byID[passage.ID] = passage
		ids = append(ids, passage.ID)
	}
	condition, list := corpus.Among(c, "c.id", ids)
	return c.All("SELECT c.id, c.seq, c.section, c.page, c.text, c.tokens, c.is_table, c.headers, d.title, d.url, d.fiscal, d.quarter, d.period_end, d.published_at "+
		"FROM answer_chunks c JOIN answer_documents d ON d.id = c.document_id WHERE "+condition,
		[]any{list}, func(r store.Row) error {
			var id, published int64
			var p candidate
			var table int
			err := r.Scan(&id, &p.Seq, &p.Section, &p.Page, &p.Text, &p.Tokens, &table, &p.headers, &p.Title, &p.URL,
				&p.Period.Year, &p.Period.Quarter, &p.Period.End, &published)
			if err != nil {
				return err
			}
			passage := byID[id]
			passage.Seq, passage.Section, passage.Page, passage.Text, passage.Tokens = p.Seq, p.Section, p.Page,
				p.Text, p.Tokens
			passage.Table, passage.headers = table != 0, p.headers
			passage.Title, passage.URL, passage.Period, passage.Published = p.Title, p.URL, p.Period, kernel.TimeOf(published)
			return nil
		})
}
