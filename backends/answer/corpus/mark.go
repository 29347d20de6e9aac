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

// A name says little of a model: a server is asked for "embeddings", and what it loads is somebody else's matter. So
// each request for vectors has a fixed text with it, whose vector is the mark of the model that answers; vectors of
// different marks are not compared, and those of passages are made anew where the mark is another one. A provider that
// is changed for another with the same model costs nothing.

// MarkText is the text whose vector is the mark of a model.
const MarkText = "The company paid a dividend and bought back some of its own shares."

// settled is how long a model stays the one that made the vectors, at least: two that take turns behind a name would
// have them made anew for ever.
const settled = 10 * time.Minute

// alike is how near two marks of one model are at least: providers of one model round differently, and the marks of
// two have nothing in common.
const alike = 0.95

// ErrOtherModel is the error of vectors by a model that did not make those of the passages.
var ErrOtherModel = errors.New("another model than before answers: its vectors do not compare with those of the passages")

func sameModel(a, b []byte) bool {
	return len(a) == len(b) && (bytes.Equal(a, b) || cosine(a, b) >= alike)
}

// marked are vectors of texts, and the mark of the model that has made them.
func marked(ctx context.Context, e Embedder, texts []string) (vectors [][]float32, mark []byte, err error) {
	vectors, err = vectorsNow(ctx, e, append([]string{MarkText}, texts...))
	if err == nil {
		return vectors[1:], pack(vectors[0]), nil
	}
	if !errors.Is(err, kernel.ErrTexts) || len(texts) != 1 {
		return nil, nil, err
	}
	// It may take one text at a time.
	first, err := vectorsNow(ctx, e, []string{MarkText})
	if err != nil {
		return nil, nil, err
	}
	vectors, err = vectorsNow(ctx, e, texts)
	return vectors, pack(first[0]), err
}

// Meaning is the vector of a text, by a model that has made the vectors of passages, and its mark as it is stored. The
// error of another model is ErrOtherModel. There is no vector where passages have none yet.
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

// Doubts counts how often Meaning has found another model.
func (c *Corpus) Doubts() int64 { return c.doubts.Load() }

// mark is that of the model which made the vectors under a name; nil: none has, or nobody knows.
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

// recognise takes away the vectors of passages that another model has made under the same name, and writes down the mark
// of the one that answers now. The error of one that comes too soon after the other is ErrOtherModel.
func (c *Corpus) recognise(ctx context.Context, e Embedder) (mark []byte, err error) {
	model := e.Model()
	before, since, err := c.mark(ctx, model)
	if err != nil {
		return nil, err
	}
	vectors, err := vectorsNow(ctx, e, []string{MarkText})
	if err != nil {
		return nil, err
	}
	mark = pack(vectors[0])
	if before != nil && sameModel(before, mark) {
		return before, nil
	}
	if before != nil && c.Now().Sub(since) < settled {
		return nil, ErrOtherModel
	}
	if before != nil {
		// Nobody compares with them from here on, also where what follows is cut off.
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
		c.Logger().Warn("vectors of passages are made anew: another model made them", zap.String("model", model), zap.Int("dimensions", len(mark)))
		if _, err = c.DB.Purge(ctx, forgetAtOnce, "DELETE FROM answer_dense WHERE (chunk_id, model) IN (SELECT chunk_id, model FROM answer_dense WHERE model = ? LIMIT ?)", model); err != nil {
			return nil, err
		}
	}
	return mark, c.Write(ctx, func(conn kernel.Conn) error {
		_, err := conn.Exec("INSERT INTO answer_embedders (model, mark, since) VALUES (?, ?, ?) ON CONFLICT (model) DO UPDATE SET mark = excluded.mark, since = excluded.since", model, mark, c.Now().UnixMicro())
		return err
	})
}

// madeBy tells whether the vectors under a name are those of the model that answers now, of which no mark tells: by the
// oldest passage, whose vector is made once more.
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
		return false, nil // whoever made it took it
	}
	return err == nil && sameModel(before, pack(vectors[0])), err
}

// check refuses vectors that do not compare with those of a mark.
func check(vectors [][]float32, mark, now []byte) error {
	if !sameModel(mark, now) {
		return ErrOtherModel
	}
	if i := slices.IndexFunc(vectors, func(v []float32) bool { return len(v) != len(mark) }); i >= 0 {
		return fmt.Errorf("a vector has %d dimensions, and others of the same model have %d", len(vectors[i]), len(mark))
	}
	return nil
}
