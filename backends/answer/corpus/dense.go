package corpus

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Embedder makes vectors of meaning.
type Embedder interface {
	// Model names what makes them: vectors of different ones do not compare.
	Model() string
	// Embed makes one for each text, all of one length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	embeddedAtOnce = 32
	mostDimensions = 4096
)

// Embed makes the vectors of meaning of all chunks that have none of the embedder's
// model. It goes on where it was when it is called again. told is called with the
// number that were made; nil: nobody is told.
func (c *Corpus) Embed(ctx context.Context, e Embedder, told func(made int)) (made int, err error) {
	type text struct {
		id   int64
		text string
	}
	last := int64(0)
	for {
		var list []text
		err := c.Read(ctx, func(conn kernel.Conn) (err error) {
			list, err = store.List(conn, func(r store.Row) (t text, err error) {
				err = r.Scan(&t.id, &t.text)
				return t, err
			}, "SELECT c.id, c.text FROM answer_chunks c WHERE c.id > ? AND NOT EXISTS (SELECT 1 FROM answer_dense d WHERE d.chunk_id = c.id AND d.model = ?) "+
				"ORDER BY c.id LIMIT ?", last, e.Model(), embeddedAtOnce)
			return err
		})
		if err != nil || len(list) == 0 {
			return made, err
		}
		texts := make([]string, len(list))
		for i, t := range list {
			texts[i] = t.text
		}
		vectors, err := e.Embed(ctx, texts)
		if err != nil {
			return made, err
		}
		if len(vectors) != len(texts) {
			return made, fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
		}
		for _, v := range vectors {
			if len(v) == 0 || len(v) > mostDimensions {
				return made, errors.New("a vector has no dimensions, or too many")
			}
		}
		err = c.Write(ctx, func(conn kernel.Conn) error {
			// A document may have gone meanwhile.
			for i, t := range list {
				err := conn.Later("INSERT INTO answer_dense (chunk_id, model, document_id, vector) SELECT id, ?, document_id, ? FROM answer_chunks WHERE id = ? ON CONFLICT DO NOTHING",
					e.Model(), pack(vectors[i]), t.id)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return made, err
		}
		made += len(list)
		last = list[len(list)-1].id
		if told != nil {
			told(made)
		}
	}
}

// pack makes a vector of length 1 with a byte for each dimension.
func pack(v []float32) []byte {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	packed := make([]byte, len(v))
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return packed
	}
	most := 0.0
	for _, x := range v {
		most = max(most, math.Abs(float64(x)))
	}
	for i, x := range v { // the scale goes out when angles are compared
		packed[i] = byte(int8(math.Round(float64(x) / most * 127))) //nolint:gosec // the bits of it
	}
	return packed
}

// Near is how near the vectors of chunks are to one of the same model, -1 to 1. Chunks
// without a vector are not in it.
func Near(c kernel.Conn, model string, to []float32, chunks []int64) (map[int64]float64, error) {
	near := make(map[int64]float64)
	target := pack(to)
	among, ids := Among(c, "chunk_id", chunks)
	err := c.All("SELECT chunk_id, vector FROM answer_dense WHERE model = ? AND "+among, []any{model, ids}, func(r store.Row) error {
		var id int64
		var v []byte
		if err := r.Scan(&id, &v); err != nil || len(v) != len(target) {
			return err
		}
		near[id] = cosine(v, target)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return near, nil
}

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
