package messages

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Format is the messages format, for the table in package formats.
type Format struct{}

// versionHeader is the request header with the version of the API.
const versionHeader = "Anthropic-Version"

var facts = hub.Facts{
	Name: hub.Messages, Surface: "messages", Base: "/v1", Path: "/messages", API: wire.APIMessages, Count: "/count_tokens",
	Counts: []string{
		"cache_control", "compaction", "context_management", "mcp_servers", "messages", "model", "output_config",
		"output_format", "speed", "system", "thinking", "tool_choice", "tools",
	},
	Header: []string{versionHeader, "Anthropic-Beta"}, Version: versionHeader,
	Lacks: wire.NeedAudio | wire.NeedChoices, Mistakes: wire.NeedFile | wire.NeedPrefill,
	HTTPSImages: true, CountsFirst: true, RequestID: "Request-Id",
}

// Facts implements formats.Format.
func (Format) Facts() *hub.Facts { return &facts }

// AppendCount appends the response body of POST /v1/messages/count_tokens, which states the number of tokens.
func (Format) AppendCount(dst []byte, tokens int64) []byte {
	return append(strconv.AppendInt(append(dst, `{"input_tokens":`...), tokens, 10), '}')
}

// URL returns the URL of a provider's messages endpoint.
func (Format) URL(p *catalog.Provider, _ wire.Needs) string {
	url, _ := p.WireURL(catalog.WireMessages)
	return url
}

// Param translates the name of a chat completions parameter: it returns the path, in the syntax of gjson, of the same
// parameter in a messages request.
func (Format) Param(name string) string {
	switch name {
	case "reasoning_effort":
		return "output_config.effort"
	case "parallel_tool_calls":
		return "tool_choice.disable_parallel_tool_use"
	}
	return name
}

// TierEffort returns the request's output_config.effort, or an empty string if absent. This effort chooses the tier. It
// may differ from r.Effort: a client that turns thinking off may still request a high tier.
func (Format) TierEffort(r *hub.Request) hub.Effort {
	return hub.Effort(gjson.GetBytes(r.Body, "output_config.effort").Str)
}
