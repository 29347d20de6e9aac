// Package converse is the format of Amazon Bedrock's Converse API, for upstreams and for clients.
//
// The format follows the Amazon Bedrock Runtime API reference, version 2023-09-30, operations Converse and
// ConverseStream. A stream is in Amazon's event stream encoding. Readers get the stream of an upstream as server-sent
// events, because [wire.EventStream] has converted it. Writers use Amazon's encoding.
package converse

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Name is the name of the format.
const Name hub.Format = catalog.WireConverse

// Format is the Converse format, for the table in package formats.
type Format struct{}

var facts = hub.Facts{
	Name: Name, Surface: "converse", Path: "/converse", StreamPath: "/converse-stream", ModelPath: "/model/",
	StreamType: wire.EventStreamType, API: wire.APIConverse,
	Lacks: wire.NeedAudio | wire.NeedChoices, Mistakes: wire.NeedFile | wire.NeedPrefill, HTTPSImages: true,
	RequestID: "X-Amzn-Requestid",
}

// Facts implements formats.Format.
func (Format) Facts() *hub.Facts { return &facts }

// URL returns the address of the provider's endpoint. It contains the placeholder {model}, which the caller replaces.
func (Format) URL(p *catalog.Provider, _ wire.Needs) string {
	url, _ := p.WireURL(catalog.WireConverse)
	return url
}

// Param returns the gjson path at which a Converse request has a parameter. name is the name of the parameter in chat
// completions.
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

// TierEffort returns an empty string, since clients of this format do not choose the tier with the effort.
func (Format) TierEffort(*hub.Request) hub.Effort { return "" }

// ErrorHeader returns the name and the value of the HTTP header field that states the type of e.
func (Format) ErrorHeader(e *apierror.Error) (name, value string) { return ErrorHeader, ErrorType(e) }
