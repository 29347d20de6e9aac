// Package embeddings implements the API that converts texts to vectors
// (https://platform.openai.com/docs/api-reference/embeddings). It is not one of the formats in package formats, since a
// request is never converted to another API. The gateway passes a request on with the name of the candidate's model,
// and the answer back with the name of the requested model.
package embeddings

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

const (
	// Surface is the name of the API in the usage log. Path is the path of its endpoint below /v1.
	Surface = "embeddings"
	Path    = "/embeddings"

	// MaxInputs is the largest number of texts in a request. OpenAI has the same limit.
	MaxInputs = 2048

	maxModel = 512
	// tokenBytes is the number of bytes that TextBytes counts for each token, in requests that give tokens instead of
	// texts.
	tokenBytes = 4
)

// Request is a client's request for the vectors of texts.
type Request struct {
	// Body is the client's JSON body.
	Body []byte
	// Model is the requested model.
	Model string
	// Inputs is the number of texts. TextBytes is the length of all texts together, in bytes.
	Inputs    int
	TextBytes int64
	// Base64 is set if the client wants vectors as base64 of little-endian float32 rather than as arrays of numbers.
	Base64 bool

	items       []jsontext.Item
	names       []string // names of the items
	foreign     []string // names of foreign members, see wire.Foreign
	modelIndex  int      // index of the model's item
	modelOffset int      // offset of the model's value
}

// Parse parses the JSON body of a request. Unknown fields are passed on, so that the upstream accepts or refuses them,
// except fields for which wire.Foreign returns true. The errors are *apierror.Error with status 400.
func Parse(body []byte) (*Request, error) {
	s, err := wire.ScanObject(body)
	if err != nil {
		return nil, err
	}
	r := &Request{Body: body, modelIndex: -1}
	r.items, err = s.ObjectItems(func(key []byte, item *jsontext.Item) error { return r.member(&s, key, item) })
	switch err = wire.EndObject(&s, body, err); {
	case err != nil:
		return nil, err
	case r.modelIndex < 0:
		return nil, wire.MissingField("model")
	case r.Inputs == 0:
		return nil, wire.MissingField("input")
	}
	return r, nil
}

// member scans the value of the top-level field key and stores the facts about it in r. It sets item.Drop if the
// field must not be sent to an upstream. The errors have status 400, or are those of the scanner.
func (r *Request) member(s *jsontext.Scanner, key []byte, item *jsontext.Item) error {
	name := string(key)
	switch {
	case slices.Contains(r.names, name):
		return wire.DuplicateMember(key)
	case len(r.names) == wire.MaxFields:
		return wire.TooManyFields()
	}
	r.names = append(r.names, name)
	kind := s.Kind()
	switch name {
	case "model":
		if kind != jsontext.String {
			return wire.InvalidField(name, "model must be a string, it is %s", kind)
		}
		r.modelIndex, r.modelOffset = len(r.names)-1, s.Offset()
		model, err := s.Unquoted()
		if err == nil && (model == "" || len(model) > maxModel) {
			err = wire.InvalidField(name, "model must have 1 to %d bytes, it has %d", maxModel, len(model))
		}
		r.Model = model
		return err
	case "input":
		return r.input(s, kind)
	case "encoding_format":
		if kind == jsontext.Null { // the same as an absent field, and left out
			item.Drop = true
			return s.Skip()
		}
		var encoding string // stays empty, which is invalid, if the value is not a string
		var err error
		if kind == jsontext.String {
			encoding, err = s.Unquoted()
		}
		if err == nil && encoding != "float" && encoding != "base64" {
			err = wire.InvalidField(name, "encoding_format must be \"float\" or \"base64\"")
		}
		r.Base64 = encoding == "base64"
		return err
	case "dimensions":
		if kind == jsontext.Null { // see encoding_format
			item.Drop = true
			return s.Skip()
		}
		var n int64
		var isInteger bool
		var err error
		if kind == jsontext.Number {
			n, isInteger, err = s.Int()
		}
		if err == nil && (!isInteger || n < 1) {
			err = wire.InvalidField(name, "dimensions must be an integer of at least 1")
		}
		return err
	case "stream": // there is nothing to stream
		item.Drop = true
	default:
		if item.Drop = wire.Foreign(wire.APIEmbeddings, key); item.Drop {
			r.foreign = append(r.foreign, name)
		}
	}
	return s.Skip()
}

// input scans the value of the field input: a text, a list of texts, a list of tokens (one text), or a list of lists of
// tokens (one list for each text). kind is the kind of the value. The errors have status 400, or are those of the
// scanner.
func (r *Request) input(s *jsontext.Scanner, kind jsontext.Kind) error {
	const message = "input must be a string, a list of strings, a list of tokens or a list of lists of tokens"
	if kind == jsontext.String {
		r.Inputs = 1
		return r.text(s)
	}
	if kind != jsontext.Array {
		return wire.InvalidField("input", message+"; it is %s", kind)
	}
	var first jsontext.Kind
	err := s.Array(func(i int) error {
		kind := s.Kind()
		if i == 0 {
			first = kind
		}
		switch {
		case kind != first:
			return wire.InvalidField("input", message+"; element %d is %s, but the first element is %s", i, kind, first)
		case kind == jsontext.Number: // a token of the only text
			r.Inputs = 1
			r.TextBytes += tokenBytes
			return token(s)
		case i == MaxInputs:
			return wire.InvalidField("input", "input has more than %d texts", MaxInputs)
		case kind == jsontext.String:
			r.Inputs++
			return r.text(s)
		case kind == jsontext.Array:
			r.Inputs++
			return r.tokens(s)
		}
		return wire.InvalidField("input", message+"; element %d is %s", i, kind)
	})
	if err == nil && r.Inputs == 0 {
		err = wire.InvalidField("input", "input is an empty list")
	}
	return err
}

// text scans one text and adds its length to TextBytes. An empty text is an error.
func (r *Request) text(s *jsontext.Scanner) error {
	raw, _, err := s.Text()
	if err == nil && len(raw) == 0 {
		err = wire.InvalidField("input", "input has an empty text")
	}
	r.TextBytes += int64(len(raw))
	return err
}

// tokens scans a list of tokens, which stands for one text, and adds to TextBytes. An empty list is an error.
func (r *Request) tokens(s *jsontext.Scanner) error {
	n := 0
	err := s.Array(func(int) error {
		n++
		if s.Kind() != jsontext.Number {
			return wire.InvalidField("input", "a list of tokens contains %s", s.Kind())
		}
		return token(s)
	})
	if err == nil && n == 0 {
		err = wire.InvalidField("input", "input has an empty list of tokens")
	}
	r.TextBytes += int64(n) * tokenBytes
	return err
}

// token scans one token, which must be an integer that is not negative.
func token(s *jsontext.Scanner) error {
	if n, isInteger, err := s.Int(); err != nil || !isInteger || n < 0 {
		return wire.InvalidField("input", "a token must be an integer of at least 0")
	}
	return nil
}

// For returns the body of the request for an upstream. model is the model's name at the upstream. The fields named in
// drop are left out. dropped names the fields that were left out, including those for which wire.Foreign returned true.
func (r *Request) For(model string, drop []string) (body []byte, dropped []string) {
	var edits jsontext.Edits
	items := slices.Clone(r.items)
	dropped = slices.Clone(r.foreign)
	for i := range items {
		if i != r.modelIndex && !items[i].Drop && r.names[i] != "input" && slices.Contains(drop, r.names[i]) {
			items[i].Drop = true
			dropped = append(dropped, r.names[i])
		}
	}
	edits.Remove(items)
	edits.Replace(r.modelOffset, items[r.modelIndex].To, string(jsontext.AppendQuoted(nil, model)))
	edits.Sort()
	return edits.Apply(make([]byte, 0, len(r.Body)+len(model)), r.Body), dropped
}
