package retrieve

import (
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Web is a provider of web search.
type Web interface {
	// Search returns at most limit pages, best first.
	Search(ctx context.Context, query string, limit int) ([]WebPage, error)
}

// WebPage is a page that a provider has found.
type WebPage struct {
	Title, URL, Text string
	Published        time.Time // zero if unknown
}

const (
	webPages    = 6 // the pages taken from one search
	webPassages = 2 // the passages taken from each page, those with the best lexical score
)

// fromWeb searches the web for query and returns the best webPassages passages of each page, in the order of the pages.
// If issuers is not empty, it leaves out passages that are not about one of these issuers. It returns an error if the
// provider or the database fails; pages without a usable address or text are skipped.
func (r *Retriever) fromWeb(ctx context.Context, query string, issuers []int64) ([]*candidate, error) {
	pages, err := r.options.Web.Search(ctx, query, webPages)
	if err != nil {
		return nil, err
	}
	_, directory, err := r.corpus.Issuers(ctx)
	if err != nil {
		return nil, err
	}
	w := parseQuery(query)
	var list []*candidate
	for _, page := range pages[:min(len(pages), webPages)] {
		parts, err := corpus.Divide(fileformat.Source{
			Kind: kernel.Web, Title: page.Title, URL: page.URL,
			Published: page.Published, Pages: []fileformat.Page{{Text: page.Text}},
		})
		if err != nil {
			continue // the page has no usable address or no text
		}
		var relevant []corpus.Part
		for _, part := range parts {
			if issuer, ok := aboutIssuer(directory, &part.Passage, issuers); ok {
				part.Issuer = issuer
				relevant = append(relevant, part)
			}
		}
		ranked := scoreParts(w, relevant)
		list = append(list, ranked[:min(len(ranked), webPassages)]...)
	}
	return list, nil
}

// scoreParts returns the passages of one page as candidates with their lexical scores, the best first. Passages of
// the web are not in the index, so scoreParts itself counts the terms of the question in them.
func scoreParts(w *searchQuery, parts []corpus.Part) []*candidate {
	for i := range w.terms {
		w.terms[i].found = 0
	}
	all := make([]*candidate, 0, len(parts))
	for _, part := range parts {
		passage := &candidate{Passage: part.Passage, vector: part.Vector, counts: make([]terms.Counts, len(w.terms))}
		for i := range w.terms {
			if passage.counts[i] = passage.vector.Find(w.terms[i].hash); passage.counts[i] != 0 {
				w.terms[i].found++
			}
		}
		all = append(all, passage)
	}
	return score(w, all)
}

// aboutIssuer reports whether a passage without a known issuer is about one of the issuers with the given ids: its
// title names one of them, or its title names no issuer and its text names one of them. Without ids every passage is
// accepted. issuer is the id of the issuer if there is only one id, and 0 otherwise.
func aboutIssuer(directory *metrics.Directory, p *kernel.Passage, ids []int64) (issuer int64, ok bool) {
	if len(ids) == 0 {
		return 0, true
	}
	for _, text := range []string{p.Title, p.Section + "\n" + p.Text} {
		found := directory.Find(text)
		if len(found) == 0 {
			continue
		}
		if len(ids) == 1 {
			issuer = ids[0]
		}
		return issuer, slices.ContainsFunc(found, func(m metrics.IssuerMention) bool {
			return !m.Slip && slices.ContainsFunc(m.Issuers, func(id int64) bool { return slices.Contains(ids, id) })
		})
	}
	return 0, false
}
