package board

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

const (
	// maxBody bounds the body of a request, in bytes.
	maxBody = 256 << 10
	// maxDepth bounds how deep its values nest.
	maxDepth = 32
)

// body is the JSON object of a request. Its methods take the members out and
// note what is wrong with them; finish tells of all of it.
type body struct {
	raw     []byte
	members map[string]json.RawMessage
	wrong   []apierror.Detail
}

func readBody(c *rest.Call) (*body, error) {
	if kind := c.R.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			return nil, badBody("", "content_type", "the body must be sent as application/json")
		}
	}
	if c.R.ContentLength > maxBody {
		return nil, tooLarge()
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.W, c.R.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge()
	case err != nil:
		return nil, badBody("", "incomplete", "the body could not be read whole")
	case len(bytes.TrimSpace(raw)) == 0:
		return nil, badBody("", "missing", "this needs a JSON body")
	case !utf8.Valid(raw):
		return nil, badBody("", "encoding", "the body is not UTF-8")
	}
	if err := wellFormed(raw); err != nil {
		return nil, err
	}
	b := &body{raw: raw}
	if err := json.Unmarshal(raw, &b.members); err != nil || b.members == nil {
		return nil, badBody("", "not_an_object", "the body must be a JSON object")
	}
	return b, nil
}

// optionalBody is readBody where the body may be left away.
func optionalBody(c *rest.Call) (*body, error) {
	if c.R.ContentLength == 0 {
		return new(body), nil
	}
	return readBody(c)
}

func tooLarge() error {
	return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "the body is larger than %d bytes", maxBody)
}

func badBody(field, reason, message string) error {
	return &apierror.Error{
		Status: http.StatusBadRequest, Code: "invalid_body", Message: message,
		Details: []apierror.Detail{{Field: field, Reason: reason, Message: message}},
	}
}

// wellFormed checks what decoding does not: names that are there twice, nesting,
// and more behind the value.
func wellFormed(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil: an array
		name  bool            // a name comes next
	}
	var open []level
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return badBody("", "syntax", fmt.Sprintf("the body is not JSON from byte %d on", d.InputOffset()))
		}
		at := len(open) - 1
		if at >= 0 && open[at].names != nil && open[at].name {
			if name, ok := token.(string); ok {
				if open[at].names[name] {
					return badBody(rest.Quote(name), "duplicate", "the body has "+rest.Quote(name)+" twice")
				}
				open[at].names[name], open[at].name = true, false
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: make(map[string]bool), name: true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:at]
		}
		if len(open) > maxDepth {
			return badBody("", "nesting", "the body nests deeper than 32 levels")
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			continue
		}
		if at = len(open) - 1; at >= 0 {
			open[at].name = open[at].names != nil
			continue
		}
		if d.More() {
			return badBody("", "trailing", "there is more behind the JSON value of the body")
		}
	}
	if len(open) > 0 {
		return badBody("", "syntax", "the JSON of the body ends too early")
	}
	return nil
}

func (b *body) note(field, reason, message string) {
	b.wrong = append(b.wrong, apierror.Detail{Field: field, Reason: reason, Message: message})
}

// take removes a member; nil: it is not there.
func (b *body) take(name string) json.RawMessage {
	value := b.members[name]
	delete(b.members, name)
	return value
}

// member decodes a member of a type; nil: it is not there.
func member[T any](b *body, name, kind string) *T {
	raw := b.take(name)
	if raw == nil {
		return nil
	}
	value := new(T)
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, value) != nil {
		b.note(name, "type", name+" must be "+kind)
		return new(T)
	}
	return value
}

func (b *body) text(name string) string {
	value := member[string](b, name, "text")
	if value == nil {
		b.note(name, "required", name+" is missing")
		return ""
	}
	return *value
}

func (b *body) optionalText(name string) *string { return member[string](b, name, "text") }

func (b *body) flag(name string) *bool { return member[bool](b, name, "true or false") }

func (b *body) integer(name string) *int64 { return member[int64](b, name, "a whole number") }

// required is a whole number that must be there.
func (b *body) required(name string) int64 {
	n := b.integer(name)
	if n == nil {
		b.note(name, "required", name+" is missing")
		return 0
	}
	return *n
}

// nullable is an id or null, which is 0.
func (b *body) nullable(name string) *int64 {
	if raw, ok := b.members[name]; ok && bytes.Equal(raw, []byte("null")) {
		delete(b.members, name)
		return new(int64)
	}
	id := b.integer(name)
	if id != nil && *id == 0 {
		*id = -1 // no id
	}
	return id
}

// finish refuses a body of which something is wrong or left over.
func (b *body) finish() error {
	for _, name := range slices.Sorted(maps.Keys(b.members)) {
		name = rest.Quote(name)
		b.note(name, "unknown", "there is no property "+name+" here")
		if len(b.wrong) >= 20 {
			break
		}
	}
	if len(b.wrong) == 0 {
		return nil
	}
	return &apierror.Error{Status: http.StatusBadRequest, Code: "invalid_body", Message: b.wrong[0].Message, Details: b.wrong}
}
