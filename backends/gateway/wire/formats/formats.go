// Package formats is the table of the model APIs: what the gateway does with one it does
// through the row of that API, so that a new one is a package beside the others and a row
// here.
package formats

import (
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

	// URL is where a provider is asked.
	URL(p *catalog.Provider, needs wire.Needs) string
	// Write writes a request for an upstream.
	Write(r *hub.Request, t *hub.Target) (hub.Written, error)
	// Param is where a request has a parameter of chat completions, as a path of gjson.
	Param(name string) string
	// NewReader reads the answer of an upstream, streamed or whole.
	NewReader(p *catalog.Provider) hub.Reader
}

// Format is a model API that clients speak, too.
type Format interface {
	Upstream

	// Read reads a client's request. Its errors are *apierror.Error with status 400.
	Read(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// NewWriter writes the answer for the client, streamed or whole.
	NewWriter(r *hub.Request, reply hub.Reply) hub.Writer
	// TierEffort is the effort by which a client chooses the tier; empty: by none.
	TierEffort(r *hub.Request) hub.Effort
	// Error is the status and the body of an error; id is the request's.
	Error(e *apierror.Error, id string) (status int, body []byte)
}

// Editor is a format in which a client's bytes pass to an upstream with the smallest
// changes, after they were read.
type Editor interface {
	Format
	Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error)
	NewPass(r *hub.Request, reply hub.Reply) hub.Pass
}

// Native is a format in which they pass without being read into the common form.
type Native interface {
	Format
	Parse(body []byte) (*native.Request, error)
}

// Referrer is a format whose clients may refer to items of earlier answers.
type Referrer interface {
	Format
	// Expand puts the items that a request refers to in the places of the references.
	Expand(body []byte, find func(ids []string) (map[string]string, error)) ([]byte, error)
}

// Counter is a format whose clients ask for the number of tokens of a request.
type Counter interface {
	Format
	ReadCount(body []byte, o hub.ReadOptions) (*hub.Request, error)
	// AppendCount appends the answer.
	AppendCount(dst []byte, tokens int64) []byte
}

// table holds the rows in the order of the names of their surfaces.
var table = [...]Format{chat.Format{}, messages.Format{}, responses.Format{}}

// Chat is the format that every upstream speaks.
func Chat() Format { return table[0] }

// All are the formats, in the order of the names of their surfaces.
func All() []Format { return table[:] }

// Of is the format of a name; ok is false for one that is in no row.
func Of(name hub.Format) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Name == name })
}

// UpstreamOf returns the format of a name on the side of upstreams, those that no client speaks
// included. It reports false for a name that is in no row.
func UpstreamOf(name hub.Format) (u Upstream, ok bool) {
	if name == converse.Name {
		return converse.Format{}, true
	}
	return Of(name)
}

// OfSurface is the format of a surface.
func OfSurface(surface string) (f Format, ok bool) {
	return find(func(f *hub.Facts) bool { return f.Surface == surface })
}

// At is the format that is asked at the end of a path, and what stands before it. count:
// it is asked for the number of tokens.
func At(path string) (f Format, base string, count, ok bool) {
	for _, f := range table {
		facts := f.Facts()
		if base, ok := strings.CutSuffix(path, facts.Path); ok {
			return f, base, false, true
		}
		if base, ok := strings.CutSuffix(path, facts.Path+facts.Count); ok && facts.Count != "" {
			return f, base, true, true
		}
	}
	return nil, "", false, false
}

func find(is func(*hub.Facts) bool) (Format, bool) {
	i := slices.IndexFunc(table[:], func(f Format) bool { return is(f.Facts()) })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// Names lists one fact of each format, as messages do.
func Names(of []Format, fact func(*hub.Facts) string) string {
	names := make([]string, 0, len(of))
	for _, f := range of {
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

	_ Upstream = converse.Format{}
)
