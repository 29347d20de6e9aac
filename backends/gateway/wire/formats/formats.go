// Package formats is the table of the model APIs. The gateway does everything specific to an API through its row in the
// table, so that a new API takes a package beside the others and a row here.
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

// Upstream is a model API on the side of upstreams.
type Upstream interface {
	Facts() *hub.Facts

	// URL returns the address at which a provider is asked.
	URL(p *catalog.Provider, needs wire.Needs) string
	// Write returns a request for an upstream.
	Write(r *hub.Request, t *hub.Target) (hub.Written, error)
	// Param returns the gjson path at which a request has a parameter of chat completions.
	Param(name string) string
	// NewReader returns the reader of the answer of an upstream, streamed or whole.
	NewReader(p *catalog.Provider) hub.Reader
}

// Format is a model API that clients speak too.
type Format interface {
	Upstream

	// Read parses a client's request. Its errors are *apierror.Error with status 400.
	Read(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// NewWriter returns the writer of the answer for the client, streamed or whole.
	NewWriter(r *hub.Request, reply hub.Reply) hub.Writer
	// TierEffort returns the effort by which a client chooses the tier, or an empty string if there is none.
	TierEffort(r *hub.Request) hub.Effort
	// Error returns the status and the body for an error. The id is that of the request.
	Error(e *apierror.Error, id string) (status int, body []byte)
}

// Editor is a format in which a client's request, after it was read, can be passed to an upstream with the smallest
// possible changes of its bytes.
type Editor interface {
	Format
	Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error)
	NewPass(r *hub.Request, reply hub.Reply) hub.Pass
}

// Typed is a format whose errors also have a header that names their type.
type Typed interface {
	Format
	ErrorHeader(e *apierror.Error) (name, value string)
}

// Native is a format in which requests can be passed on without being read into the common form.
type Native interface {
	Format
	Parse(body []byte) (*native.Request, error)
}

// Referrer is a format whose clients may refer to items of earlier answers.
type Referrer interface {
	Format
	// Expand replaces the references of a request by the items that find returns for their ids.
	Expand(body []byte, find func(ids []string) (map[string]string, error)) ([]byte, error)
}

// Counter is a format whose clients ask for the number of tokens of a request.
type Counter interface {
	Format
	ReadCount(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// AppendCount appends the response with the number of tokens.
	AppendCount(dst []byte, tokens int64) []byte
}

// table holds the rows, ordered by the names of their surfaces.
var table = [...]Format{chat.Format{}, converse.Format{}, messages.Format{}, responses.Format{}}

// Chat returns the format that every upstream speaks.
func Chat() Format { return table[0] }

// All returns the formats, ordered by the names of their surfaces.
func All() []Format { return table[:] }

// Of returns the format of the given name. ok is false if there is none.
func Of(name hub.Format) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Name == name })
}

// OfSurface returns the format of a surface. ok is false if there is none.
func OfSurface(surface string) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Surface == surface })
}

// Place is what the path of a request says.
type Place struct {
	Format Format
	// Base is the part of the path before the endpoint.
	Base string
	// Count reports that the path asks for the number of tokens.
	Count bool
	// Model and Stream are set in formats whose paths name the model.
	Model  string
	Stream bool
}

// Options returns the options for reading a request at this place. header returns the value of a header field.
func (p *Place) Options(header http.Header) hub.ReadOptions {
	return hub.ReadOptions{Version: header.Get(p.Format.Facts().Version), Model: p.Model, Stream: p.Stream}
}

// At returns the format whose endpoint is at the end of a path, and what else the path says.
func At(path string) (p Place, ok bool) {
	for _, f := range table {
		facts := f.Facts()
		if facts.ModelPath != "" {
			if p, ok = named(f, facts, path); ok {
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

// named returns the place of a path that names the model, which may contain slashes and colons.
func named(f Format, facts *hub.Facts, path string) (p Place, ok bool) {
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

// isDots reports whether a segment of a path leads elsewhere. Matchers would take such a path for another one.
func isDots(segment string) bool { return segment == "." || segment == ".." }

// find returns the first format for whose facts is returns true.
func find(is func(*hub.Facts) bool) (Format, bool) {
	i := slices.IndexFunc(table[:], func(f Format) bool { return is(f.Facts()) })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// Names returns one fact of each format as a list for messages.
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
