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
// loads. Therefore each request for vectors contains a fixed text, and its vector is the fingerprint of the model that
// answers. Vectors with different fingerprints are not compared, and the vectors of passages are made again when the
// fingerprint changes. If a provider is replaced by another provider of the same model, the vectors stay valid.

// FingerprintText is the text whose vector is the fingerprint of a model.
const FingerprintText = "The company paid a dividend and bought back some of its own shares."

// minModelAge is the least time for which the vectors of an accepted model are kept. Without it, two models that take
// turns behind one name would replace each other's vectors forever.
const minModelAge = 10 * time.Minute

// minSimilarity is the least similarity of two fingerprints of one model. They differ because providers round
// differently. The fingerprints of two models are far less similar.
const minSimilarity = 0.95

// ErrOtherModel is returned if the vectors come from another model than the vectors of the passages.
var ErrOtherModel = errors.New(
	"the embedding model has changed: its vectors cannot be compared with the stored vectors of the passages")

// sameModel reports whether two vectors of one text, packed by pack, come from the same model.
func sameModel(a, b []byte) bool {
	return len(a) == len(b) && (bytes.Equal(a, b) || cosine(a, b) >= minSimilarity)
}

// vectorsAndFingerprint returns the vectors of texts and the fingerprint of the model that made them.
func vectorsAndFingerprint(
	ctx context.Context, e Embedder, texts []string,
) (vectors [][]float32, fingerprint []byte, err error) {
	vectors, err = embedTexts(ctx, e, append([]string{FingerprintText}, texts...))
	if err == nil {
		return vectors[1:], pack(vectors[0]), nil
	}
	if !errors.Is(err, kernel.ErrTexts) || len(texts) != 1 {
		return nil, nil, err
	}
	// An embedder may accept only one text at a time.
	first, err := embedTexts(ctx, e, []string{FingerprintText})
	if err != nil {
		return nil, nil, err
	}
	vectors, err = embedTexts(ctx, e, texts)
	return vectors, pack(first[0]), err
}

// QueryVector returns the vector of a text and the fingerprint of the model that made the vectors of the passages. If
// the text's vector comes from another model, QueryVector returns ErrOtherModel. If the passages have no vectors yet,
// it returns a nil vector.
func (c *Corpus) QueryVector(
	ctx context.Context, e Embedder, text string,
) (vector []float32, fingerprint []byte, err error) {
	if fingerprint, _, err = c.fingerprint(ctx, e.Model()); err != nil || fingerprint == nil {
		return nil, nil, err
	}
	vectors, current, err := vectorsAndFingerprint(ctx, e, []string{text})
	if err != nil {
		return nil, nil, err
	}
	if !sameModel(fingerprint, current) {
		c.doubts.Add(1)
		return nil, nil, ErrOtherModel
	}
	return vectors[0], fingerprint, nil
}

// Doubts returns how often QueryVector has returned ErrOtherModel.
func (c *Corpus) Doubts() int64 { return c.doubts.Load() }

// fingerprint returns the stored fingerprint of the model that made the vectors under a name, and the time when it was
// stored. A nil fingerprint means that there are no vectors, or that their model is unknown.
func (c *Corpus) fingerprint(ctx context.Context, model string) (fingerprint []byte, storedAt time.Time, err error) {
	var micros int64
	err = c.Read(ctx, func(conn kernel.Conn) error {
		err := conn.Row("SELECT mark, since FROM answer_embedders WHERE model = ?", model).Scan(&fingerprint, &micros)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return fingerprint, time.UnixMicro(micros), err
}

// updateFingerprint stores the fingerprint of the model that answers now and returns it. If another model has made the
// vectors of passages under the same name, it deletes these vectors. It returns ErrOtherModel if the model has changed
// although the fingerprint of the previous model is not older than minModelAge.
func (c *Corpus) updateFingerprint(ctx context.Context, e Embedder) (fingerprint []byte, err error) {
	model := e.Model()
	previous, storedAt, err := c.fingerprint(ctx, model)
	if err != nil {
		return nil, err
	}
	vectors, err := embedTexts(ctx, e, []string{FingerprintText})
	if err != nil {
		return nil, err
	}
	fingerprint = pack(vectors[0])
	if previous != nil && sameModel(previous, fingerprint) {
		return previous, nil
	}
	if previous != nil && c.Now().Sub(storedAt) < minModelAge {
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
	// There may be vectors without a fingerprint, for example after an interrupted deletion.
	unchanged, err := c.madeByCurrentModel(ctx, e)
	if err != nil {
		return nil, err
	}
	if !unchanged {
		c.Logger().Warn("the embedding model has changed: the vectors of all passages are made again",
			zap.String("model", model), zap.Int("dimensions", len(fingerprint)))
		if _, err = c.DB.Purge(ctx, deletedAtOnce,
			"DELETE FROM answer_dense WHERE (chunk_id, model) IN (SELECT chunk_id, model FROM answer_dense WHERE model = ? LIMIT ?)", model); err != nil {
			return nil, err
		}
	}
	return fingerprint, c.Write(ctx, func(conn kernel.Conn) error {
		_, err := conn.Exec("INSERT INTO answer_embedders (model, mark, since) VALUES (?, ?, ?) ON CONFLICT (model) DO UPDATE SET mark = excluded.mark, since = excluded.since", model, fingerprint, c.Micros())
		return err
	})
}

// madeByCurrentModel reports whether the stored vectors under the name of the model, which have no fingerprint, come
// from the model that answers now. It makes the vector of the oldest passage again and compares it with the stored
// vector. If there are no stored vectors, it returns true.
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
		return false, nil // the model that made the stored vector has accepted the text
	}
	return err == nil && sameModel(stored, pack(vectors[0])), err
}

// checkComparable returns an error if new vectors cannot be compared with the stored vectors: ErrOtherModel, or an
// error for a wrong number of dimensions. stored and current are the fingerprints of the models that made the stored
// and the new vectors.
func checkComparable(vectors [][]float32, stored, current []byte) error {
	if !sameModel(stored, current) {
		return ErrOtherModel
	}
	if i := slices.IndexFunc(vectors, func(v []float32) bool { return len(v) != len(stored) }); i >= 0 {
		return fmt.Errorf("a vector has %d dimensions, and others of the same model have %d", len(vectors[i]), len(stored))
	}
	return nil
}
