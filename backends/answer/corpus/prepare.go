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
	for i := range p.chunks {
		c := &p.chunks[i]
		var b terms.Builder
		b.Add(terms.Text, c.text)
		b.Add(terms.Label, c.headers)
		b.Add(terms.Section, c.section)
		b.Add(terms.Title, s.Title)
		var flags terms.Flags
		if len(c.tables) > 0 {
			flags |= terms.HasTable
		}
		p.vectors[i] = b.Vector(flags, metrics.Topic(c.section, c.headers, c.text))
	}
	for _, f := range s.Facts {
		p.facts = append(p.facts, placed{f, -1})
	}
	return p, nil
}
