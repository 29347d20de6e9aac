package hub

import "github.com/tollgate-gateway/tollgate/backends/gateway/wire"

// SetNeeds computes the needs and the bytes of text that follow from the other fields of the request, and adds them
// to Needs and TextBytes. The other fields must have been read.
func (r *Request) SetNeeds() {
	if r.Output != nil {
		r.Needs |= wire.NeedJSONSchema
		r.TextBytes += int64(len(r.Output.Schema))
	}
	if len(r.Tools) > 0 {
		r.Needs |= wire.NeedTools
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		r.TextBytes += int64(len(t.Name) + len(t.Description) + len(t.Parameters))
	}
	for i := range r.Messages {
		r.addNeeds(&r.Messages[i])
	}
	if last := len(r.Messages) - 1; last >= 0 && r.Messages[last].Role == Assistant {
		r.Needs |= wire.NeedPrefill
	}
}

// addNeeds adds what follows from the message m.
func (r *Request) addNeeds(m *Message) {
	for j := range m.Parts {
		r.TextBytes += int64(len(m.Parts[j].Text) + len(m.Parts[j].Raw))
		switch m.Parts[j].Kind {
		case PartImage:
			r.Needs |= wire.NeedImage
		case PartFile:
			r.Needs |= wire.NeedFile
		case PartAudio:
			r.Needs |= wire.NeedAudio
		default:
		}
	}
	for _, call := range m.Calls {
		r.Needs |= wire.NeedTools
		r.TextBytes += int64(len(call.Name) + len(call.Arguments))
	}
	for _, reasoning := range m.Reasoning {
		r.TextBytes += int64(len(reasoning.Text))
	}
}
