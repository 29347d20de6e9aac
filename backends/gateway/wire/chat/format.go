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

// Parse parses a request that is passed to candidates in the client's own format, chat completions, without a
// conversion to the common form. The errors are those of native.Parse.
func (Format) Parse(body []byte) (*native.Request, error) { return native.Parse(body) }

// URL returns the address of the provider's endpoint for chat completions. A request whose last message is an assistant
// message to be continued (wire.NeedPrefill) may have its own endpoint.
func (Format) URL(p *catalog.Provider, needs wire.Needs) string {
	if needs&wire.NeedPrefill != 0 {
		return p.PrefillURL()
	}
	return p.ChatURL()
}

// Param returns name unchanged, since the gateway uses the names that the parameters have in this format.
func (Format) Param(name string) string { return name }

// NewReader returns a reader for one answer from the provider p, streamed or whole.
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

// Error returns the HTTP status and the JSON body of the error response for e.
func (Format) Error(e *apierror.Error, _ string) (status int, body []byte) { return e.Status, Error(e) }
