package scriptedmodel

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

const (
	defaultDimensions = 256
	maxDimensions     = 4096
	maxTexts          = 2048 // in one request
)

// embeddings answers POST /v1/embeddings. Texts with common words have similar vectors, and the same text always
// has the same vector.
func (c *call) embeddings() { c.answer(parseEmbeddings) }

// parseEmbeddings parses the body of a request for embeddings. It ignores unknown members.
func parseEmbeddings(body string) (*request, error) {
	switch {
	case !depthWithin(body, maxDepth):
		return nil, badRequest("invalid_json", "", "the request body is nested more than %d levels deep", maxDepth)
	case !gjson.Valid(body):
		return nil, badRequest("invalid_json", "", "the request body is not valid JSON")
	}
	root := gjson.Parse(body)
	model, input := root.Get("model"), root.Get("input")
	if model.Type != gjson.String || model.Str == "" || len(model.Str) > maxModel {
		return nil, badRequest("invalid_value", "model", "model must be the name of a model")
	}
	r := &request{
		body: body, model: model.Str, dimensions: defaultDimensions,
		base64: root.Get("encoding_format").Str == "base64",
	}
	switch {
	case input.Type == gjson.String:
		r.texts = []string{input.Str}
	case !input.IsArray():
		return nil, badRequest("missing_required_parameter", "input", "input must be a text or a list")
	case input.Get("0").Type == gjson.Number: // the tokens of one text
		r.texts = []string{input.Raw}
	default:
		input.ForEach(func(_, text gjson.Result) bool {
			r.texts = append(r.texts, text.String())
			return len(r.texts) <= maxTexts // one text too many is enough to refuse the request
		})
	}
	if len(r.texts) == 0 || len(r.texts) > maxTexts {
		return nil, badRequest("invalid_value", "input", "input must have 1 to %d texts", maxTexts)
	}
	if d := root.Get("dimensions"); d.Exists() {
		r.dimensions = int(d.Int())
		if d.Type != gjson.Number || r.dimensions < 1 || r.dimensions > maxDimensions {
			return nil, badRequest("invalid_value", "dimensions", "dimensions must be from 1 to %d", maxDimensions)
		}
	}
	for _, text := range r.texts {
		r.promptBytes += len(text)
	}
	return r, nil
}

// sendVectors answers with the vectors of the texts.
func (c *call) sendVectors() {
	b := append([]byte(nil), `{"object":"list","data":[`...)
	for i, text := range c.req.texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"object":"embedding","index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `,"embedding":`...)
		b = appendVector(b, vector(text, c.req.dimensions), c.req.base64)
		b = append(b, '}')
	}
	b = append(b, `],"model":`...)
	b = jsontext.AppendQuoted(b, c.model)
	prompt := int64(override(c.scr.promptTokens, tokens(c.req.promptBytes)))
	b = strconv.AppendInt(append(b, `,"usage":{"prompt_tokens":`...), prompt, 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), prompt, 10)
	b = append(b, "}}"...)
	if c.scr.faults.has(faultBrokenJSON) {
		b = b[:len(b)/2]
	}
	c.json(http.StatusOK, b)
}

// vector returns a vector of length 1 that counts the words of a text, each at a position that is derived from its
// letters.
func vector(text string, dimensions int) []float32 {
	v := make([]float32, dimensions)
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range append(words, "") { // the empty word, so that no vector is zero
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(word))      // never fails
		v[hash.Sum32()%uint32(dimensions)]++ //nolint:gosec // at most maxDimensions
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// appendVector appends a vector as an array of numbers or, if asBase64 is true, as the base64 text of little-endian
// float32 values.
func appendVector(b []byte, v []float32, asBase64 bool) []byte {
	if asBase64 {
		var raw []byte
		for _, x := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, raw)
		return append(b, '"')
	}
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, ']')
}
