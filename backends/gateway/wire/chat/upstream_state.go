package chat

import (
	"crypto/sha256"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// isStateMember reports whether a member of a message or call holds a provider's reasoning state.
func isStateMember(name string) bool {
	switch name {
	case "extra_content", "reasoning_content", "reasoning_details", "reasoning":
		return true
	}
	return false
}

// takesState reports whether the provider expects its reasoning state in the given member.
func (w *body) takesState(name string) bool {
	switch w.shape.ReasoningState {
	case catalog.StateThought:
		return name == "extra_content"
	case catalog.StateContent:
		return name == "reasoning_content"
	case catalog.StateDetails:
		return name == "reasoning_details" || name == "reasoning"
	}
	return false
}

// noSignature is the value that Gemini documents for calls whose signature is lost.
const noSignature = "skip_thought_signature_validator"

// thought writes Gemini's thought signature for a call: the call's own or, for the first call, that of the reasoning
// before the call. first is set for the first call.
func (w *body) thought(m *hub.Message, c *hub.Call, first bool) {
	if w.shape.ReasoningState != catalog.StateThought || w.hasExtra(c.Extra, "extra_content") {
		return
	}
	signature := ""
	if w.fits(c.State, hub.FormThought) {
		signature = c.State.Data
	} else if first {
		if signature = w.lastThought(m); signature == "" {
			signature = noSignature
		}
	}
	if signature != "" {
		w.dst = appendThought(append(w.dst, ','), signature)
	}
}

// fits reports whether the candidate can continue from a state, and the state has the given form.
func (w *body) fits(s *hub.State, form hub.Form) bool {
	return s.Fits(w.target) && s.Form == form
}

// lastThought returns the last thought signature in the reasoning of a message, or an empty string.
func (w *body) lastThought(m *hub.Message) string {
	for _, r := range slices.Backward(m.Reasoning) {
		if w.fits(r.State, hub.FormThought) {
			return r.State.Data
		}
	}
	return ""
}

// reasoning writes an assistant message's reasoning state into the member in which the provider expects it. current is
// set if the message follows the last user message.
func (w *body) reasoning(m *hub.Message, current bool) {
	switch w.shape.ReasoningState {
	case catalog.StateThought:
		if signature := w.lastThought(m); signature != "" && len(m.Calls) == 0 && !w.hasExtra(m.Extra, "extra_content") {
			w.dst = appendThought(append(w.dst, ','), signature)
		}
	case catalog.StateContent:
		if current && len(m.Calls) > 0 && w.target.Model.Reasoning && !w.hasExtra(m.Extra, "reasoning_content") {
			w.reasoningContent(m)
		}
	case catalog.StateDetails:
		if !w.hasExtra(m.Extra, "reasoning_details") {
			w.details(m)
		}
	}
}

// reasoningContent writes the text of the model's own reasoning. The member is required even if the client did not
// return the text.
func (w *body) reasoningContent(m *hub.Message) {
	w.dst = append(w.dst, `,"reasoning_content":"`...)
	for i := range m.Reasoning {
		s := m.Reasoning[i].State
		if s != nil && s.Provider == w.target.Provider.Code && s.Family == w.target.Model.Family {
			w.dst = jsontext.AppendEscaped(w.dst, m.Reasoning[i].Text)
		}
	}
	w.dst = append(w.dst, '"')
}

// details writes reasoning_details with the entries of all reasoning in the message.
func (w *body) details(m *hub.Message) {
	var all []byte
	for i := range m.Reasoning {
		if s := m.Reasoning[i].State; w.fits(s, hub.FormDetails) {
			all = appendElements(all, []byte(s.Data))
		}
	}
	if len(all) > 0 {
		w.dst = append(append(append(w.dst, `,"reasoning_details":[`...), all...), ']')
	}
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// appendID appends the id of a call. Some providers require nine letters or digits, others limit the length. A
// replacement depends only on the id, so it is the same in the call and its result.
func (w *body) appendID(dst []byte, id string) []byte {
	var size int
	switch limit := w.target.ToolCallIDMax; {
	case w.shape.ToolCallID9 && !isID9(id):
		size = 9
	case limit > 0 && len(id) > limit:
		size = min(24, limit)
	default:
		return jsontext.AppendQuoted(dst, id)
	}
	sum := sha256.Sum256([]byte(id))
	dst = append(dst, '"')
	for _, b := range sum[:size] {
		dst = append(dst, base62[int(b)%62])
	}
	return append(dst, '"')
}

// isID9 reports whether an id consists of nine letters or digits.
func isID9(id string) bool {
	if len(id) != 9 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
