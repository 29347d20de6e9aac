package retrieve

import (
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
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

// fromWeb are passages of the web, in the order of their pages. Where issuers are asked for,
// those of others are not among them.
func (r *Retriever) fromWeb(ctx context.Context, query string, issuers []int64) ([]*candidate, error) {
	pages, err := r.options.Web.Search(ctx, query, webPages)
	if err != nil {
		return nil, err
	}
	_, directory, err := r.corpus.Issuers(ctx)
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
			issuer, ok := about(directory, &part.Passage, issuers)
			if !ok {
				continue
			}
			part.Issuer = issuer
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

// about reports whether a passage that says nothing of its issuer is about one that is asked
// for: its title names one, or its text does under a title that names none. issuer is the only
// one that is asked for; 0: there are several, or none.
func about(directory *metrics.Directory, p *kernel.Passage, asked []int64) (issuer int64, ok bool) {
	if len(asked) == 0 {
		return 0, true
	}
	for _, text := range []string{p.Title, p.Section + "\n" + p.Text} {
		found := directory.Find(text)
		if len(found) == 0 {
			continue
		}
		if len(asked) == 1 {
			issuer = asked[0]
		}
		return issuer, slices.ContainsFunc(found, func(m metrics.IssuerMention) bool {
			return !m.Slip && slices.ContainsFunc(m.Issuers, func(id int64) bool { return slices.Contains(asked, id) })
		})
	}
	return 0, false
}
