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

// Read parses a client's request.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) { return Read(body, o) }

// NewWriter returns a writer of the answer for a client.
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer { return NewWriter(r, reply) }

// TierEffort returns an empty string: in this format the effort does not choose the tier.
func (Format) TierEffort(*hub.Request) hub.Effort { return "" }

// Error returns the status and the body for an error.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) { return e.Status, Error(e) }

// ErrorHeader returns the header that names the type of an error.
func (Format) ErrorHeader(e *apierror.Error) (name, value string) { return ErrorHeader, ErrorType(e) }
