package retrieve

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Embedder makes embedding vectors, one for each text.
type Embedder = corpus.Embedder

// byMeaning ranks passages by the similarity of their vectors to that of the question. Passages without a
// vector are left out.
func (r *Retriever) byMeaning(c kernel.Conn, meaning []float32, mark []byte, all []*candidate) []*candidate {
	if len(meaning) == 0 || len(all) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(all))
	byID := make(map[int64]*candidate, len(all))
	for _, one := range all {
		ids = append(ids, one.ID)
		byID[one.ID] = one
	}
	near, err := corpus.Near(c, r.options.Dense.Model(), mark, meaning, ids)
	if err != nil {
		return nil // the ranking by words is enough; other queries report the database's error
	}
	list := make([]*candidate, 0, len(near))
	for id := range near {
		list = append(list, byID[id])
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		switch {
		case near[a.ID] > near[b.ID]:
			return -1
		case near[a.ID] < near[b.ID]:
			return 1
		}
		return int(a.ID - b.ID)
	})
	return list[:min(deep, len(list))]
}

// union returns list followed by the elements of more that it does not contain.
func union(list, more []*candidate) []*candidate {
	all := slices.Clone(list)
	for _, one := range more {
		if !slices.Contains(list, one) {
			all = append(all, one)
		}
	}
	return all
}
