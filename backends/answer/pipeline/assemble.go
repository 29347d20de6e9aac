package pipeline

import (
	"context"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
)

// mostReferences bounds those of an answer.
const mostReferences = 20

// assemble makes the answer of what was drafted, with its references.
func (p *Pipeline) assemble(ctx context.Context, t *Trace, w *work) (o Outcome, err error) {
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
		return several(len(o.References), "reference") + ", " + several(len(o.Subqueries), "part"), nil
	})
	return o, err
}

// render writes a draft with its marks as numbered links, and its references in the
// order of their first mark.
func (p *Pipeline) render(w *work) (string, []Reference) {
	references := []Reference{}
	numbers := make(map[string]int) // by URL without its fragment
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
		said := make(map[int]bool)
		for _, m := range s.Marks {
			passage := &w.passages[m]
			url := p.options.SourceURL(passage.URL)
			key, _, _ := strings.Cut(url, "#")
			n := numbers[key]
			if n == 0 {
				if len(references) == mostReferences {
					continue
				}
				references = append(references, Reference{passage.Title, url})
				n = len(references)
				numbers[key] = n
			}
			if !p.options.Unmarked && !said[n] {
				said[n] = true
				b.WriteString(" [" + strconv.Itoa(n) + "](" + target(onPage(references[n-1].URL, passage.Page)) + ")")
			}
		}
	}
	return b.String(), references
}

// onPage returns the address of a page of a document on the web, as readers of PDF understand it (RFC 8118 section 3). An address with a
// fragment of its own, or of the service itself, stays as it is.
func onPage(url string, page int) string {
	if page < 1 || strings.Contains(url, "#") || !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return url
	}
	return url + "#page=" + strconv.Itoa(page)
}

// claims are the sentences of a draft with the passages that they mark.
func (w *work) claims() []Claim {
	list := make([]Claim, len(w.draft.Sentences))
	for i, s := range w.draft.Sentences {
		list[i] = Claim{Text: s.Text, Own: s.Fixed, Break: i == 0 || s.Break}
		for _, m := range s.Marks {
			list[i].Passages = append(list[i].Passages, w.passages[m])
		}
	}
	return list
}

// target is a URL as the target of a link in Markdown.
func target(url string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E").Replace(url)
}
