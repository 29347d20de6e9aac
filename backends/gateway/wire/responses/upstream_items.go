package responses

import (
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// instructions writes the text of the first message as the field instructions, if that message is a system message.
// next is the index of the first message that the caller must still write.
func (w *upstreamWriter) instructions() (next int) {
	if len(w.r.Messages) == 0 || w.r.Messages[0].Role != hub.System {
		return 0
	}
	text := upstreamJoined(w.r.Messages[0].Parts, "\n\n")
	if text != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"instructions":`, text)
	}
	return 1
}

// input writes the messages as input items, beginning with the message at the index start. If the conversation
// continues after a call without a result, the call gets a placeholder result, since the upstream would refuse the
// request otherwise.
func (w *upstreamWriter) input(start int) error {
	messages := w.r.Messages
	var unanswered []string // ids of calls without a result
	for i := start; i < len(messages); i++ {
		m := &messages[i]
		var err error
		switch m.Role {
		case hub.Assistant:
			w.missingResults(unanswered)
			unanswered = unanswered[:0]
			if err = w.assistant(i); err == nil {
				for j := range m.Calls {
					unanswered = append(unanswered, m.Calls[j].ID)
				}
			}
		case hub.ToolResult:
			unanswered = upstreamWithout(unanswered, m.CallID)
			err = w.result(i)
		default:
			w.missingResults(unanswered)
			unanswered = unanswered[:0]
			err = w.message(i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// upstreamWithout returns ids, a list of call ids, without id. Results come in the order of the calls, so the id is
// near the front.
func upstreamWithout(ids []string, id string) []string {
	for i := range ids {
		if ids[i] == id {
			copy(ids[1:i+1], ids[:i]) // moves the few ids before it, not the many after it
			return ids[1:]
		}
	}
	return ids
}

// missingResults writes a placeholder result for each call whose id is in ids.
func (w *upstreamWriter) missingResults(ids []string) {
	for _, id := range ids {
		w.beginResult(id)
		w.dst = append(w.dst, `"[no result]"}`...)
	}
}

// begin writes the beginning of an input item of the given type.
func (w *upstreamWriter) begin(kind string) {
	if w.items++; w.items > 1 {
		w.dst = append(w.dst, ',')
	}
	w.dst = jsontext.AppendAll(w.dst, `{"type":"`, kind, `"`)
}

// beginResult writes the beginning of the input item with the result of the call whose id is given.
func (w *upstreamWriter) beginResult(id string) {
	kind := "function_call_output"
	if _, custom := w.called[id]; custom {
		kind = "custom_tool_call_output"
	}
	w.begin(kind)
	w.dst = jsontext.AppendMember(w.dst, `,"call_id":`, id)
	w.dst = append(w.dst, `,"output":`...)
}

// message writes message i, which is a user or system message. A system message becomes a developer message.
func (w *upstreamWriter) message(i int) error {
	m := &w.r.Messages[i]
	role := "user"
	if m.Role != hub.User {
		role = "developer"
	}
	itemFrom, items := len(w.dst), w.items
	w.begin("message")
	w.dst = jsontext.AppendAll(w.dst, `,"role":"`, role, `","content":[`)
	n, err := w.parts(i)
	if err != nil {
		return err
	}
	if n == 0 {
		w.dst, w.items = w.dst[:itemFrom], items
		return nil
	}
	w.dst = append(w.dst, "]}"...)
	return nil
}

// parts writes the content of message i, which is not an assistant message. n is the number of parts written.
func (w *upstreamWriter) parts(i int) (n int, err error) {
	m := &w.r.Messages[i]
	for j := range m.Parts {
		p := &m.Parts[j]
		if (p.Kind == hub.PartText || p.Kind == hub.PartRefusal) && p.Text == "" {
			continue
		}
		if n++; n > 1 {
			w.dst = append(w.dst, ',')
		}
		switch p.Kind {
		case hub.PartText, hub.PartRefusal:
			w.dst = append(jsontext.AppendMember(w.dst, `{"type":"input_text","text":`, p.Text), '}')
		case hub.PartImage:
			w.dst = jsontext.AppendMember(w.dst, `{"type":"input_image","image_url":`, p.URL)
			if p.Detail != "" {
				w.dst = jsontext.AppendMember(w.dst, `,"detail":`, p.Detail)
			}
			w.dst = append(w.dst, '}')
		case hub.PartFile:
			w.file(p)
		case hub.PartOther:
			if w.r.Format != hub.Responses {
				return 0, fmt.Errorf("messages[%d] has a part that exists only in the %s format", i, w.r.Format)
			}
			w.dst = append(w.dst, p.Raw...)
		default:
			return 0, fmt.Errorf("messages[%d] contains audio, which the responses format cannot represent", i)
		}
	}
	return n, nil
}

// file writes a file as an input_file part.
func (w *upstreamWriter) file(p *hub.Part) {
	if !strings.HasPrefix(p.URL, "data:") {
		w.dst = append(jsontext.AppendMember(w.dst, `{"type":"input_file","file_url":`, p.URL), '}')
		return
	}
	name := p.Detail
	if name == "" {
		name = "file" // a name is required
	}
	w.dst = jsontext.AppendMember(w.dst, `{"type":"input_file","filename":`, name)
	w.dst = append(jsontext.AppendMember(w.dst, `,"file_data":`, p.URL), '}')
}

// assistant writes message i: first the reasoning, then the text, then the calls.
func (w *upstreamWriter) assistant(i int) error {
	m := &w.r.Messages[i]
	hasText := false
	for j := range m.Parts {
		switch p := &m.Parts[j]; p.Kind {
		case hub.PartText, hub.PartRefusal:
			hasText = hasText || p.Text != ""
		case hub.PartOther: // history in another format
		default:
			return fmt.Errorf("messages[%d] is an assistant message with content other than text, which the responses format "+
				"does not support", i)
		}
	}
	if !hasText && len(m.Calls) == 0 {
		return nil // the format refuses reasoning without text or calls
	}
	for j := range m.Reasoning {
		if s := m.Reasoning[j].State; s.Fits(w.t) && s.Form == hub.FormItem {
			if w.items++; w.items > 1 {
				w.dst = append(w.dst, ',')
			}
			w.dst = append(w.dst, s.Data...)
		}
	}
	if hasText {
		w.assistantText(m)
	}
	for j := range m.Calls {
		w.call(&m.Calls[j])
	}
	return nil
}

// assistantText writes the text of an assistant message.
func (w *upstreamWriter) assistantText(m *hub.Message) {
	w.begin("message")
	w.dst = append(w.dst, `,"role":"assistant","content":[`...)
	n := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == hub.PartOther || p.Text == "" {
			continue
		}
		if n++; n > 1 {
			w.dst = append(w.dst, ',')
		}
		if p.Kind == hub.PartRefusal {
			w.dst = append(w.dst, `{"type":"refusal","refusal":`...)
		} else {
			w.dst = append(w.dst, `{"type":"output_text","text":`...)
		}
		w.dst = append(jsontext.AppendQuoted(w.dst, p.Text), '}')
	}
	w.dst = append(w.dst, "]}"...)
}

// call writes a tool call.
func (w *upstreamWriter) call(c *hub.Call) {
	kind, member, text := "function_call", "arguments", c.Arguments
	if w.isCustom(c.Name) {
		kind, member, text = "custom_tool_call", "input", upstreamInput(c.Arguments)
		w.called[c.ID] = struct{}{}
	} else if text == "" {
		text = "{}"
	}
	w.begin(kind)
	w.dst = jsontext.AppendMember(w.dst, `,"call_id":`, c.ID)
	w.dst = jsontext.AppendMember(w.dst, `,"name":`, c.Name)
	w.dst = jsontext.AppendAll(w.dst, `,"`, member, `":`)
	w.dst = append(jsontext.AppendQuoted(w.dst, text), '}')
}

// result writes message i as the output of a call: a text, or a list if the result has other parts.
func (w *upstreamWriter) result(i int) error {
	m := &w.r.Messages[i]
	w.beginResult(m.CallID)
	for j := range m.Parts {
		if kind := m.Parts[j].Kind; kind != hub.PartText && kind != hub.PartRefusal {
			w.dst = append(w.dst, '[')
			if _, err := w.parts(i); err != nil {
				return err
			}
			w.dst = append(w.dst, "]}"...)
			return nil
		}
	}
	w.dst = append(jsontext.AppendQuoted(w.dst, upstreamJoined(m.Parts, "\n")), '}')
	return nil
}

// upstreamJoined returns the texts of parts, joined with gap between them.
func upstreamJoined(parts []hub.Part, gap string) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for i := range parts {
		if parts[i].Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(gap)
		}
		b.WriteString(parts[i].Text)
	}
	return b.String()
}

// upstreamInput returns the text in the arguments of a custom tool's call, {"input": text}. Arguments of another form
// are returned unchanged.
func upstreamInput(arguments string) string {
	s := jsontext.NewScanner([]byte(arguments))
	input, found := "", false
	if s.Kind() != jsontext.Object {
		return arguments
	}
	err := s.Object(func(key []byte) (err error) {
		if string(key) == "input" && s.Kind() == jsontext.String {
			found = true
			input, err = s.Unquoted()
			return err
		}
		return s.Skip()
	})
	if err != nil || s.End() != nil || !found {
		return arguments
	}
	return input
}
