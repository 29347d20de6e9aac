package responses

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Format is the row of Responses, see package formats.
type Format struct{}

var facts = hub.Facts{
	Name: hub.Responses, Surface: "responses", Path: "/responses", Count: "/input_tokens",
	Counts: []string{
		"conversation", "input", "instructions", "model", "parallel_tool_calls", "personality", "previous_response_id", "reasoning", "text", "tool_choice", "tools",
		"truncation",
	},
	Lacks: wire.NeedAudio | wire.NeedChoices,
}

// Facts implements formats.Format.
func (Format) Facts() *hub.Facts { return &facts }

// Read reads a client's request.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) { return Read(body, o) }

// ReadCount reads a request to count the tokens of.
func (Format) ReadCount(body []byte, o hub.ReadOptions) (*hub.Request, error) { return Read(body, o) }

// AppendCount appends the answer to such a request.
func (Format) AppendCount(dst []byte, tokens int64) []byte {
	return append(strconv.AppendInt(append(dst, `{"object":"response.input_tokens","input_tokens":`...), tokens, 10), '}')
}

// Write writes a request for an upstream.
func (Format) Write(r *hub.Request, t *hub.Target) (hub.Written, error) { return Write(r, t) }

// Edit writes a Responses client's request for an upstream.
func (Format) Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error) {
	return Edit(r, t, open)
}

// NewPass passes the answer on to such a client.
func (Format) NewPass(r *hub.Request, reply hub.Reply) hub.Pass { return NewPass(r, reply) }

// URL is where a provider is asked.
func (Format) URL(p *catalog.Provider, _ wire.Needs) string {
	url, _ := p.WireURL(catalog.WireResponses)
	return url
}

// Param is where the format has a parameter of chat completions.
func (Format) Param(name string) string {
	switch name {
	case "verbosity":
		return "text.verbosity"
	case "reasoning_effort":
		return "reasoning.effort"
	}
	return name
}

// NewReader reads the answer of a provider.
func (Format) NewReader(*catalog.Provider) hub.Reader { return NewReader() }

// NewWriter writes the answer for a client.
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer { return NewWriter(r, reply) }

// TierEffort has no say in the tier here.
func (Format) TierEffort(*hub.Request) hub.Effort { return "" }

// Error is the body of an error: as in chat completions.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) {
	return e.Status, chat.Error(e)
}
