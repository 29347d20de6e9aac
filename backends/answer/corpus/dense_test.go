package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// strict is an embedder with bounds, as servers of models have them.
type strict struct {
	atOnce, longest, dimensions int
	never                       string // a word that no accepted text contains
	t                           *testing.T
}

func (strict) Model() string { return "strict" }

func (s *strict) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		s.t.Error("a request for vectors has no deadline")
	}
	if len(texts) > s.atOnce {
		return nil, fmt.Errorf("%w: batch", kernel.ErrTexts)
	}
	for _, text := range texts {
		if len(text) > s.longest || s.never != "" && strings.Contains(text, s.never) {
			return nil, fmt.Errorf("%w: text", kernel.ErrTexts)
		}
		vectors = append(vectors, make([]float32, s.dimensions))
	}
	return vectors, nil
}

// TestEmbedRefused checks that a text that an embedder refuses does not keep others from their vectors.
func TestEmbedRefused(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		for i := range 40 {
			text := fmt.Sprintf("Number %d sells pumps.", i)
			switch i {
			case 7:
				text += strings.Repeat(" It sells them in every country of the world.", 30)
			case 20:
				text += " It is unspeakable."
			}
			if _, err := c.Put(t.Context(), fileformat.Source{Title: "Pumps", URL: fmt.Sprintf("corpus:%d", i), Pages: []fileformat.Page{{Text: text}}}); err != nil {
				t.Fatal(err)
			}
		}
		e := &strict{atOnce: 16, longest: 400, dimensions: 3, never: "unspeakable", t: t}
		if vectors, err := c.Embed(t.Context(), e, nil); err != nil || vectors != 39 {
			t.Errorf("%d made, %v", vectors, err)
		}
		if n := count(t, k, "SELECT count(*) FROM answer_dense WHERE length(vector) = 3"); n != 39 {
			t.Errorf("got %d stored vectors, want 39", n)
		}
		// An embedder that refuses all texts gets only a few requests.
		e.atOnce = 0
		put := func(start, end int) {
			for i := start; i < end; i++ {
				if _, err := c.Put(t.Context(), fileformat.Source{Title: "Valves", URL: fmt.Sprintf("corpus:%d", i), Pages: []fileformat.Page{{Text: fmt.Sprintf("Number %d sells valves.", i)}}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		put(40, 60)
		if vectors, err := c.Embed(t.Context(), e, nil); !errors.Is(err, kernel.ErrTexts) || vectors != 0 {
			t.Errorf("%d made, %v", vectors, err)
		}
		// The model behind the name is replaced by another one, so that all vectors are made again.
		*e = strict{atOnce: 1, longest: 4000, dimensions: 4, t: t}
		k.Clock.Move(time.Hour)
		calls := 0
		vectors, err := c.Embed(t.Context(), e, func(kernel.Conn, int) error {
			calls++
			return nil
		})
		if err != nil || vectors != 60 || calls < 4 {
			t.Errorf("got %d vectors, %d calls of progress, error %v; want 60 vectors and at least 4 calls", vectors, calls, err)
		}
		if n := count(t, k, "SELECT count(*) FROM answer_dense WHERE length(vector) = 4"); n != 60 {
			t.Errorf("%d vectors", n)
		}
		put(60, 61)
		lost := errors.New("lost")
		if vectors, err := c.Embed(t.Context(), e, func(kernel.Conn, int) error { return lost }); !errors.Is(err, lost) || vectors != 0 {
			t.Errorf("%d made, %v", vectors, err)
		}
	})
}
