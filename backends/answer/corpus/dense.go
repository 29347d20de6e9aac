package corpus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Embedder makes embedding vectors.
type Embedder interface {
	// Model returns the name of the model. Vectors of different models cannot be compared.
	Model() string
	// Embed returns one vector for each text, all of the same length. It returns kernel.ErrTexts if the texts
	// are not accepted.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	embeddedAtOnce = 32   // the largest number of texts in a request for vectors
	maxDimensions  = 4096 // of a vector
	// embedPatience is how long a request for vectors may take.
	embedPatience = 2 * time.Minute
	// maxRefused is how many single texts may be refused in a row. After so many refusals Embed gives up, because the
	// cause is probably not the texts.
	maxRefused = 8
	// A refused text is not shortened further once it has at most minEmbedded bytes.
	minEmbedded = 200
)

// unembedded is a chunk of which a vector is to be made.
type unembedded struct {
	id   int64
	text string
}

// Embed uses e to make the vectors of all chunks that have no vector of its model, and returns how many it made. It can
// be interrupted and called again. If e refuses texts, each is sent alone. A text that is still refused is cut in half
// again and again; if even a short beginning is refused, the text gets no vector. If the model behind the name has
// changed since the stored vectors were made, these are replaced. Each transaction calls progress, unless it is nil,
// with the number of vectors that were made before; the error of progress ends the work.
func (c *Corpus) Embed(
	ctx context.Context, e Embedder, progress func(conn kernel.Conn, vectors int) error,
) (total int, err error) {
	fingerprint, err := c.updateFingerprint(ctx, e)
	if err != nil {
		return 0, err
	}
	// last is the id of the last chunk that needs no further attempt. limit is the number of texts in the next request; it
	// grows again after a success. refused is how many single texts in a row were refused.
	last, limit, refused := int64(0), embeddedAtOnce, 0
	for {
		list, err := c.unembedded(ctx, e.Model(), last, limit)
		if err != nil || len(list) == 0 {
			return total, err
		}
		vectors, current, err := vectorsOf(ctx, e, list)
		switch {
		case errors.Is(err, kernel.ErrTexts) && len(list) > 1: // one of the texts may be the cause
			limit = len(list) / 2
			continue
		case errors.Is(err, kernel.ErrTexts):
			if refused++; refused == maxRefused {
				return total, err
			}
			c.Logger().Warn("the embedding model refuses a passage, which gets no vector",
				zap.Int64("passage", list[0].id), zap.Error(err))
			last = list[0].id
			continue
		case err != nil:
			return total, err
		}
		if err := checkComparable(vectors, fingerprint, current); err != nil {
			return total, err
		}
		err = c.Write(ctx, func(conn kernel.Conn) error {
			for i, chunk := range list {
				// Nothing is inserted for a document that was removed meanwhile.
				err := conn.Later("INSERT INTO answer_dense (chunk_id, model, document_id, vector) SELECT id, ?, document_id, ? FROM answer_chunks WHERE id = ? ON CONFLICT DO NOTHING",
					e.Model(), pack(vectors[i]), chunk.id)
				if err != nil {
					return err
				}
			}
			if progress == nil {
				return nil
			}
			return progress(conn, total)
		})
		if err != nil {
			return total, err
		}
		total, refused = total+len(list), 0
		last, limit = list[len(list)-1].id, min(2*limit, embeddedAtOnce)
	}
}

// unembedded returns at most limit chunks that have no vector of a model, in the order of their ids, beginning after
// the id last.
func (c *Corpus) unembedded(ctx context.Context, model string, last int64, limit int) (list []unembedded, err error) {
	err = c.Read(ctx, func(conn kernel.Conn) (err error) {
		list, err = store.List(conn, func(r store.Row) (chunk unembedded, err error) {
			err = r.Scan(&chunk.id, &chunk.text)
			return chunk, err
		}, "SELECT c.id, c.text FROM answer_chunks c WHERE c.id > ? AND NOT EXISTS (SELECT 1 FROM answer_dense d WHERE d.chunk_id = c.id AND d.model = ?) "+
			"ORDER BY c.id LIMIT ?", last, model, limit)
		return err
	})
	return list, err
}

// vectorsOf returns the vectors of the texts of list and the fingerprint (see FingerprintText) of the model that made
// them. A single text that is refused is halved until it is accepted or no longer than minEmbedded.
func vectorsOf(
	ctx context.Context, e Embedder, list []unembedded,
) (vectors [][]float32, fingerprint []byte, err error) {
	texts := make([]string, len(list))
	for i, chunk := range list {
		texts[i] = chunk.text
	}
	for {
		vectors, fingerprint, err = vectorsAndFingerprint(ctx, e, texts)
		if !errors.Is(err, kernel.ErrTexts) || len(texts) > 1 || len(texts[0]) <= minEmbedded {
			return vectors, fingerprint, err
		}
		texts[0] = text.CutBytes(texts[0], len(texts[0])/2)
	}
}

// embedTexts requests the vectors of texts from e, for at most embedPatience, and checks their number and length.
func embedTexts(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedPatience)
	defer cancel()
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("the embedding model returned %d vectors for %d texts", len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) > maxDimensions {
			return nil, fmt.Errorf("the embedding model returned a vector with %d dimensions, must be 1 to %d",
				len(v), maxDimensions)
		}
	}
	return vectors, nil
}

// deletedAtOnce is how many vectors are deleted in one transaction.
const deletedAtOnce = 1000

// pack returns a vector with one byte per dimension, scaled so that its largest component becomes 127.
func pack(v []float32) []byte {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	packed := make([]byte, len(v))
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return packed
	}
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x)))
	}
	for i, x := range v { // the scale does not matter when angles are compared
		packed[i] = byte(int8(math.Round(float64(x) / largest * 127))) //nolint:gosec // only the bits are stored
	}
	return packed
}

// Similarities returns the similarities, from -1 to 1, between queryVector and the vectors of chunks, by chunk id.
// queryVector and fingerprint are results of QueryVector. Chunks without a vector are missing from the map. If the
// vectors of another model have been stored since QueryVector returned, the map is empty.
func Similarities(
	c kernel.Conn, model string, fingerprint []byte, queryVector []float32, chunks []int64,
) (map[int64]float64, error) {
	similarities := make(map[int64]float64)
	target := pack(queryVector)
	condition, ids := Among(c, "chunk_id", chunks)
	err := c.All("SELECT chunk_id, vector FROM answer_dense WHERE model = ? AND EXISTS (SELECT 1 FROM answer_embedders e WHERE e.model = ? AND e.mark = ?) AND "+condition, []any{model, model, fingerprint, ids}, func(r store.Row) error {
		var id int64
		var v []byte
		if err := r.Scan(&id, &v); err != nil || len(v) != len(target) {
			return err
		}
		similarities[id] = cosine(v, target)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return similarities, nil
}

// cosine returns the cosine of the angle between two vectors of the same length, which pack has made.
func cosine(a, b []byte) float64 {
	var ab, aa, bb int64
	for i := range a {
		x, y := int64(int8(a[i])), int64(int8(b[i])) //nolint:gosec // bytes of pack
		ab += x * y
		aa += x * x
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return float64(ab) / math.Sqrt(float64(aa)*float64(bb))
}
