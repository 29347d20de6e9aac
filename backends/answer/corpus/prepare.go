package corpus

import (
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// prepared is a document that is ready to be written: only the work that needs a database is left.
type prepared struct {
	source *Source
	file   string // the name of the file in an ingest
	digest string
	period kernel.Period
	chunks []chunk
	// vectors has one element for each chunk.
	vectors []terms.Vector
	facts   []placedFact
}

// placedFact is a fact with the index of its chunk, or -1 if no chunk contains it.
type placedFact struct {
	kernel.Fact
	chunk int
}

// prepare checks and divides a document. If known, which may be nil, returns true for the document's digest, prepare
// does not divide the document.
func prepare(s Source, known func(digest string) bool) (*prepared, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p := &prepared{source: &s, digest: s.digest()}
	if known != nil && known(p.digest) {
		return p, nil
	}
	s.completeFromCover()
	p.period = s.period()
	p.chunks = chunks(s.Pages)
	if len(p.chunks) == 0 && len(s.Facts) == 0 && len(s.Prices) == 0 {
		return nil, refuse("there is no text in it")
	}
	p.vectors = make([]terms.Vector, len(p.chunks))
	var b terms.Builder
	for i := range p.chunks {
		c := &p.chunks[i]
		b.Reset()
		b.Add(terms.Text, c.text)
		b.Add(terms.Label, c.headers)
		b.Add(terms.Section, c.section)
		b.Add(terms.Title, s.Title)
		var flags terms.Flags
		if len(c.tables) > 0 {
			flags |= terms.HasTable
		}
		p.vectors[i] = b.Vector(flags, metrics.Topic(c.section, c.headers))
	}
	p.takeFacts()
	p.preferTagged()
	return p, nil
}

// maxFacts bounds the facts of a document.
const maxFacts = 200_000

// takeFacts extracts the facts of a document: first those of its primary statements, then the facts of other tables. If
// there are primary statements, facts of other tables that belong in such a statement are left out. The database keeps
// the first of several facts for the same metric and period.
func (p *prepared) takeFacts() {
	if p.source.Issuer.Name == "" {
		return
	}
	pages := make([]string, len(p.source.Pages))
	for i, page := range p.source.Pages {
		pages[i] = page.Text
	}
	names := append([]string{p.source.Issuer.Name}, p.source.Issuer.Aliases...)
	stated := statements.Read(pages, statements.Report{Period: p.period, Names: names})
	for _, f := range stated {
		p.facts = append(p.facts, placedFact{f.Fact, p.chunkWithRow(p.source.Pages[f.Page].Number, f.Row)})
	}
	var elsewhere []placedFact
	for i := range p.chunks {
		topic := metrics.StatementOf(p.vectors[i].Topic())
		if topic == kernel.Segments {
			continue // facts about parts of the issuer
		}
		for _, t := range p.chunks[i].tables {
			for _, f := range t.Facts(p.period) {
				f.Sure = statements.Tabulated
				switch m, _ := metrics.Metric(f.Metric); {
				case len(stated) > 0 && (m.Statement == kernel.Income || m.Statement == kernel.Balance ||
					m.Statement == kernel.CashFlow):
				case m.Statement == topic:
					p.facts = append(p.facts, placedFact{f, i})
				default:
					elsewhere = append(elsewhere, placedFact{f, i})
				}
			}
		}
	}
	p.facts = append(p.facts, elsewhere...)
	p.facts = p.facts[:min(len(p.facts), maxFacts)]
}

// preferTagged adds the facts that the document has as data (inline XBRL, company facts). A fact that was read from
// text and agrees with the data keeps its chunk and becomes a tagged fact. A fact that was read from text and
// contradicts the data is dropped.
func (p *prepared) preferTagged() {
	if len(p.source.Facts) == 0 {
		return
	}
	known := make(map[factKey]kernel.Fact, len(p.source.Facts))
	for _, f := range p.source.Facts {
		known[factKey{f.Metric, f.Period.End, f.Period.Months}] = f
	}
	facts := p.facts[:0]
	found := make(map[factKey]bool)
	for _, f := range p.facts {
		key := factKey{f.Metric, f.Period.End, f.Period.Months}
		data, ok := known[key]
		switch {
		case !ok:
			facts = append(facts, f)
		case math.Abs(data.Figure.Value-f.Figure.Value) <= f.Figure.Step && !found[key]:
			found[key] = true
			f.Sure, f.Period = statements.Tagged, data.Period
			facts = append(facts, f)
		}
	}
	for _, f := range p.source.Facts {
		if !found[factKey{f.Metric, f.Period.End, f.Period.Months}] {
			f.Sure = statements.Tagged
			facts = append(facts, placedFact{f, p.chunkShowing(f)})
		}
	}
	p.facts = facts
}

// A figure of more than minDigits characters rarely occurs twice in a document.
const minDigits = 4

// chunkShowing returns the index of the first chunk that has a table with the figure in a row of the fact's metric, or
// else in any row if the figure is long enough. It returns -1 if there is no such chunk.
func (p *prepared) chunkShowing(f kernel.Fact) int {
	if f.Figure.Text == "" {
		return -1
	}
	anywhere := -1
	for i := range p.chunks {
		if !strings.Contains(p.chunks[i].text, f.Figure.Text) {
			continue
		}
		for _, t := range p.chunks[i].tables {
			for r := range t.Rows {
				if !slices.ContainsFunc(t.Rows[r].Cells,
					func(c string) bool { return strings.Trim(c, "$€£¥() ") == f.Figure.Text }) {
					continue
				}
				if m, ok := metrics.ByLabel(t.Rows[r].Label); ok && m.Key == f.Metric {
					return i
				}
				if anywhere < 0 && len(f.Figure.Text) > minDigits {
					anywhere = i
				}
			}
		}
	}
	return anywhere
}

// chunkWithRow returns the index of the first chunk of a page that contains a row, or -1.
func (p *prepared) chunkWithRow(page int, row string) int {
	for i := range p.chunks {
		if p.chunks[i].page == page && strings.Contains(p.chunks[i].text, row) {
			return i
		}
	}
	return -1
}
