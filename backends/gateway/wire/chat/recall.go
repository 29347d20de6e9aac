package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// recall adds to the assistant messages the reasoning that the model had produced before their tool calls and that chat
// clients do not send back (specification 11.3). find returns the reasoning that was kept under the id of a call. A
// thought signature becomes the state of the call; other reasoning is added to that of the message. If a client sends
// the reasoning back after all, the request for the upstream has the client's, see body.hasExtra.
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

// remembrance collects the reasoning in an answer and hands it to remember when a tool call follows, so that recall
// finds it later. It does nothing if remember is nil.
type remembrance struct {
	remember func(call string, reasoning []hub.Reasoning)
	text     []byte // text without state so far, as the inside of a JSON string
	list     []hub.Reasoning
	size     int // bytes of text and list; reasoning of more than maxState is not remembered
}

// note processes the next delta of an answer.
func (m *remembrance) note(d *hub.Delta) {
	if m.remember == nil {
		return
	}
	switch d.Kind {
	case hub.DeltaReasoning:
		if m.size += len(d.Text); m.size <= maxState {
			m.text = append(m.text, d.Text...)
		}
	case hub.DeltaState:
		if m.size += len(d.State.Data) + hub.RecallItem; d.State.Data == "" || m.size > maxState {
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
