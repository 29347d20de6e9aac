package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Format is the chat completions format, for the table in package formats.
type Format struct{}

var facts = hub.Facts{
	Name: hub.Chat, Surface: "chat_completions", Base: "/v1", Path: "/chat/completions", API: wire.APIChat,
	Recalls: true,
}

// Facts implements formats.Format.
func (Format) Facts() *hub.Facts { return &facts }

// Parse parses a request that can be passed on to a chat upstream.
func (Format) Parse(body []byte) (*native.Request, error) { return native.Parse(body) }

// URL returns the address of a provider's endpoint.
func (Format) URL(p *catalog.Provider, needs wire.Needs) string {
	if needs&wire.NeedPrefill != 0 {
		return p.PrefillURL()
	}
	return p.ChatURL()
}

// Param returns name, since parameters are named as in chat completions.
func (Format) Param(name string) string { return name }

// NewReader returns a reader of one answer of the provider.
func (Format) NewReader(p *catalog.Provider) hub.Reader {
	var state hub.Form
	switch p.Shape.ReasoningState {
	case catalog.StateThought:
		state = hub.FormThought
	case catalog.StateDetails:
		state = hub.FormDetails
	}
	return NewReader(state, p.Shape.ThinkTags)
}

// TierEffort returns an empty string: in chat the effort does not choose the tier.
func (Format) TierEffort(*hub.Request) hub.Effort { return "" }

// Error returns the status and the body for an error.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) { return e.Status, Error(e) }
