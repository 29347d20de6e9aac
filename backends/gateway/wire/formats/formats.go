// Package formats is the table of the model APIs (formats). The gateway does everything specific to an API through the
// API's row in the table. A new API needs a package beside the others and a row here.
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

// Upstream is a model API in which upstreams can be asked.
type Upstream interface {
	Facts() *hub.Facts

	// URL returns the address of a provider's endpoint for a request with the given needs.
	URL(p *catalog.Provider, needs wire.Needs) string
	// Write writes r as a request to the candidate t.
	Write(r *hub.Request, t *hub.Target) (hub.Written, error)
	// Param returns the gjson path, in a request of this API, of the chat completions parameter name.
	Param(name string) string
	// NewReader returns a reader of one answer of the provider, streamed or whole.
	NewReader(p *catalog.Provider) hub.Reader
}

// Format is a model API that both clients and upstreams use.
type Format interface {
	Upstream

	// Read parses a client's request. The errors are *apierror.Error with status 400.
	Read(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// NewWriter returns a writer of the answer to r for the client, streamed or whole.
	NewWriter(r *hub.Request, reply hub.Reply) hub.Writer
	// TierEffort returns the reasoning effort by which a client chooses the tier, or an empty string if the request has
	// no such effort.
	TierEffort(r *hub.Request) hub.Effort
	// Error returns the status and the body for an error. id is the request's id.
	Error(e *apierror.Error, id string) (status int, body []byte)
}

// Editor is a format in which a client's request, after reading, can be passed to an upstream with minimal changes of
// its bytes.
type Editor interface {
	Format
	Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error)
	NewPass(r *hub.Request, reply hub.Reply) hub.Pass
}

// Typed is a format whose error responses have a header field with the error's type.
type Typed interface {
	Format
	ErrorHeader(e *apierror.Error) (name, value string)
}

// Native is a format whose requests can be passed on without conversion to the common form.
type Native interface {
	Format
	Parse(body []byte) (*native.Request, error)
}

// Referrer is a format whose requests may refer to items of earlier answers.
type Referrer interface {
	Format
	// Expand replaces the references in a request's body by items. find returns the items with the given ids.
	Expand(body []byte, find func(ids []string) (map[string]string, error)) ([]byte, error)
}

// Counter is a format with an endpoint that counts the tokens of a request.
type Counter interface {
	Format
	ReadCount(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// AppendCount appends the response body with the number of tokens.
	AppendCount(dst []byte, tokens int64) []byte
}

// table holds the formats, ordered by the names of their surfaces.
var table = [...]Format{chat.Format{}, converse.Format{}, messages.Format{}, responses.Format{}}

// Chat returns the chat completions format, which every upstream supports.
func Chat() Format { return table[0] }

// All returns the formats, ordered by the names of their surfaces.
func All() []Format { return table[:] }

// Of returns the format of the given name. ok is false if the name is unknown.
func Of(name hub.Format) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Name == name })
}

// OfSurface returns the format whose surface has the given name (Facts.Surface). ok is false if the name is unknown.
func OfSurface(surface string) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Surface == surface })
}

// Place is the result of parsing a request's path.
type Place struct {
	Format Format
	// Base is the part of the path before the endpoint.
	Base string
	// Count is set for the endpoint that counts tokens.
	Count bool
	// Model and Stream are set for formats whose paths contain the model's name.
	Model  string
	Stream bool
}

// Options returns the options for reading a request. header is the request's header.
func (p *Place) Options(header http.Header) hub.ReadOptions {
	return hub.ReadOptions{Version: header.Get(p.Format.Facts().Version), Model: p.Model, Stream: p.Stream}
}

// At parses a path that ends with an endpoint of a format. ok is false for any other path.
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

// namedPlace parses a path with the model's name, which may contain slashes and colons.
func namedPlace(f Format, facts *hub.Facts, path string) (p Place, ok bool) {
	rest, whole := strings.CutSuffix(path, facts.Path)
	if !whole {
		if rest, ok = strings.CutSuffix(path, facts.StreamPath); !ok {
			return p, false
		}
	}
	p = Place{Format: f, Stream: !whole}
	p.Base, p.Model, ok = strings.Cut(rest, facts.ModelPath)
	return p, ok && p.Model != "" && !slices.ContainsFunc(strings.Split(p.Model, "/"), isDots)
}

// isDots reports whether a path segment is "." or "..". A path with such a segment may be cleaned elsewhere and then
// match another route.
func isDots(segment string) bool { return segment == "." || segment == ".." }

// find returns the first format whose facts satisfy matches.
func find(matches func(*hub.Facts) bool) (Format, bool) {
	i := slices.IndexFunc(table[:], func(f Format) bool { return matches(f.Facts()) })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// Names returns a list for messages with one fact of each format, such as its name.
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
