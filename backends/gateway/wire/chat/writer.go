package chat

import (
	"bytes"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewWriter returns a writer for the answer to r that a chat client gets. Reasoning state is sent to the client only
// in a form for which the chat format has a field. State that comes before a tool call is also stored with
// reply.Remember.
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer {
	w := &writer{request: r, reply: &reply, id: reply.ID("chatcmpl-"), memory: reasoningRecorder{remember: reply.Remember}}
	w.head = w.frame(append(w.head, "data: "...), "chat.completion.chunk")
	w.tail = "}\n\n"
	if r.IncludeUsage {
		w.tail = `,"usage":null` + w.tail
	}
	return w
}

// writer is the hub.Writer that NewWriter returns.
type writer struct {
	request *hub.Request
	reply   *hub.Reply
	id      string
	// head is the text before the list of choices in every chunk, including "data: ". tail is the text after the list.
	head        []byte
	tail        string
	began       bool           // the first chunk was sent
	thought     string         // a signature waiting for the next call or text
	customCalls []freeTextCall // used only for a stream
	bytes       int64          // number of bytes of text, reasoning and arguments
	memory      reasoningRecorder
}

// frame appends the beginning of an answer or chunk: the fields id, object, created and model, and the bracket that
// opens the list of choices. object is the value of the field object.
func (w *writer) frame(dst []byte, object string) []byte {
	dst = jsontext.AppendMember(dst, `{"id":`, w.id)
	dst = jsontext.AppendAll(dst, `,"object":"`, object, `","created":`)
	dst = strconv.AppendInt(dst, w.reply.Created.Unix(), 10)
	dst = jsontext.AppendMember(dst, `,"model":`, w.request.Model)
	return append(dst, `,"choices":[`...)
}

// openChunk appends the beginning of a chunk, including the brace that opens its delta. The caller appends the fields
// of the delta.
func (w *writer) openChunk(dst []byte) []byte {
	return append(append(dst, w.head...), `{"index":0,"delta":{`...)
}

// closeChunk appends the end of a chunk begun by openChunk, with a finish_reason of null.
func (w *writer) closeChunk(dst []byte) []byte {
	return append(append(dst, `},"finish_reason":null}]`...), w.tail...)
}

// Stream implements hub.Writer.
func (w *writer) Stream(dst []byte, deltas []hub.Delta) []byte {
	if !w.began {
		w.began = true
		dst = w.closeChunk(append(w.openChunk(dst), `"role":"assistant","content":""`...))
	}
	for i := range deltas {
		w.bytes += int64(len(deltas[i].Text))
		w.memory.add(&deltas[i])
		dst = w.delta(dst, &deltas[i])
	}
	return dst
}

// delta appends the chunks for the delta d. Some deltas have no chunk.
func (w *writer) delta(dst []byte, d *hub.Delta) []byte {
	switch d.Kind {
	case hub.DeltaText:
		return w.text(dst, d)
	case hub.DeltaReasoning:
		if w.showsReasoning() {
			return w.member(dst, "reasoning_content", d.Text)
		}
	case hub.DeltaRefusal:
		return w.member(dst, "refusal", d.Text)
	case hub.DeltaCall:
		return w.call(dst, d)
	case hub.DeltaArguments:
		if c := w.custom(d.Call); c != nil { // the client gets the input at the end; beyond maxHeld bytes it is cut
			c.arguments = append(c.arguments, d.Text[:min(len(d.Text), maxHeld-len(c.arguments))]...)
			return dst
		}
		dst = append(w.openChunk(dst), `"tool_calls":[{"index":`...)
		dst = strconv.AppendInt(dst, int64(d.Call), 10)
		dst = append(append(dst, `,"function":{"arguments":"`...), d.Text...)
		return w.closeChunk(append(dst, `"}}]`...))
	case hub.DeltaState:
		return w.state(dst, &d.State)
	case hub.DeltaEnd:
		return w.end(dst, &d.End)
	}
	return dst
}

// showsReasoning reports whether the client gets the text of the reasoning.
func (w *writer) showsReasoning() bool {
	return w.request.Answer.Reasoning && !w.request.Answer.HideReasoningText
}

// member appends a chunk whose delta has a single field. name is the name of the field. text is its value, given as
// the text between the quotes of a JSON string.
func (w *writer) member(dst []byte, name string, text []byte) []byte {
	dst = append(w.openChunk(dst), '"')
	dst = append(append(append(dst, name...), `":"`...), text...)
	dst = append(dst, '"')
	return w.closeChunk(dst)
}

// text appends a chunk with d.Text as its content. The chunk also has the log probabilities in d if the client wants
// them, and the waiting thought signature if there is one.
func (w *writer) text(dst []byte, d *hub.Delta) []byte {
	if w.thought == "" && (d.Logprobs == nil || !w.request.Answer.Logprobs) {
		return w.member(dst, "content", d.Text)
	}
	dst = append(w.openChunk(dst), `"content":"`...)
	dst = append(append(dst, d.Text...), '"')
	dst = w.appendThought(dst)
	if d.Logprobs == nil || !w.request.Answer.Logprobs {
		return w.closeChunk(dst)
	}
	dst = append(dst, `},"logprobs":{"content":`...)
	dst = wire.AppendLine(dst, d.Logprobs)
	return w.closeChunk(append(dst, `,"refusal":null`...))
}

// appendThought appends a comma and the field extra_content with the waiting thought signature, and forgets the
// signature. If no signature waits, it appends nothing.
func (w *writer) appendThought(dst []byte) []byte {
	if w.thought == "" {
		return dst
	}
	dst = appendThought(append(dst, ','), w.thought)
	w.thought = ""
	return dst
}

// appendThought appends the field extra_content with Gemini's thought signature. It escapes signature.
func appendThought(dst []byte, signature string) []byte {
	dst = append(dst, `"extra_content":{"google":{"thought_signature":`...)
	return append(jsontext.AppendQuoted(dst, signature), "}}"...)
}

// call appends the chunk that begins a tool call.
func (w *writer) call(dst []byte, d *hub.Delta) []byte {
	tool := w.request.Tool(d.Name)
	dst = append(w.openChunk(dst), `"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(d.Call), 10)
	dst = w.appendCall(append(dst, ','), d.ID, &tool)
	if tool.Kind == hub.ToolCustom {
		w.customCalls = append(w.customCalls, freeTextCall{call: d.Call})
	}
	return w.closeChunk(append(dst, `"}}]`...)) // closes the empty arguments that appendCall has opened
}

// appendCall appends the fields id, type and function of a tool call. It ends after the opening quote of the arguments,
// so that the caller can append them and close the string and the objects. A free-text tool has the field custom
// instead of function, and input instead of arguments. A waiting thought signature is added.
func (w *writer) appendCall(dst []byte, id string, tool *hub.Tool) []byte {
	dst = jsontext.AppendMember(dst, `"id":`, id)
	if w.thought != "" {
		dst = w.appendThought(dst)
	}
	if tool.Kind == hub.ToolCustom {
		dst = jsontext.AppendMember(dst, `,"type":"custom","custom":{"name":`, tool.ClientName)
		return append(dst, `,"input":"`...)
	}
	dst = jsontext.AppendMember(dst, `,"type":"function","function":{"name":`, tool.ClientName)
	return append(dst, `,"arguments":"`...)
}

// state appends a chunk with s if s has the form of reasoning_details. A thought signature is stored instead, until it
// can be sent with the next call or text. State of any other form is ignored.
func (w *writer) state(dst []byte, s *hub.State) []byte {
	switch {
	case s.Data == "":
	case s.Form == hub.FormThought:
		dst = w.flushThought(dst)
		w.thought = s.Data
	case s.Form == hub.FormDetails:
		dst = append(w.openChunk(dst), `"reasoning_details":`...)
		return w.closeChunk(wire.AppendLine(dst, s.Data))
	}
	return dst
}

// flushThought appends a separate chunk with the waiting thought signature, if one waits. It is called when no call or
// text can carry the signature.
func (w *writer) flushThought(dst []byte) []byte {
	if w.thought == "" {
		return dst
	}
	dst = appendThought(w.openChunk(dst), w.thought)
	w.thought = ""
	return w.closeChunk(dst)
}

// end appends the last chunks of a stream: the input of calls of free-text tools, the finish_reason, the usage if the
// client wants it, and [DONE].
func (w *writer) end(dst []byte, end *hub.End) []byte {
	dst = w.flushThought(dst)
	for i := range w.customCalls {
		dst = append(w.openChunk(dst), `"tool_calls":[{"index":`...)
		dst = strconv.AppendInt(dst, int64(w.customCalls[i].call), 10)
		dst = append(append(dst, `,"custom":{"input":"`...), w.customCalls[i].input()...)
		dst = w.closeChunk(append(dst, `"}}]`...))
	}
	dst = append(w.openChunk(dst), `},"finish_reason":"`...)
	dst = jsontext.AppendAll(dst, finishReason(end.Finish), `"}]`, w.tail)
	if w.request.IncludeUsage {
		dst = append(append(dst, w.head...), `],"usage":`...)
		dst = append(wire.AppendUsage(dst, w.reply.Usage(w.request, &end.Usage, w.bytes)), "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Fail implements hub.Writer.
func (w *writer) Fail(dst []byte, f hub.Failure) []byte { return AppendFailure(dst, f) }

// KeepAlive implements hub.Writer. It appends a comment line, which clients ignore.
func (w *writer) KeepAlive(dst []byte) []byte { return append(dst, wire.KeepAlive...) }

// custom returns the call of a free-text tool with this index (hub.Delta.Call), or nil for any other call.
func (w *writer) custom(call int) *freeTextCall {
	for i := range w.customCalls {
		if w.customCalls[i].call == call {
			return &w.customCalls[i]
		}
	}
	return nil
}

// freeTextCall is a call of a free-text tool (type "custom"). For upstreams the tool is a function with the single
// argument input, so the text can be extracted only from complete arguments. In a stream the client gets the text at
// the end of the answer.
type freeTextCall struct {
	call      int    // hub.Delta.Call
	arguments []byte // the inside of a JSON string
}

// input returns the free text in the arguments, as the text between the quotes of a JSON string. If the arguments are
// not an object with the string input, it returns all arguments as the text.
func (c *freeTextCall) input() []byte {
	var text []byte
	found := false
	c.arguments = wire.WholeEscapes(c.arguments) // maxHeld may have cut an escape
	arguments, _ := hub.Object(c.arguments)
	s := jsontext.NewScanner(arguments)
	if s.Kind() == jsontext.Object {
		err := s.Object(func(key []byte) (err error) {
			if string(key) != "input" || s.Kind() != jsontext.String {
				return s.Skip()
			}
			found = true
			text, _, err = s.Text()
			return err
		})
		if found && err == nil && s.End() == nil {
			return bytes.Clone(text)
		}
	}
	return c.arguments
}
