package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// swapped is an embedder behind whose name models take turns. All make vectors of one length.
type swapped struct {
	model string  // the one that answers
	noise float64 // how far this provider's rounding is off
	after int     // it is "b" after so many requests; 0: never
	asked int
}

func (*swapped) Model() string { return "embeddings" }

func (s *swapped) Embed(_ context.Context, texts []string) (vectors [][]float32, err error) {
	s.asked++
	model := s.model
	if s.after > 0 && s.asked > s.after {
		model = "b"
	}
	for _, text := range texts {
		v := make([]float32, 64)
		for i := range v {
			h := fnv.New32a()
			_, _ = fmt.Fprint(h, i, model, text)
			v[i] = float32(math.Sin(float64(h.Sum32())) + s.noise*math.Cos(float64(i)))
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

// TestSwappedModel checks that vectors of a model that has replaced another one under the same name, with the
// same length, are never compared with the old ones: passages are ranked by words until all vectors have been
// made anew.
func TestSwappedModel(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		const passages = 70
		for i := range passages {
			if _, err := c.Put(t.Context(), corpus.Source{Title: "Pumps", URL: fmt.Sprintf("corpus:%d", i), Pages: []corpus.Page{{Text: fmt.Sprintf("Number %d sells pumps.", i)}}}); err != nil {
				t.Fatal(err)
			}
		}
		e := &swapped{model: "a"}
		embed := func(want int, fault error) {
			t.Helper()
			if made, err := c.Embed(t.Context(), e, nil); made != want || !errors.Is(err, fault) {
				t.Fatalf("%d made, %v; want %d, %v", made, err, want, fault)
			}
		}
		// near is how near a question is to the passage that it repeats; 0: nothing is compared.
		near := func(fault error) (nearest float64) {
			t.Helper()
			vector, mark, err := c.QueryVector(t.Context(), e, "Number 7 sells pumps.")
			if !errors.Is(err, fault) {
				t.Fatal(err)
			}
			if vector == nil {
				return 0
			}
			err = c.Read(t.Context(), func(conn kernel.Conn) error {
				ids := make([]int64, 0, passages)
				for id := range int64(passages) {
					ids = append(ids, id+1)
				}
				all, err := corpus.Similarities(conn, e.Model(), mark, vector, ids)
				for _, one := range all {
					nearest = max(nearest, one)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return nearest
		}

		if near(nil) != 0 || e.asked != 0 {
			t.Error("who has no vectors asks for one")
		}
		embed(passages, nil)
		if n := near(nil); n < 0.99 {
			t.Errorf("near %f", n)
		}

		// Another provider of the same model makes nothing anew.
		e.noise = 0.01
		embed(0, nil)
		if n := near(nil); n < 0.99 || c.Doubts() != 0 {
			t.Errorf("near %f", n)
		}

		// Another model does, but two that take turns do not for ever.
		*e = swapped{model: "b"}
		if n := near(corpus.ErrOtherModel); n != 0 || c.Doubts() != 1 {
			t.Errorf("near %f, %d doubts", n, c.Doubts())
		}
		embed(0, corpus.ErrOtherModel)
		k.Clock.Move(time.Hour)
		embed(passages, nil)
		if n := near(nil); n < 0.99 {
			t.Errorf("near %f", n)
		}

		// A model that is swapped meanwhile leaves no mixture.
		k.Clock.Move(time.Hour)
		*e = swapped{model: "c", after: 4}
		if made, err := c.Embed(t.Context(), e, nil); !errors.Is(err, corpus.ErrOtherModel) || made == 0 || made == passages {
			t.Fatal(made, err)
		}
		near(corpus.ErrOtherModel)
		k.Clock.Move(time.Hour)
		embed(passages, nil)
		if n := near(nil); n < 0.99 {
			t.Errorf("near %f", n)
		}

		// Of vectors from before marks were written down, one passage tells whose they are.
		forgetMark := func() {
			t.Helper()
			err := k.DB.Write(t.Context(), func(conn kernel.Conn) error {
				_, err := conn.Exec("DELETE FROM answer_embedders")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		forgetMark()
		if near(nil) != 0 {
			t.Error("vectors of nobody knows whom are compared")
		}
		embed(0, nil)
		forgetMark()
		*e = swapped{model: "d"}
		embed(passages, nil)
	})
}
