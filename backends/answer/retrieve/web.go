package retrieve

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Web is a provider of web search.
type Web interface {
	// Search gives pages, the best first, at most most of them.
	Search(ctx context.Context, query string, most int) ([]WebPage, error)
}

// WebPage is one that was found.
type WebPage struct {
	Title, URL, Text string
	Published        time.Time // zero: unknown
}

const (
	webPages    = 6
	webPassages = 2 // of each page, those with the most of what is sought
)

// fromWeb are passages of the web, in the order of their pages.
func (r *Retriever) fromWeb(ctx context.Context, query string) ([]*candidate, error) {
	pages, err := r.options.Web.Search(ctx, query, webPages)
	if err != nil {
		return nil, err
	}
	w := parse(query)
	var list []*candidate
	for _, page := range pages[:min(len(pages), webPages)] {
		parts, err := corpus.Divide(corpus.Source{Kind: kernel.Web, Title: page.Title, URL: page.URL, Published: page.Published, Pages: []corpus.Page{{Text: page.Text}}})
		if err != nil {
			continue // it has no address, or no text
		}
		all := make([]*candidate, 0, len(parts))
		for i := range w.terms {
			w.terms[i].found = 0
		}
		for _, part := range parts {
			one := &candidate{Passage: part.Passage, vector: part.Vector, counts: make([]terms.Counts, len(w.terms))}
			for i := range w.terms {
				if one.counts[i] = one.vector.Find(w.terms[i].hash); one.counts[i] != 0 {
					w.terms[i].found++
				}
			}
			all = append(all, one)
		}
		all = score(w, all)
		list = append(list, all[:min(len(all), webPassages)]...)
	}
	return list, nil
}
