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
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// swapped is an embedder behind whose name models take turns. All make vectors of one length.
type swapped struct {
	model string  // the model that answers
	noise float64 // the error of this provider's rounding
	after int     // the number of requests after which the model "b" answers; 0: never
	asked int     // the number of requests so far
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
// made again.
func TestSwappedModel(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		const passages = 70
		for i := range passages {
			if _, err := c.Put(t.Context(), fileformat.Source{Title: "Pumps", URL: fmt.Sprintf("corpus:%d", i), Pages: []fileformat.Page{{Text: fmt.Sprintf("Number %d sells pumps.", i)}}}); err != nil {
				t.Fatal(err)
			}
		}
		e := &swapped{model: "a"}
		embed := func(want int, fault error) {
			t.Helper()
			if got, err := c.Embed(t.Context(), e, nil); got != want || !errors.Is(err, fault) {
				t.Fatalf("got %d vectors, error %v; want %d, %v", got, err, want, fault)
			}
		}
		// nearestSimilarity returns the similarity of a question and the passage that it repeats, or 0 if nothing is compared.
		nearestSimilarity := func(fault error) (nearest float64) {
			t.Helper()
			vector, fingerprint, err := c.QueryVector(t.Context(), e, "Number 7 sells pumps.")
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
				all, err := corpus.Similarities(conn, e.Model(), fingerprint, vector, ids)
				for _, similarity := range all {
					nearest = max(nearest, similarity)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return nearest
		}

		if nearestSimilarity(nil) != 0 || e.asked != 0 {
			t.Error("QueryVector sends a request although the passages have no vectors")
		}
		embed(passages, nil)
		if n := nearestSimilarity(nil); n < 0.99 {
			t.Errorf("near %f", n)
		}

		// For another provider of the same model no vectors are made again.
		e.noise = 0.01
		embed(0, nil)
		if n := nearestSimilarity(nil); n < 0.99 || c.Doubts() != 0 {
			t.Errorf("near %f", n)
		}

		// For another model vectors are made again, but not as long as two models may be taking turns.
		*e = swapped{model: "b"}
		if n := nearestSimilarity(corpus.ErrOtherModel); n != 0 || c.Doubts() != 1 {
			t.Errorf("near %f, %d doubts", n, c.Doubts())
		}
		embed(0, corpus.ErrOtherModel)
		k.Clock.Move(time.Hour)
		embed(passages, nil)
		if n := nearestSimilarity(nil); n < 0.99 {
			t.Errorf("near %f", n)
		}

		// If the model changes while vectors are made, vectors of both models are not mixed.
		k.Clock.Move(time.Hour)
		*e = swapped{model: "c", after: 4}
		if got, err := c.Embed(t.Context(), e, nil); !errors.Is(err, corpus.ErrOtherModel) || got == 0 || got == passages {
			t.Fatal(got, err)
		}
		nearestSimilarity(corpus.ErrOtherModel)
		k.Clock.Move(time.Hour)
		embed(passages, nil)
		if n := nearestSimilarity(nil); n < 0.99 {
			t.Errorf("near %f", n)
		}

		// The model of vectors that have no fingerprint is recognized by making the vector of one passage again.
		forgetFingerprint := func() {
			t.Helper()
			err := k.DB.Write(t.Context(), func(conn kernel.Conn) error {
				_, err := conn.Exec("DELETE FROM answer_embedders")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		forgetFingerprint()
		if nearestSimilarity(nil) != 0 {
			t.Error("vectors of an unknown model are compared")
		}
		embed(0, nil)
		forgetFingerprint()
		*e = swapped{model: "d"}
		embed(passages, nil)
	})
}
