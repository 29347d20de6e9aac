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

// The name of a model does not identify it: a server is asked for "embeddings", and its operator decides which model it
// loads. Therefore each request for vectors contains a fixed text, and its vector is the mark of the model that
// answers. Vectors with different marks are not compared, and the vectors of passages are made anew when the mark
// changes. If a provider is replaced by another provider of the same model, the vectors stay valid.

// MarkText is the text whose vector is the mark of a model.
const MarkText = "The company paid a dividend and bought back some of its own shares."

// minModelAge is the least time for which the vectors of an accepted model are kept. Without it, two models that take
// turns behind one name would have all vectors made anew forever.
const minModelAge = 10 * time.Minute

// minSimilarity is the least similarity of two marks of one model. Providers of one model round differently; the marks
// of two models have nothing in common.
const minSimilarity = 0.95

// ErrOtherModel is returned if the vectors come from another model than the vectors of the passages.
var ErrOtherModel = errors.New("another model than before answers: its vectors do not compare with those of the passages")

func sameModel(a, b []byte) bool {
	return len(a) == len(b) && (bytes.Equal(a, b) || cosine(a, b) >= minSimilarity)
}

// vectorsAndMark returns the vectors of texts and the mark of the model that made them.
func vectorsAndMark(ctx context.Context, e Embedder, texts []string) (vectors [][]float32, mark []byte, err error) {
	vectors, err = requestVectors(ctx, e, append([]string{MarkText}, texts...))
	if err == nil {
		return vectors[1:], pack(vectors[0]), nil
	}
	if !errors.Is(err, kernel.ErrTexts) || len(texts) != 1 {
		return nil, nil, err
	}
	// An embedder may accept only one text at a time.
	first, err := requestVectors(ctx, e, []string{MarkText})
	if err != nil {
		return nil, nil, err
	}
	vectors, err = requestVectors(ctx, e, texts)
	return vectors, pack(first[0]), err
}

// QueryVector returns the vector of a text and the stored mark of the model. If the vectors of the passages come from
// another model, it returns ErrOtherModel. If the passages have no vectors yet, it returns a nil vector.
func (c *Corpus) QueryVector(ctx context.Context, e Embedder, text string) (vector []float32, mark []byte, err error) {
	if mark, _, err = c.mark(ctx, e.Model()); err != nil || mark == nil {
		return nil, nil, err
	}
	vectors, now, err := vectorsAndMark(ctx, e, []string{text})
	if err != nil {
		return nil, nil, err
	}
	if !sameModel(mark, now) {
		c.doubts.Add(1)
		return nil, nil, ErrOtherModel
	}
	return vectors[0], mark, nil
}

// Doubts returns how often QueryVector has returned ErrOtherModel.
func (c *Corpus) Doubts() int64 { return c.doubts.Load() }

// mark returns the mark of the model that made the vectors under a name, and the time when it was stored. A nil mark
// means that there are no vectors, or that their model is unknown.
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

// recognise stores the mark of the model that answers now. If another model has made the vectors of passages under the
// same name, it deletes these vectors. It returns ErrOtherModel if the model has changed although the mark of the
// previous model is not older than minModelAge.
func (c *Corpus) recognise(ctx context.Context, e Embedder) (mark []byte, err error) {
	model := e.Model()
	previous, since, err := c.mark(ctx, model)
	if err != nil {
		return nil, err
	}
	vectors, err := requestVectors(ctx, e, []string{MarkText})
	if err != nil {
		return nil, err
	}
	mark = pack(vectors[0])
	if previous != nil && sameModel(previous, mark) {
		return previous, nil
	}
	if previous != nil && c.Now().Sub(since) < minModelAge {
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
	made, err := c.madeByCurrentModel(ctx, e)
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

// madeByCurrentModel reports whether the stored vectors under the name of the model, which have no mark, come from the
// model that answers now. It makes the vector of the oldest passage again and compares. Without stored vectors it
// returns true.
func (c *Corpus) madeByCurrentModel(ctx context.Context, e Embedder) (bool, error) {
	var chunk unembedded
	var stored []byte
	err := c.Read(ctx, func(conn kernel.Conn) error {
		return conn.Row("SELECT c.id, c.text, d.vector FROM answer_dense d JOIN answer_chunks c ON c.id = d.chunk_id WHERE d.model = ? ORDER BY d.chunk_id LIMIT 1", e.Model()).
			Scan(&chunk.id, &chunk.text, &stored)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	vectors, _, err := vectorsOf(ctx, e, []unembedded{chunk})
	if errors.Is(err, kernel.ErrTexts) {
		return false, nil // the model that made the vector has accepted the text
	}
	return err == nil && sameModel(stored, pack(vectors[0])), err
}

// checkComparable returns an error if new vectors cannot be compared with the stored vectors: ErrOtherModel, or an
// error for a wrong number of dimensions. mark is the mark of the model that made the stored vectors, and now that of
// the model that made the new ones.
func checkComparable(vectors [][]float32, mark, now []byte) error {
	if !sameModel(mark, now) {
		return ErrOtherModel
	}
	if i := slices.IndexFunc(vectors, func(v []float32) bool { return len(v) != len(mark) }); i >= 0 {
		return fmt.Errorf("a vector has %d dimensions, and others of the same model have %d", len(vectors[i]), len(mark))
	}
	return nil
}
