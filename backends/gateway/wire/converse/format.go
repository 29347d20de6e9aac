// Package converse is the format of Amazon Bedrock's Converse API, for upstreams and for clients.
//
// The format follows the Amazon Bedrock Runtime API reference, version 2023-09-30, operations Converse and
// ConverseStream. A stream of an upstream arrives as server-sent events, because [wire.EventStream] has decoded
// Amazon's framing. Clients get that framing.
package converse

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Name is the format's name.
const Name hub.Format = catalog.WireConverse

// Format implements formats.Format for Converse; see package formats.
type Format struct{}

var facts = hub.Facts{
	Name: Name, Surface: "converse", Path: "/converse", StreamPath: "/converse-stream", ModelPath: "/model/",
	StreamType: wire.EventStreamType, API: wire.APIConverse,
	Lacks: wire.NeedAudio | wire.NeedChoices, Mistakes: wire.NeedFile | wire.NeedPrefill, HTTPSImages: true,
	RequestID: "X-Amzn-Requestid",
}

// Facts implements formats.Format.
func (Format) Facts() *hub.Facts { return &facts }

// URL returns the address of a provider's endpoint, which still contains the placeholder {model}.
func (Format) URL(p *catalog.Provider, _ wire.Needs) string {
	url, _ := p.WireURL(catalog.WireConverse)
	return url
}

// Param returns the gjson path in a Converse request of a chat completions parameter.
func (Format) Param(name string) string {
	switch name {
	case "max_tokens", "max_completion_tokens":
		return "inferenceConfig.maxTokens"
	case "temperature":
		return "inferenceConfig.temperature"
	case "top_p":
		return "inferenceConfig.topP"
	case "tools":
		return "toolConfig.tools"
	case "service_tier":
		return "serviceTier"
	case "reasoning_effort":
		return "additionalModelRequestFields"
	}
	return name
}

// TierEffort returns an empty string: in this format the effort does not choose the tier.
func (Format) TierEffort(*hub.Request) hub.Effort { return "" }

// ErrorHeader returns the header that names the type of an error.
func (Format) ErrorHeader(e *apierror.Error) (name, value string) { return ErrorHeader, ErrorType(e) }
