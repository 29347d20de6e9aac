package native

import (
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// delta is the state of scanning one delta (in a stream) or message (in a whole answer).
type delta struct {
	members int // number of fields
	// roleAt, contentAt and reasoningAt are positions of values in the body. roleAt is set for a role that is empty or
	// not a string, contentAt for a content that is a list of parts, and reasoningAt for any reasoning_content.
	roleAt, contentAt, reasoningAt span
	hasRole                        bool // role is a non-empty string
	hasReasoning                   bool // reasoning_content is a non-empty text
}

// scanDelta scans the delta or message of a choice and adds the edits that correct it. choice is the index of the
// choice. scanDelta adds what it finds to facts. The error means that the JSON is invalid or has too many tool calls.
func (f *corrector) scanDelta(s *jsontext.Scanner, choice int, facts *bodyFacts) error {
	roleEdit, roleKnown := len(f.edits), f.roles.has(choice)
	if !roleKnown {
		start := s.Offset() + 1
		f.edits.Replace(start, start, "") // for the role: ensureRole sets its text if needed
	}
	var d delta
	err := s.Object(func(key []byte) error {
		d.members++
		switch string(key) {
		case "role":
			valueStart := s.Start()
			raw, err := s.Inside()
			d.hasRole = len(raw) > 0
			if !d.hasRole {
				d.roleAt = span{valueStart, s.Offset()}
			}
			return err
		case "content", "reasoning_content", "reasoning", "refusal":
			kind, valueStart := s.Kind(), s.Offset()
			if kind == jsontext.Array && string(key) == "content" {
				facts.otherContent = true
				f.parts.reset()
				err := f.scanParts(s, facts, false)
				d.contentAt = span{valueStart, s.Offset()}
				return err
			}
			raw, err := s.Inside()
			if string(key) == "reasoning_content" {
				d.reasoningAt, d.hasReasoning = span{valueStart, s.Offset()}, len(raw) > 0
			}
			if len(raw) > 0 {
				facts.proof = true
				f.TextBytes += int64(len(raw))
				facts.texts++
				facts.text = span{s.Offset() - 1 - len(raw), s.Offset() - 1} // without the quotes
			}
			return err
		case "tool_calls":
			if s.Kind() != jsontext.Array {
				return s.Skip()
			}
			facts.otherContent = true
			return s.Array(func(i int) error { return f.scanTool(s, choice, i, facts) })
		case "reasoning_details":
			facts.thinks = facts.thinks || s.Kind() == jsontext.Array
			return s.Skip()
		default:
			return s.Skip()
		}
	})
	if err != nil {
		return err
	}
	if !roleKnown {
		f.roles.add(choice)
		f.ensureRole(&d, roleEdit, facts)
	}
	if !d.contentAt.empty() {
		f.joinParts(&d)
	}
	return nil
}

// ensureRole adds the role "assistant" to d, the first delta of a choice, if the role is missing or invalid. Clients
// refuse an answer without a role. edit is the index in f.edits of the edit at the start of the delta.
func (f *corrector) ensureRole(d *delta, edit int, facts *bodyFacts) {
	switch {
	case d.hasRole:
		return
	case !d.roleAt.empty():
		f.addEdit(d.roleAt.from, d.roleAt.to, `"assistant"`)
	case d.members == 0:
		f.edits[edit].Text = `"role":"assistant"`
	default:
		f.edits[edit].Text = `"role":"assistant",`
	}
	facts.otherContent = true // a later chunk does not get the role
}

// parts holds the texts of a content that is a list of parts, still escaped for a JSON string. thinking holds those of
// the reasoning.
type parts struct{ text, thinking []byte }

// reset empties p. It keeps the memory.
func (p *parts) reset() { p.text, p.thinking = p.text[:0], p.thinking[:0] }

// scanParts collects the texts of a list of content parts in f.parts. The parts are strings, refusals,
// {"type":"text","text":…}, and Mistral's {"type":"thinking","thinking":…} with a string or a list of parts as its
// value. thinking is set for the list within a thinking part, whose texts are reasoning.
func (f *corrector) scanParts(s *jsontext.Scanner, facts *bodyFacts, thinking bool) error {
	return s.Array(func(int) error {
		switch s.Kind() {
		case jsontext.String:
			return f.scanPart(s, facts, thinking)
		case jsontext.Object:
		default:
			return s.Skip()
		}
		return s.Object(func(key []byte) error {
			kind := s.Kind()
			switch string(key) {
			case "thinking":
				if kind == jsontext.Array {
					return f.scanParts(s, facts, true)
				}
				return f.scanPart(s, facts, true)
			case "text", "refusal":
				return f.scanPart(s, facts, thinking)
			}
			return s.Skip()
		})
	})
}

// scanPart scans a value and adds its text to f.parts, as reasoning if thinking is set. A value that is not a string
// has no text.
func (f *corrector) scanPart(s *jsontext.Scanner, facts *bodyFacts, thinking bool) error {
	raw, err := s.Inside()
	facts.proof = facts.proof || len(raw) > 0
	f.TextBytes += int64(len(raw))
	if thinking {
		f.parts.thinking = append(f.parts.thinking, raw...)
	} else {
		f.parts.text = append(f.parts.text, raw...)
	}
	return err
}

// joinParts replaces a content that is a list of parts by the form that clients know: one string as content, and the
// reasoning in reasoning_content.
func (f *corrector) joinParts(d *delta) {
	content := "null"
	if len(f.parts.text) > 0 {
		content = `"` + string(f.parts.text) + `"`
	}
	thinking := `"` + string(f.parts.thinking) + `"`
	switch {
	case len(f.parts.thinking) == 0 || d.hasReasoning:
	case d.reasoningAt.empty():
		content += `,"reasoning_content":` + thinking
	default:
		f.addEdit(d.reasoningAt.from, d.reasoningAt.to, thinking)
	}
	f.addEdit(d.contentAt.from, d.contentAt.to, content)
}
