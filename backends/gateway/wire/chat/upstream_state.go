package chat

import (
	"crypto/sha256"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// takesState reports whether the provider expects reasoning state in the field with the given name.
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

// noSignature is the text that, according to Gemini's documentation, replaces the lost signature of a call.
const noSignature = "skip_thought_signature_validator"

// thought writes Gemini's thought signature for c, a call of the message m, if the provider expects signatures. It
// writes the signature of c itself if c has one. Otherwise, if first is set, it writes the last signature in the
// reasoning of m, or else noSignature. first is set for the first call of m, the only one that needs a signature.
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

// fits reports whether s has the given form and may be sent to the candidate. A nil state never fits.
func (w *body) fits(s *hub.State, form hub.Form) bool {
	return s.Fits(w.target) && s.Form == form
}

// lastThought returns the last thought signature in the reasoning of m that may be sent to the candidate, or an empty
// string if there is no such signature.
func (w *body) lastThought(m *hub.Message) string {
	for _, r := range slices.Backward(m.Reasoning) {
		if w.fits(r.State, hub.FormThought) {
			return r.State.Data
		}
	}
	return ""
}

// reasoning writes the reasoning state of m, an assistant message, into the field in which the provider expects it.
// afterUser is set if m comes after the last user message: the text of the reasoning is sent only for such messages.
func (w *body) reasoning(m *hub.Message, afterUser bool) {
	switch w.shape.ReasoningState {
	case catalog.StateThought:
		if signature := w.lastThought(m); signature != "" && len(m.Calls) == 0 && !w.hasExtra(m.Extra, "extra_content") {
			w.dst = appendThought(append(w.dst, ','), signature)
		}
	case catalog.StateContent:
		if afterUser && len(m.Calls) > 0 && w.target.Model.Reasoning && !w.hasExtra(m.Extra, "reasoning_content") {
			w.reasoningContent(m)
		}
	case catalog.StateDetails:
		if !w.hasExtra(m.Extra, "reasoning_details") {
			w.details(m)
		}
	}
}

// reasoningContent writes the field reasoning_content of m. The value is the text of the reasoning that came from the
// candidate's provider and model family. The provider requires the field even if there is no such text, so the value
// may be "".
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

// details writes the field reasoning_details of m with the entries of all its reasoning that may be sent to the
// candidate. Without entries it writes nothing.
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

// appendID appends id, the id of a call, as a quoted JSON string. An id that the provider does not accept is replaced,
// since some providers require nine letters or digits and others limit the length. The replacement depends only on id,
// so that a call and its result get the same id.
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
	return append(wire.AppendBase62(append(dst, '"'), sum[:size]), '"')
}

// isID9 reports whether id consists of exactly nine ASCII letters or digits.
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
