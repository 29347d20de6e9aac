package embeddings

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Pass converts one answer of an upstream for the client.
type Pass struct {
	request *Request
	usage   wire.Usage
}

// NewPass returns a Pass for the answer to r.
func NewPass(r *Request) *Pass { return &Pass{request: r} }

// Usage returns the usage that the upstream stated.
func (p *Pass) Usage() wire.Usage { return p.usage }

// TextBytes returns 0, since an answer with vectors has no text.
func (p *Pass) TextBytes() int64 { return 0 }

// Whole converts body, the upstream's answer, and appends the result to dst. The answer's model becomes the model that
// the client requested. Vectors are encoded in base64 if the client asked for base64 and the upstream sent numbers. The
// errors are a *wire.UpstreamError for an answer that is an error, and errors that wrap wire.ErrBroken. An answer is
// broken, among other reasons, if it does not have exactly one vector for each text.
func (p *Pass) Whole(dst, body []byte) ([]byte, error) {
	a := answer{s: jsontext.NewScanner(body), request: p.request}
	err := a.read()
	p.usage = a.usage
	switch {
	case a.failure != nil:
		return nil, wire.ParseUpstreamError(200, a.failure)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", wire.ErrBroken, err)
	case a.vectors != p.request.Inputs:
		return nil, fmt.Errorf("%w: %d vectors for %d texts", wire.ErrBroken, a.vectors, p.request.Inputs)
	}
	if a.noModel {
		a.edits.Replace(a.start, a.start, `"model":`+string(jsontext.AppendQuoted(nil, p.request.Model))+",")
	}
	a.edits.Sort() // the edit of the model was added last, but may be the first in the text
	return a.edits.Apply(dst, body), nil
}

// answer is the state of reading one answer.
type answer struct {
	s           jsontext.Scanner
	request     *Request
	edits       jsontext.Edits
	start       int // offset after the opening brace
	noModel     bool
	vectors     int
	usage       wire.Usage
	failure     []byte
	vectorBytes []byte // buffer for one vector
}

// read scans the answer and collects the edits for the client. If the answer contains an error object, read sets
// failure to the answer. The returned error means that the answer is not valid JSON or does not have the expected form.
func (a *answer) read() error {
	if kind := a.s.Kind(); kind != jsontext.Object {
		return fmt.Errorf("the answer is %s", kind)
	}
	a.start, a.noModel = a.s.Offset()+1, true
	valueStart := a.s.Offset()
	failed := false
	err := a.s.Object(func(key []byte) error {
		switch string(key) {
		case "model":
			a.noModel = false
			valueStart := a.s.Start()
			err := a.s.Skip()
			a.edits.Replace(valueStart, a.s.Offset(), string(jsontext.AppendQuoted(nil, a.request.Model)))
			return err
		case "data":
			return a.data()
		case "usage":
			return a.count()
		case "error":
			failed = a.s.Kind() != jsontext.Null
		}
		return a.s.Skip()
	})
	if failed {
		a.failure = a.s.Since(valueStart)
	}
	if err == nil {
		err = a.s.End()
	}
	return err
}

// count scans the usage object and stores the prompt tokens in a.usage. If an upstream states only total_tokens, that
// number counts as the prompt tokens.
func (a *answer) count() error {
	if a.s.Kind() != jsontext.Object {
		return a.s.Skip()
	}
	var prompt, total int64
	err := a.s.Object(func(key []byte) error {
		switch string(key) {
		case "prompt_tokens":
			return a.s.Count(&prompt)
		case "total_tokens":
			return a.s.Count(&total)
		}
		return a.s.Skip()
	})
	if prompt == 0 {
		prompt = total
	}
	a.usage = wire.Usage{Prompt: prompt, Known: prompt > 0}
	return err
}

// data scans the list of vectors and counts them in a.vectors. It returns an error if an element has no vector.
func (a *answer) data() error {
	if kind := a.s.Kind(); kind != jsontext.Array {
		return fmt.Errorf("data is %s", kind)
	}
	return a.s.Array(func(i int) error {
		if kind := a.s.Kind(); kind != jsontext.Object {
			return fmt.Errorf("vector %d is %s", i, kind)
		}
		hasVector := false
		err := a.s.Object(func(key []byte) error {
			if string(key) != "embedding" || hasVector {
				return a.s.Skip()
			}
			hasVector = true
			return a.vector()
		})
		if err == nil && !hasVector {
			err = fmt.Errorf("vector %d has no embedding", i)
		}
		a.vectors++
		return err
	})
}

// vector scans one vector, which is a base64 string or an array of numbers. If the client wants base64, an array gets
// an edit that replaces it by base64. An empty vector is an error.
func (a *answer) vector() error {
	start := a.s.Start()
	switch kind := a.s.Kind(); kind {
	case jsontext.String:
		raw, _, err := a.s.Text()
		if err == nil && len(raw) == 0 {
			err = fmt.Errorf("a vector is empty")
		}
		return err
	case jsontext.Array:
		a.vectorBytes = a.vectorBytes[:0]
		empty := true
		err := a.s.Array(func(int) error {
			empty = false
			return a.number()
		})
		if err == nil && empty {
			err = fmt.Errorf("a vector is empty")
		}
		if err == nil && a.request.Base64 {
			a.edits.Replace(start, a.s.Offset(), `"`+base64.StdEncoding.EncodeToString(a.vectorBytes)+`"`)
		}
		return err
	default:
		return fmt.Errorf("a vector is %s", kind)
	}
}

// number scans one number of a vector. If the client wants base64, it appends the number to a.vectorBytes.
func (a *answer) number() error {
	if kind := a.s.Kind(); kind != jsontext.Number {
		return fmt.Errorf("a vector holds %s", kind)
	}
	start := a.s.Offset()
	if err := a.s.Skip(); err != nil || !a.request.Base64 {
		return err
	}
	f, err := strconv.ParseFloat(string(a.s.Since(start)), 32)
	if err != nil {
		return fmt.Errorf("a number of a vector: %w", err)
	}
	a.vectorBytes = binary.LittleEndian.AppendUint32(a.vectorBytes, math.Float32bits(float32(f)))
	return nil
}
