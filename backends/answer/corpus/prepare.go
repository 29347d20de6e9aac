package corpus

import (
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// prepared is a document ready to be written: all that needs no database is done.
type prepared struct {
	source *Source
	digest string
	period kernel.Period
	chunks []chunk
	// vectors has one for each chunk.
	vectors []terms.Vector
	facts   []placed
}

// placed is a fact with the place of its chunk; -1: it has none.
type placed struct {
	kernel.Fact
	chunk int
}

// prepare checks and divides a document, unless its digest is known.
func prepare(s Source, known func(digest string) bool) (*prepared, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p := &prepared{source: &s, digest: s.digest(), period: s.period()}
	if known != nil && known(p.digest) {
		return p, nil
	}
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
	for _, f := range s.Facts { // behind those that stand in a chunk, which is shown for them
		p.facts = append(p.facts, placed{f, -1})
	}
	return p, nil
}

// mostFacts bounds the facts of a document.
const mostFacts = 200_000

// takeFacts takes the facts in the tables of chunks. Of two for one metric and period
// the one in the statement that the metric is reported in is kept, else the first.
func (p *prepared) takeFacts() {
	if p.source.Issuer.Name == "" {
		return
	}
	var elsewhere []placed
	for i := range p.chunks {
		topic := metrics.StatementOf(p.vectors[i].Topic())
		if topic == kernel.Segments {
			continue // of parts of the issuer
		}
		for _, t := range p.chunks[i].tables {
			for _, f := range t.Facts(p.period) {
				if m, _ := metrics.Metric(f.Metric); m.Statement == topic {
					p.facts = append(p.facts, placed{f, i})
				} else {
					elsewhere = append(elsewhere, placed{f, i})
				}
			}
		}
	}
	p.facts = append(p.facts, elsewhere...)
	p.facts = p.facts[:min(len(p.facts), mostFacts)]
}
