package pipeline

import (
	"context"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// maxReferences bounds the number of references of an answer.
const maxReferences = 20

// assemble returns the outcome with the draft in w as its answer, its references and its sub-queries.
func (p *Pipeline) assemble(ctx context.Context, t *Trace, w *task) (o Outcome, err error) {
	err = p.stage(ctx, t, "assemble", 0, p.options.Deadline, func(context.Context) (string, error) {
		if w.q.Advice {
			w.draft.Sentences = append(w.draft.Sentences, draft.Sentence{Text: draft.Information, Fixed: true, Break: true})
		}
		o.Answer, o.References = p.render(w)
		o.Claims = w.claims()
		for _, part := range w.parts {
			if part.failed {
				continue
			}
			answer, references := p.render(part)
			o.Subqueries = append(o.Subqueries, Subquery{part.q.Text, answer, references})
		}
		return plural(len(o.References), "reference") + ", " + plural(len(o.Subqueries), "part"), nil
	})
	return o, err
}

// render returns the draft in w as Markdown, and the documents that it refers to in the order of their first mention.
// Each sentence is followed by links to its documents, such as [1](https://example.com/report). The text of a link is
// the number of the reference, counted from 1. References beyond maxReferences have no link.
func (p *Pipeline) render(w *task) (string, []Reference) {
	references := []Reference{}
	numbers := make(map[string]int) // keyed by URL without its fragment
	var b strings.Builder
	for i, s := range w.draft.Sentences {
		if i > 0 {
			if s.Break {
				b.WriteString("\n\n")
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(s.Text)
		linked := make(map[int]bool) // the numbers of the references that the sentence has
		for _, m := range s.Marks {
			passage := &w.passages[m]
			url := p.options.SourceURL(passage.URL)
			key, _, _ := strings.Cut(url, "#")
			n := numbers[key]
			if n == 0 {
				if len(references) == maxReferences {
					continue
				}
				references = append(references, Reference{passage.Title, url})
				n = len(references)
				numbers[key] = n
			}
			if !linked[n] {
				linked[n] = true
				target := escapeTarget(onPage(references[n-1].URL, passage.Page))
				b.WriteString(" [" + strconv.Itoa(n) + "](" + target + ")")
			}
		}
	}
	return b.String(), references
}

// onPage returns the URL of a page in a document on the web, in the form that PDF readers understand (RFC 8118 section
// 3). A URL that has a fragment already, or that is not an absolute HTTP URL, is returned unchanged.
func onPage(url string, page int) string {
	if page < 1 || strings.Contains(url, "#") || !kernel.IsWeb(url) {
		return url
	}
	return url + "#page=" + strconv.Itoa(page)
}

// claims returns the sentences of the draft, each with the passages that it refers to.
func (w *task) claims() []Claim {
	list := make([]Claim, len(w.draft.Sentences))
	for i, s := range w.draft.Sentences {
		list[i] = Claim{Text: s.Text, Fixed: s.Fixed, Break: i == 0 || s.Break}
		for _, m := range s.Marks {
			list[i].Passages = append(list[i].Passages, w.passages[m])
		}
	}
	return list
}

// escapeTarget escapes a URL for use as the target of a Markdown link.
func escapeTarget(url string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E").Replace(url)
}
