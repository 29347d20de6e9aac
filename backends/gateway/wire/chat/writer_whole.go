package chat

import (
	"cmp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// message collects the parts of a whole answer. Texts are those between the quotes of a JSON string, still escaped.
type message struct {
	content, reasoning, refusal []byte
	details, logprobs           []byte // the insides of JSON arrays
	calls                       []wholeCall
	thought                     string // thought signature of the text
	end                         hub.End
}

// wholeCall is a tool call of a whole answer. name is the upstream name of the tool.
type wholeCall struct {
	id, name, thought string
	arguments         []byte
}

// Whole implements hub.Writer.
func (w *writer) Whole(deltas []hub.Delta) ([]byte, error) {
	m := w.gather(deltas)
	size := 512 + len(m.content) + len(m.reasoning) + len(m.refusal) + len(m.details) + len(m.logprobs)
	for i := range m.calls {
		size += 256 + len(m.calls[i].arguments)
	}
	dst := w.frame(make([]byte, 0, size), "chat.completion")
	dst = append(dst, `{"index":0,"message":{"role":"assistant","content":`...)
	dst = appendTextOrNull(dst, m.content)
	dst = append(dst, `,"refusal":`...)
	dst = appendTextOrNull(dst, m.refusal)
	if len(m.reasoning) > 0 {
		dst = appendTextOrNull(append(dst, `,"reasoning_content":`...), m.reasoning)
	}
	if len(m.details) > 0 {
		dst = append(append(append(dst, `,"reasoning_details":[`...), m.details...), ']')
	}
	w.thought = cmp.Or(w.thought, m.thought)
	dst = w.appendThought(dst)
	dst = w.appendCalls(dst, m.calls)
	dst = append(dst, `},"logprobs":`...)
	if len(m.logprobs) > 0 {
		dst = append(append(append(dst, `{"content":[`...), m.logprobs...), `],"refusal":null}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = jsontext.AppendAll(dst, `,"finish_reason":"`, finishReason(m.end.Finish), `"}]`)
	usage := w.reply.Usage(w.request, &m.end.Usage, w.bytes)
	return append(wire.AppendUsage(append(dst, `,"usage":`...), usage), '}'), nil
}

// gather collects the deltas of a whole answer in a message.
func (w *writer) gather(deltas []hub.Delta) *message {
	m := &message{}
	for i := range deltas {
		d := &deltas[i]
		w.bytes += int64(len(d.Text))
		w.memory.add(d)
		switch d.Kind {
		case hub.DeltaText:
			m.content = append(m.content, d.Text...)
			m.thought, w.thought = cmp.Or(w.thought, m.thought), "" // a waiting signature belongs to the text
			if w.request.Answer.Logprobs {
				m.logprobs = appendElements(m.logprobs, d.Logprobs)
			}
		case hub.DeltaReasoning:
			if w.showsReasoning() {
				m.reasoning = append(m.reasoning, d.Text...)
			}
		case hub.DeltaRefusal:
			m.refusal = append(m.refusal, d.Text...)
		case hub.DeltaCall:
			m.calls = append(m.calls, wholeCall{id: d.ID, name: d.Name, thought: w.thought})
			w.thought = ""
		case hub.DeltaArguments:
			if d.Call < len(m.calls) {
				m.calls[d.Call].arguments = append(m.calls[d.Call].arguments, d.Text...)
			}
		case hub.DeltaState:
			if d.State.Form == hub.FormThought {
				w.thought = d.State.Data
			}
			if d.State.Form == hub.FormDetails {
				m.details = appendElements(m.details, []byte(d.State.Data))
			}
		case hub.DeltaEnd:
			m.end = d.End
		}
	}
	return m
}

// appendCalls appends the field tool_calls, preceded by a comma, if there are calls.
func (w *writer) appendCalls(dst []byte, calls []wholeCall) []byte {
	if len(calls) == 0 {
		return dst
	}
	dst = append(dst, `,"tool_calls":`...)
	for i := range calls {
		c := &calls[i]
		tool := w.request.Tool(c.name)
		if i == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		w.thought = c.thought
		dst = w.appendCall(append(dst, '{'), c.id, &tool)
		arguments := c.arguments
		if tool.Kind == hub.ToolCustom {
			call := freeTextCall{arguments: arguments}
			arguments = call.input()
		}
		dst = append(append(dst, arguments...), `"}}`...)
	}
	return append(dst, ']')
}

// appendTextOrNull appends text as a JSON string, or null if text is empty. text is already escaped.
func appendTextOrNull(dst, text []byte) []byte {
	if len(text) == 0 {
		return append(dst, "null"...)
	}
	return append(append(append(dst, '"'), text...), '"')
}

// appendElements appends the elements of array, a JSON array, to dst, separated by commas. dst holds earlier elements
// in the same form, without brackets. If array is not a JSON array, dst is returned unchanged.
func appendElements(dst, array []byte) []byte {
	s := jsontext.NewScanner(array)
	if s.Kind() != jsontext.Array {
		return dst
	}
	_ = s.Array(func(int) error {
		_ = s.Kind() // skips white space
		start := s.Offset()
		err := s.Skip()
		if err == nil {
			if len(dst) > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, array[start:s.Offset()]...)
		}
		return err
	})
	return dst
}
