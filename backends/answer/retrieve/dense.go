package retrieve

import (
	"cmp"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Embedder makes embedding vectors, one for each text.
type Embedder = corpus.Embedder

// byMeaning ranks passages by the similarity of their vectors to queryVector, the vector of the question, and returns
// the best maxRanked of them. queryVector and mark are results of corpus.QueryVector; mark identifies the model.
// Passages without a vector are left out.
func (r *Retriever) byMeaning(c kernel.Conn, queryVector []float32, mark []byte, candidates []*candidate) []*candidate {
	if len(queryVector) == 0 || len(candidates) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(candidates))
	byID := make(map[int64]*candidate, len(candidates))
	for _, passage := range candidates {
		ids = append(ids, passage.ID)
		byID[passage.ID] = passage
	}
	similarity, err := corpus.Similarities(c, r.options.Dense.Model(), mark, queryVector, ids)
	if err != nil {
		return nil // the ranking by words is enough; other queries report the database's error
	}
	list := make([]*candidate, 0, len(similarity))
	for id := range similarity {
		list = append(list, byID[id])
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(similarity[b.ID], similarity[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(maxRanked, len(list))]
}

// union returns the passages of first followed by those passages of second that first does not contain.
func union(first, second []*candidate) []*candidate {
	all := slices.Clone(first)
	for _, passage := range second {
		if !slices.Contains(first, passage) {
			all = append(all, passage)
		}
	}
	return all
}
