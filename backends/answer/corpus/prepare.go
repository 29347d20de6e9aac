package corpus

import (
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// prepared is a document that is ready to be written: only the work that needs a database is left. The result of
// checked has only the source and the digest.
type prepared struct {
	source  *fileformat.Source
	file    string        // the name of the file in an ingest
	digest  string        // see Source.digest
	period  kernel.Period // that the document reports on
	chunks  []chunk
	vectors []terms.Vector // of the words of each chunk
	facts   []placedFact
}

// placedFact is a fact with the index of its chunk, or -1 if no chunk contains it.
type placedFact struct {
	kernel.Fact
	chunk int
}

// prepare checks a document, divides it into chunks and extracts its facts. It returns a *RefusedError for a document
// that cannot be accepted.
func prepare(s fileformat.Source) (*prepared, error) {
	p, err := checked(s)
	if err != nil {
		return nil, err
	}
	return p, p.divide()
}

// checked checks a document. It returns a *RefusedError for a document that is not valid.
func checked(s fileformat.Source) (*prepared, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &prepared{source: &s, digest: s.Digest()}, nil
}

// divide divides a checked document into chunks and extracts its facts. It returns a *RefusedError for a document
// without content.
func (p *prepared) divide() error {
	s := p.source
	s.CompleteFromCover()
	p.period = s.Period()
	p.chunks = chunks(s.Pages)
	if len(p.chunks) == 0 && len(s.Facts) == 0 && len(s.Prices) == 0 {
		return fileformat.Refuse("the document has no text")
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
	return nil
}

// takeFacts extracts the facts of a document: first the facts in its primary statements (income statement, balance
// sheet, cash flow statement), then the facts in other tables. If there are primary statements, facts of other tables
// that belong in such a statement are left out. The order matters, because the database keeps the first of several
// facts for the same metric and period.
func (p *prepared) takeFacts() {
	if p.source.Issuer.Name == "" {
		return
	}
	pages := make([]string, len(p.source.Pages))
	for i, page := range p.source.Pages {
		pages[i] = page.Text
	}
	names := append([]string{p.source.Issuer.Name}, p.source.Issuer.Aliases...)
	fromStatements := statements.Read(pages, statements.Report{Period: p.period, Names: names})
	for _, f := range fromStatements {
		p.facts = append(p.facts, placedFact{f.Fact, p.chunkWithRow(p.source.Pages[f.Page].Number, f.Row)})
	}
	var otherFacts []placedFact // from tables in another part of the report than the one to which the metric belongs
	for i := range p.chunks {
		topic := metrics.StatementOf(p.vectors[i].Topic())
		if topic == kernel.Segments {
			continue // facts about parts of the issuer
		}
		for _, t := range p.chunks[i].tables {
			for _, f := range t.Facts(p.period) {
				f.Sure = statements.Tabulated
				m, _ := metrics.Metric(f.Metric)
				switch {
				case m.Statement.IsPrimary() && len(fromStatements) > 0: // fromStatements has it, or rightly leaves it out
				case m.Statement == topic:
					p.facts = append(p.facts, placedFact{f, i})
				default:
					otherFacts = append(otherFacts, placedFact{f, i})
				}
			}
		}
	}
	p.facts = append(p.facts, otherFacts...)
	p.facts = p.facts[:min(len(p.facts), fileformat.MaxFacts)]
}

// preferTagged adds the tagged facts: those that the document has as data, in inline XBRL tags or company facts. A fact
// that was read from text becomes a tagged fact, and keeps its chunk, if it agrees with the tagged fact of the same
// metric and period. It is dropped if it contradicts that fact, or if another fact from the text already agrees with
// it.
func (p *prepared) preferTagged() {
	if len(p.source.Facts) == 0 {
		return
	}
	tagged := make(map[fileformat.FactKey]kernel.Fact, len(p.source.Facts))
	for _, f := range p.source.Facts {
		tagged[fileformat.KeyOf(f)] = f
	}
	facts := p.facts[:0]
	inText := make(map[fileformat.FactKey]bool) // the tagged facts that were also read from text
	for _, f := range p.facts {
		key := fileformat.KeyOf(f.Fact)
		data, ok := tagged[key]
		switch {
		case !ok: // nothing is tagged for this metric and period
			facts = append(facts, f)
		case math.Abs(data.Figure.Value-f.Figure.Value) <= f.Figure.Step && !inText[key]:
			inText[key] = true
			f.Sure, f.Period = statements.Tagged, data.Period
			facts = append(facts, f)
		}
	}
	for _, f := range p.source.Facts {
		if !inText[fileformat.KeyOf(f)] {
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
	withOtherLabel := -1 // the first chunk with the figure in a row with another label, or -1
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
				if withOtherLabel < 0 && len(f.Figure.Text) > minDigits {
					withOtherLabel = i
				}
			}
		}
	}
	return withOtherLabel
}

// chunkWithRow returns the index of the first chunk on the given page whose text contains row, or -1.
func (p *prepared) chunkWithRow(page int, row string) int {
	for i := range p.chunks {
		if p.chunks[i].page == page && strings.Contains(p.chunks[i].text, row) {
			return i
		}
	}
	return -1
}
