package answer

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// embedder makes vectors of one dimension. It counts the calls of Model, which is called whenever passages without a
// vector are looked for, and the vectors of passages.
type embedder struct{ looked, made int }

func (e *embedder) Model() string {
	e.looked++
	return "one"
}

func (e *embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	for _, text := range texts {
		if text != corpus.FingerprintText {
			e.made++
		}
	}
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1}
	}
	return vectors, nil
}

// TestEmbed checks that passages without a vector are looked for only when the corpus has changed.
func TestEmbed(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		s := New(Options{DB: k.DB, Logger: zap.NewNop, Now: time.Now})
		defer s.Close()
		e := new(embedder)
		holds := 0
		embed := s.embed(e, func(store.Conn) error {
			holds++
			return nil
		})
		run := func(want int, looks bool) {
			t.Helper()
			before := e.looked
			vectors, err := embed(t.Context())
			if err != nil || vectors != want || e.looked > before != looks {
				t.Errorf("got %d vectors, looked for passages: %t, error %v; want %d, %t", vectors, e.looked > before, err, want, looks)
			}
		}
		put := func(url string) {
			t.Helper()
			if _, err := s.Corpus.Put(t.Context(), fileformat.Source{Title: url, URL: url, Issuer: fileformat.Company{Name: "Fenwick Industries"}, Pages: []fileformat.Page{{Text: "Revenue was $1 million: " + url}}}); err != nil {
				t.Fatal(err)
			}
		}
		put("corpus:a")
		run(1, true)
		run(0, false)
		put("corpus:b")
		run(1, true)
		run(0, false)
		if e.made != 2 || holds < 2 {
			t.Errorf("got %d vectors and %d renewals of the lease, want 2 and at least 2", e.made, holds)
		}
	})
}
