package native

import (
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// delta is the state of scanning one delta (in a stream) or message (in a whole answer).
type delta struct {
	members int
	// roleAt, contentAt and reasoningAt are positions of values in the body. roleAt is set for a role that is empty or
	// not a string, contentAt for a content that is a list of parts, and reasoningAt for any reasoning_content.
	roleAt, contentAt, reasoningAt span
	role                           bool
	reasoning                      bool // reasoning_content is a non-empty text
}

// scanDelta scans the delta or message of a choice and adds the edits that correct it. choice is the index of the
// choice. got collects facts about the body. The error means that the JSON is invalid or has too many tool calls.
func (f *form) scanDelta(s *jsontext.Scanner, choice int, got *seen) error {
	roleEdit, roleKnown := len(f.edits), f.roles.has(choice)
	if !roleKnown {
		start := s.Offset() + 1
		f.edits.Replace(start, start, "")
	}
	var d delta
	err := s.Object(func(key []byte) error {
		d.members++
		switch string(key) {
		case "role":
			from := s.Start()
			raw, err := s.Inside()
			if d.role = len(raw) > 0; !d.role {
				d.roleAt = span{from, s.Offset()}
			}
			return err
		case "content", "reasoning_content", "reasoning", "refusal":
			kind, from := s.Kind(), s.Offset()
			if kind == jsontext.Array && string(key) == "content" {
				got.more = true
				f.parts.reset()
				err := f.scanParts(s, got, false)
				d.contentAt = span{from, s.Offset()}
				return err
			}
			raw, err := s.Inside()
			if string(key) == "reasoning_content" {
				d.reasoningAt, d.reasoning = span{from, s.Offset()}, len(raw) > 0
			}
			if len(raw) > 0 {
				got.proof = true
				f.TextBytes += int64(len(raw))
				got.texts++
				got.text = span{s.Offset() - 1 - len(raw), s.Offset() - 1}
			}
			return err
		case "tool_calls":
			if s.Kind() != jsontext.Array {
				return s.Skip()
			}
			got.more = true
			return s.Array(func(i int) error { return f.scanTool(s, choice, i, got) })
		case "reasoning_details":
			got.thinks = got.thinks || s.Kind() == jsontext.Array
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
		f.ensureRole(&d, roleEdit, got)
	}
	if !d.contentAt.empty() {
		f.joinParts(&d)
	}
	return nil
}

// ensureRole adds the role "assistant" to d, the first delta of a choice, if the role is missing or invalid. Clients
// refuse an answer without a role. edit is the index in f.edits of the edit at the start of the delta.
func (f *form) ensureRole(d *delta, edit int, got *seen) {
	switch {
	case d.role:
		return
	case !d.roleAt.empty():
		f.insertSorted(d.roleAt.from, d.roleAt.to, `"assistant"`)
	case d.members == 0:
		f.edits[edit].Text = `"role":"assistant"`
	default:
		f.edits[edit].Text = `"role":"assistant",`
	}
	got.more = true // a later chunk does not get the role
}

// parts holds the texts of a content that is a list of parts, still escaped for a JSON string. thinking holds those of
// the reasoning.
type parts struct{ text, thinking []byte }

func (p *parts) reset() { p.text, p.thinking = p.text[:0], p.thinking[:0] }

// scanParts collects the texts of a list of content parts in f.parts. The parts are strings, {"type":"text","text":…},
// refusals, and Mistral's {"type":"thinking","thinking":…} with a string or a list of parts as its value. thinking is
// set for the list within a thinking part, whose texts are reasoning.
func (f *form) scanParts(s *jsontext.Scanner, got *seen, thinking bool) error {
	return s.Array(func(int) error {
		switch s.Kind() {
		case jsontext.String:
			return f.scanPart(s, got, thinking)
		case jsontext.Object:
		default:
			return s.Skip()
		}
		return s.Object(func(key []byte) error {
			kind := s.Kind()
			switch string(key) {
			case "thinking":
				if kind == jsontext.Array {
					return f.scanParts(s, got, true)
				}
				return f.scanPart(s, got, true)
			case "text", "refusal":
				return f.scanPart(s, got, thinking)
			}
			return s.Skip()
		})
	})
}

func (f *form) scanPart(s *jsontext.Scanner, got *seen, thinking bool) error {
	raw, err := s.Inside()
	got.proof = got.proof || len(raw) > 0
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
func (f *form) joinParts(d *delta) {
	content := "null"
	if len(f.parts.text) > 0 {
		content = `"` + string(f.parts.text) + `"`
	}
	thinking := `"` + string(f.parts.thinking) + `"`
	switch {
	case len(f.parts.thinking) == 0 || d.reasoning:
	case d.reasoningAt.empty():
		content += `,"reasoning_content":` + thinking
	default:
		f.insertSorted(d.reasoningAt.from, d.reasoningAt.to, thinking)
	}
	f.insertSorted(d.contentAt.from, d.contentAt.to, content)
}
