package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// The name of a model does not identify it: a server is asked for "embeddings", and its operator decides
// which model it loads. Therefore each request for vectors contains a fixed text, whose vector is the mark of
// the model that answers. Vectors with different marks are not compared, and the vectors of passages are made
// anew when the mark changes. If a provider is replaced by another one with the same model, nothing has to be
// made anew.

// MarkText is the text whose vector is the mark of a model.
const MarkText = "The company paid a dividend and bought back some of its own shares."

// settled is how long a model remains the accepted one at least. Without it, two models that take turns
// behind one name would have all vectors made anew forever.
const settled = 10 * time.Minute

// alike is the least similarity of two marks of one model. Providers of one model round differently; the
// marks of two models have nothing in common.
const alike = 0.95

// ErrOtherModel is returned for vectors from a model that did not make the vectors of the passages.
var ErrOtherModel = errors.New("another model than before answers: its vectors do not compare with those of the passages")

func sameModel(a, b []byte) bool {
	return len(a) == len(b) && (bytes.Equal(a, b) || cosine(a, b) >= alike)
}

// marked returns the vectors of texts and the mark of the model that made them.
func marked(ctx context.Context, e Embedder, texts []string) (vectors [][]float32, mark []byte, err error) {
	vectors, err = vectorsNow(ctx, e, append([]string{MarkText}, texts...))
	if err == nil {
		return vectors[1:], pack(vectors[0]), nil
	}
	if !errors.Is(err, kernel.ErrTexts) || len(texts) != 1 {
		return nil, nil, err
	}
	// The embedder may accept one text at a time.
	first, err := vectorsNow(ctx, e, []string{MarkText})
	if err != nil {
		return nil, nil, err
	}
	vectors, err = vectorsNow(ctx, e, texts)
	return vectors, pack(first[0]), err
}

// Meaning returns the vector of a text and the stored mark of the model. It returns ErrOtherModel if the
// model that answers is not the one that made the vectors of the passages, and a nil vector if the passages
// have none yet.
func (c *Corpus) Meaning(ctx context.Context, e Embedder, text string) (vector []float32, mark []byte, err error) {
	if mark, _, err = c.mark(ctx, e.Model()); err != nil || mark == nil {
		return nil, nil, err
	}
	vectors, now, err := marked(ctx, e, []string{text})
	if err != nil {
		return nil, nil, err
	}
	if !sameModel(mark, now) {
		c.doubts.Add(1)
		return nil, nil, ErrOtherModel
	}
	return vectors[0], mark, nil
}

// Doubts returns how often Meaning has found another model.
func (c *Corpus) Doubts() int64 { return c.doubts.Load() }

// mark returns the mark of the model that made the vectors under a name, and since when it has been valid. A
// nil mark means that there are no vectors, or that their model is unknown.
func (c *Corpus) mark(ctx context.Context, model string) (mark []byte, since time.Time, err error) {
	var micros int64
	err = c.Read(ctx, func(conn kernel.Conn) error {
		err := conn.Row("SELECT mark, since FROM answer_embedders WHERE model = ?", model).Scan(&mark, &micros)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return mark, time.UnixMicro(micros), err
}

// recognise stores the mark of the model that answers now. If another model has made the vectors of passages
// under the same name, it deletes them. It returns ErrOtherModel if the model has changed before the previous
// one was settled.
func (c *Corpus) recognise(ctx context.Context, e Embedder) (mark []byte, err error) {
	model := e.Model()
	previous, since, err := c.mark(ctx, model)
	if err != nil {
		return nil, err
	}
	vectors, err := vectorsNow(ctx, e, []string{MarkText})
	if err != nil {
		return nil, err
	}
	mark = pack(vectors[0])
	if previous != nil && sameModel(previous, mark) {
		return previous, nil
	}
	if previous != nil && c.Now().Sub(since) < settled {
		return nil, ErrOtherModel
	}
	if previous != nil {
		// From here on the old vectors are not compared any more, even if the deletion is interrupted.
		err = c.Write(ctx, func(conn kernel.Conn) error {
			_, err := conn.Exec("DELETE FROM answer_embedders WHERE model = ?", model)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	made, err := c.madeBy(ctx, e)
	if err != nil {
		return nil, err
	}
	if !made {
		c.Logger().Warn("vectors of passages are made anew: another model made them",
			zap.String("model", model), zap.Int("dimensions", len(mark)))
		if _, err = c.DB.Purge(ctx, forgetAtOnce,
			"DELETE FROM answer_dense WHERE (chunk_id, model) IN (SELECT chunk_id, model FROM answer_dense WHERE model = ? LIMIT ?)", model); err != nil {
			return nil, err
		}
	}
	return mark, c.Write(ctx, func(conn kernel.Conn) error {
		_, err := conn.Exec("INSERT INTO answer_embedders (model, mark, since) VALUES (?, ?, ?) ON CONFLICT (model) DO UPDATE SET mark = excluded.mark, since = excluded.since", model, mark, c.Now().UnixMicro())
		return err
	})
}

// madeBy reports whether the stored vectors under a name come from the model that answers now, for vectors
// without a mark. It makes the vector of the oldest passage again and compares.
func (c *Corpus) madeBy(ctx context.Context, e Embedder) (bool, error) {
	var of unembedded
	var before []byte
	err := c.Read(ctx, func(conn kernel.Conn) error {
		return conn.Row("SELECT c.id, c.text, d.vector FROM answer_dense d JOIN answer_chunks c ON c.id = d.chunk_id WHERE d.model = ? ORDER BY d.chunk_id LIMIT 1", e.Model()).
			Scan(&of.id, &of.text, &before)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	vectors, _, err := vectorsOf(ctx, e, []unembedded{of})
	if errors.Is(err, kernel.ErrTexts) {
		return false, nil // the model that made the vector has accepted the text
	}
	return err == nil && sameModel(before, pack(vectors[0])), err
}

// check returns an error if vectors cannot be compared with those of a mark: ErrOtherModel, or one for a
// wrong number of dimensions.
func check(vectors [][]float32, mark, now []byte) error {
	if !sameModel(mark, now) {
		return ErrOtherModel
	}
	if i := slices.IndexFunc(vectors, func(v []float32) bool { return len(v) != len(mark) }); i >= 0 {
		return fmt.Errorf("a vector has %d dimensions, and others of the same model have %d", len(vectors[i]), len(mark))
	}
	return nil
}
