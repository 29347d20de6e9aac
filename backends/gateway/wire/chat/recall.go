package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// recall adds stored reasoning to the assistant messages with tool calls. The model produced this reasoning before the
// calls, and chat clients do not send it back. find returns the reasoning that is stored for a call id. A thought
// signature (Gemini) becomes the state of the call, and other reasoning is added to the message. If a client sends
// reasoning back after all, the upstream gets the client's reasoning instead, see body.hasExtra.
func recall(messages []hub.Message, find func(call string) []hub.Reasoning) {
	for i := range messages {
		m := &messages[i]
		for j := range m.Calls {
			call := &m.Calls[j]
			for _, r := range find(call.ID) {
				if r.State != nil && r.State.Form == hub.FormThought {
					call.State = r.State
				} else {
					m.Reasoning = append(m.Reasoning, r)
				}
			}
		}
	}
}

// reasoningRecorder collects the reasoning in an answer. When a tool call follows, it passes the reasoning to remember,
// so that recall can find the reasoning in a later request. If remember is nil, reasoningRecorder does nothing.
type reasoningRecorder struct {
	remember func(call string, reasoning []hub.Reasoning)
	text     []byte // text without state so far, as the inside of a JSON string
	list     []hub.Reasoning
	size     int // bytes of text and list; more than maxState is not stored
}

// add processes the next delta of an answer. Only reasoning, reasoning state and tool calls matter.
func (m *reasoningRecorder) add(d *hub.Delta) {
	if m.remember == nil {
		return
	}
	switch d.Kind {
	case hub.DeltaReasoning:
		if m.size += len(d.Text); m.size <= maxState {
			m.text = append(m.text, d.Text...)
		}
	case hub.DeltaState:
		m.size += len(d.State.Data) + hub.RecallItem
		if d.State.Data == "" || m.size > maxState {
			return
		}
		state := d.State
		m.list = append(m.list, hub.Reasoning{Text: string(jsontext.AppendUnquoted(nil, m.text)), State: &state})
		m.text = m.text[:0]
	case hub.DeltaCall:
		if len(m.list) > 0 && m.size <= maxState { // an incomplete list would be refused
			m.remember(d.ID, m.list)
		}
		m.text, m.list, m.size = m.text[:0], nil, 0
	default:
	}
}
