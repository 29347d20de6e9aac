package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Format is the row of chat completions, see package formats.
type Format struct{}

var facts = hub.Facts{
	Name: hub.Chat, Surface: "chat_completions", Path: "/chat/completions",
	Recalls: true,
}

// Facts implements formats.Format.
func (Format) Facts() *hub.Facts { return &facts }

// Parse reads a request for its way to a chat upstream.
func (Format) Parse(body []byte) (*native.Request, error) { return native.Parse(body) }

// Read reads a client's request.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) { return Read(body, o) }

// Write writes a request for an upstream.
func (Format) Write(r *hub.Request, t *hub.Target) (hub.Written, error) { return Write(r, t) }

// URL is where a provider is asked.
func (Format) URL(p *catalog.Provider, needs wire.Needs) string {
	if needs&wire.NeedPrefill != 0 {
		return p.PrefillURL()
	}
	return p.ChatURL()
}

// Param is the name itself: parameters are named as in chat completions.
func (Format) Param(name string) string { return name }

// NewReader reads the answer of a provider.
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

// NewWriter writes the answer for a client.
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer { return NewWriter(r, reply) }

// TierEffort has no say in the tier here.
func (Format) TierEffort(*hub.Request) hub.Effort { return "" }

// Error is the body of an error.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) { return e.Status, Error(e) }
