// Package converse writes requests in the format of Amazon Bedrock's Converse API and reads its answers. Only upstreams
// use this format: no client of the gateway speaks it.
//
// The format follows the Amazon Bedrock Runtime API reference, version 2023-09-30, operations Converse and
// ConverseStream. A stream arrives as server-sent events, because [wire.EventStream] has decoded Amazon's framing.
package converse

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Name is the format's name.
const Name hub.Format = catalog.WireConverse

// Format implements formats.Upstream for Converse; see package formats.
type Format struct{}

var facts = hub.Facts{
	Name: Name, Surface: "converse", Path: "/converse",
	Lacks: wire.NeedAudio | wire.NeedChoices, HTTPSImages: true,
}

// Facts implements formats.Upstream.
func (Format) Facts() *hub.Facts { return &facts }

// URL returns the address at which a provider is asked. It still contains the part {model}.
func (Format) URL(p *catalog.Provider, _ wire.Needs) string {
	url, _ := p.WireURL(catalog.WireConverse)
	return url
}

// Write writes a request for an upstream. It fails for requests that the format cannot express.
func (Format) Write(r *hub.Request, t *hub.Target) (hub.Written, error) { return Write(r, t) }

// Param returns the gjson path at which a request has a parameter of chat completions.
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

// NewReader returns a reader for one answer.
func (Format) NewReader(*catalog.Provider) hub.Reader { return NewReader() }
