package responses

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Format is the Responses format, for the table in package formats.
type Format struct{}

var facts = hub.Facts{
	Name: hub.Responses, Surface: "responses", Base: "/v1", Path: "/responses", API: wire.APIResponses, Count: "/input_tokens",
	Counts: []string{
		"conversation", "input", "instructions", "model", "parallel_tool_calls", "personality", "previous_response_id",
		"reasoning", "text", "tool_choice", "tools", "truncation",
	},
	Lacks: wire.NeedAudio | wire.NeedChoices,
}

// Facts implements formats.Format.
func (Format) Facts() *hub.Facts { return &facts }

// ReadCount parses a client's request to count the tokens of a prompt. The errors are those of Read.
func (f Format) ReadCount(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	return f.Read(body, o)
}

// AppendCount appends the body of the response to a request to count tokens.
func (Format) AppendCount(dst []byte, tokens int64) []byte {
	return append(strconv.AppendInt(append(dst, `{"object":"response.input_tokens","input_tokens":`...), tokens, 10), '}')
}

// URL returns the URL of a provider's Responses endpoint.
func (Format) URL(p *catalog.Provider, _ wire.Needs) string {
	url, _ := p.WireURL(catalog.WireResponses)
	return url
}

// Param returns the gjson path at which a Responses request has the chat completions parameter with this name.
func (Format) Param(name string) string {
	switch name {
	case "verbosity":
		return "text.verbosity"
	case "reasoning_effort":
		return "reasoning.effort"
	}
	return name
}

// TierEffort returns an empty string: in this format the effort does not choose the tier.
func (Format) TierEffort(*hub.Request) hub.Effort { return "" }

// Error returns the HTTP status and the JSON body with which the gateway answers a client in case of the error e. Both
// are the same as in chat completions.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) {
	return e.Status, chat.Error(e)
}
