// Package formats holds the table of the formats, which are the model APIs that the gateway supports. The rest of the
// gateway reaches the code of a format only through this table. A new format needs its own package and an entry in the
// table.
package formats

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/converse"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Upstream is a model API that the gateway can use to send requests to upstreams.
type Upstream interface {
	Facts() *hub.Facts

	// URL returns the address of the endpoint of provider p to which a request with the given needs is sent.
	URL(p *catalog.Provider, needs wire.Needs) string
	// Write converts r to a request in this API for the candidate t. The error means that the API cannot express the
	// request.
	Write(r *hub.Request, t *hub.Target) (hub.Written, error)
	// Param returns the gjson path at which a request of this API has a parameter. name is the name of the parameter in
	// chat completions.
	Param(name string) string
	// NewReader returns a reader for one answer from provider p, streamed or whole.
	NewReader(p *catalog.Provider) hub.Reader
}

// Format is a model API that both clients and upstreams may use.
type Format interface {
	Upstream

	// Read parses the JSON body of a client's request into the common form. The errors are *apierror.Error with status
	// 400.
	Read(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// NewWriter returns a writer for the answer to r that the client gets, streamed or whole.
	NewWriter(r *hub.Request, reply hub.Reply) hub.Writer
	// TierEffort returns the reasoning effort with which the client chooses the tier. It returns an empty string if the
	// request states no effort, or if efforts do not choose the tier in this format.
	TierEffort(r *hub.Request) hub.Effort
	// Error returns the HTTP status and the JSON body of the error response for e. id is the request's id.
	Error(e *apierror.Error, id string) (status int, body []byte)
}

// Editor is a format in which a request can be passed on to an upstream of the same format by editing a few places in
// the client's JSON, after Read has parsed it.
type Editor interface {
	Format
	// Edit returns the client's body, edited for the candidate t. It calls open for the tokens of reasoning state in the
	// body.
	Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error)
	// NewPass returns a Pass that passes on the upstream's answer to r with small changes.
	NewPass(r *hub.Request, reply hub.Reply) hub.Pass
}

// Typed is a format whose error responses state the error's type in an HTTP header field.
type Typed interface {
	Format
	// ErrorHeader returns the header field with the type of e.
	ErrorHeader(e *apierror.Error) (name, value string)
}

// Native is a format whose requests can be passed on to an upstream of the same format without parsing them into the
// common form.
type Native interface {
	Format
	// Parse scans a client's body only as far as routing requires. The errors are *apierror.Error with status 400.
	Parse(body []byte) (*native.Request, error)
}

// Referrer is a format in which a request may refer to items of earlier answers by their ids.
type Referrer interface {
	Format
	// Expand returns body, the JSON of a request, with the items themselves in place of references to them. find
	// returns the JSON text of the items with the given ids, by id.
	Expand(body []byte, find func(ids []string) (map[string]string, error)) ([]byte, error)
}

// Counter is a format with an endpoint that counts the tokens of a request without sending the request to a model.
type Counter interface {
	Format
	// ReadCount parses the body of a request that asks for a token count. It works like Read.
	ReadCount(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// AppendCount appends the JSON body of the response, which states the number of tokens.
	AppendCount(dst []byte, tokens int64) []byte
}

// table holds the formats in the order of the names of their surfaces (Facts.Surface).
var table = [...]Format{chat.Format{}, converse.Format{}, messages.Format{}, responses.Format{}}

// Chat returns the format of chat completions, which every upstream supports.
func Chat() Format { return table[0] }

// All returns all formats in the order of the names of their surfaces (Facts.Surface).
func All() []Format { return table[:] }

// Of returns the format with the given name. ok is false if there is no such format.
func Of(name hub.Format) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Name == name })
}

// OfSurface returns the format whose Facts.Surface is surface. ok is false if there is no such format.
func OfSurface(surface string) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Surface == surface })
}

// Place is the result of parsing a request's URL path.
type Place struct {
	Format Format
	// Base is the part of the path before the endpoint, such as "/v1".
	Base string
	// Count is set for the endpoint that counts tokens.
	Count bool
	// Model is the requested model, and Stream is set if the answer is to be streamed. Both are set only for formats
	// whose paths contain the model's name.
	Model  string
	Stream bool
}

// Options returns the options for Format.Read that come from the path and from header, the HTTP header of the request.
func (p *Place) Options(header http.Header) hub.ReadOptions {
	return hub.ReadOptions{Version: header.Get(p.Format.Facts().Version), Model: p.Model, Stream: p.Stream}
}

// At parses a URL path that ends with the endpoint of a format. ok is false if the path does not end with an
// endpoint.
func At(path string) (p Place, ok bool) {
	for _, f := range table {
		facts := f.Facts()
		if facts.ModelPath != "" {
			if p, ok = namedPlace(f, facts, path); ok {
				return p, true
			}
			continue
		}
		if base, ok := strings.CutSuffix(path, facts.Path); ok {
			return Place{Format: f, Base: base}, true
		}
		if base, ok := strings.CutSuffix(path, facts.Path+facts.Count); ok && facts.Count != "" {
			return Place{Format: f, Base: base, Count: true}, true
		}
	}
	return Place{}, false
}

// namedPlace parses a URL path of f, a format whose paths contain the model's name. The name may contain slashes and
// colons. facts are the facts of f. ok is false if path is not a path of f.
func namedPlace(f Format, facts *hub.Facts, path string) (p Place, ok bool) {
	prefix, isWhole := strings.CutSuffix(path, facts.Path)
	if !isWhole {
		if prefix, ok = strings.CutSuffix(path, facts.StreamPath); !ok {
			return p, false
		}
	}
	p = Place{Format: f, Stream: !isWhole}
	p.Base, p.Model, ok = strings.Cut(prefix, facts.ModelPath)
	return p, ok && p.Model != "" && !slices.ContainsFunc(strings.Split(p.Model, "/"), isDots)
}

// isDots reports whether a path segment is "." or "..". namedPlace refuses such segments: other programs may remove
// them from the path, which would then match another route.
func isDots(segment string) bool { return segment == "." || segment == ".." }

// find calls accepts with the facts of each format and returns the first format for which accepts returns true. The
// second result is false if there is no such format.
func find(accepts func(*hub.Facts) bool) (Format, bool) {
	i := slices.IndexFunc(table[:], func(f Format) bool { return accepts(f.Facts()) })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// Names calls fact for each format in list and returns the results, separated by commas, for use in messages.
func Names(list []Format, fact func(*hub.Facts) string) string {
	names := make([]string, 0, len(list))
	for _, f := range list {
		names = append(names, fact(f.Facts()))
	}
	return strings.Join(names, ", ")
}

// Interface guards
var (
	_ Native  = chat.Format{}
	_ Editor  = messages.Format{}
	_ Counter = messages.Format{}
	_ Editor  = responses.Format{}
	_ Counter = responses.Format{}

	_ Referrer = responses.Format{}

	_ Typed = converse.Format{}
)
