package chat

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// conversationTurn is a message together with the results of its tool calls.
type conversationTurn struct {
	message hub.Message
	results []*hub.Message // by the index of the call; nil until the result arrives
	images  []hub.Part     // images in the results
}

// callPosition is the position of a tool call. turn is the index of the call's message in the list of turns, call the
// index of the call in this message.
type callPosition struct{ turn, call int }

// messages reads the list of messages into r.Messages. It moves each tool result directly after the message with its
// call, and images in results into a user message after the results.
func (r *request) messages(list fields.Value) error {
	count := 0
	err := list.Each(func(v fields.Value) error {
		count++
		m, err := r.readMessage(v)
		if err != nil {
			return err
		}
		return r.addTurn(m)
	})
	if err != nil {
		return err
	}
	if count == 0 {
		return list.Invalid("must have at least one message")
	}
	if len(r.turns) == 0 {
		return list.Invalid("must have at least one message with content")
	}
	r.Messages = make([]hub.Message, 0, count)
	for i := range r.turns {
		t := &r.turns[i]
		r.Messages = append(r.Messages, t.message)
		for _, result := range t.results {
			if result != nil {
				r.Messages = append(r.Messages, *result)
			}
		}
		if len(t.images) > 0 {
			r.Messages = append(r.Messages, hub.Message{Role: hub.User, Parts: t.images})
		}
	}
	if r.Messages[len(r.Messages)-1].Role == hub.Assistant {
		r.Needs |= wire.NeedPrefill
	}
	return nil
}

// addTurn adds m, the message in r.message, to r.turns, and the positions of its calls to r.calls. A tool result is not
// added but stored with the message that has its call, so that results may come in any order after the call. A message
// without content is left out. The error means that a result has no call, or that its call already has a result.
func (r *request) addTurn(m *hub.Message) error {
	if m.Role == hub.ToolResult {
		return r.addResult(m)
	}
	if len(m.Parts)+len(m.Calls)+len(m.Reasoning) == 0 && !hasChatOnlyContent(m) {
		return nil
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		r.calls[c.ID] = callPosition{len(r.turns), i}
		c.ID = hub.LegalName(c.ID) // the id may come from a provider whose ids other upstreams refuse
	}
	r.turns = append(r.turns, conversationTurn{message: *m, results: make([]*hub.Message, len(m.Calls))})
	return nil
}

// addResult stores m, the tool result in r.message, with the message that has its call. Most chat APIs accept only text
// in results, so images are moved into a user message after the results.
func (r *request) addResult(m *hub.Message) error {
	position, ok := r.calls[m.CallID]
	if !ok {
		return r.message.Get("tool_call_id").Invalid(
			"is %s, but no earlier assistant message has a tool call with this id", hub.Shown(m.CallID))
	}
	t := &r.turns[position.turn]
	if t.results[position.call] != nil {
		return r.message.Get("tool_call_id").Invalid("is %s, for which there already is a tool message", hub.Shown(m.CallID))
	}
	t.results[position.call] = m
	m.CallID = t.message.Calls[position.call].ID
	for i, p := range m.Parts {
		if p.Kind == hub.PartImage {
			t.images = append(t.images, p)
			m.Parts[i] = hub.Part{Kind: hub.PartText, Text: imageBelow}
		}
	}
	return nil
}

// imageBelow replaces an image in a tool result.
const imageBelow = "[image attached below]"

// The fields of a message that must not occur twice, as bits of a set.
const (
	roleField = 1 << iota
	contentField
	refusalField
	toolCallsField
	toolCallIDField
)

// readMessage reads an element of messages into r.message and returns the message.
func (r *request) readMessage(v fields.Value) (*hub.Message, error) {
	if err := r.message.Open(v); err != nil {
		return nil, err
	}
	m := &hub.Message{}
	var err error
	if m.Role, err = r.role(); err != nil {
		return nil, err
	}
	seenFields := 0 // set of the fields so far that must not occur twice
	mark := ""      // cache_control
	err = r.message.Each(func(name string, v fields.Value) (err error) {
		field := 0
		switch name {
		case "role":
			field = roleField
		case "content":
			field = contentField
			err = r.content(m, v)
		case "refusal":
			field = refusalField
			var refusal string
			refusal, err = v.Text()
			r.addText(m, hub.PartRefusal, refusal)
		case "tool_calls":
			field = toolCallsField
			err = r.toolCalls(m, v)
		case "tool_call_id":
			field = toolCallIDField
			m.CallID, err = v.Text()
		case "function_call":
			if v.Given() {
				err = v.Unsupported("is deprecated and not supported: send tool_calls instead")
			}
		case "cache_control":
			if v.IsObject() {
				mark = v.Raw
			}
		default:
			m.Extra = append(m.Extra, hub.Param{Name: name, Value: v.Raw})
		}
		if seenFields&field != 0 {
			return v.Invalid("is given twice")
		}
		seenFields |= field
		return err
	})
	if err != nil {
		return nil, err
	}
	// Clients that send content as a string put cache_control on the message. The mark means a position in the prompt,
	// the end of the message, so it is stored with the message's last part.
	if n := len(m.Parts); mark != "" && n > 0 && m.Parts[n-1].Cache == "" {
		m.Parts[n-1].Cache = mark
	}
	switch {
	case m.Role != hub.ToolResult:
		m.CallID = "" // only tool results have this field
	case m.CallID == "":
		return nil, r.message.Get("tool_call_id").Missing()
	}
	return m, nil
}

// role returns the role of the message in r.message.
func (r *request) role() (hub.Role, error) {
	word, err := r.message.Name("role")
	if err != nil {
		return 0, err
	}
	for known := hub.System; known <= hub.ToolResult; known++ {
		if known.String() == word {
			return known, nil
		}
	}
	v := r.message.Get("role")
	if word == "function" {
		return 0, v.Unsupported(
			`is "function", which is deprecated and not supported: send the role tool with tool_call_id instead`)
	}
	return 0, v.Invalid("must be one of system, developer, user, assistant, tool, it is %s", hub.Shown(word))
}

// addText appends a part with this kind and text to the parts of m, unless text is empty.
func (r *request) addText(m *hub.Message, kind hub.PartKind, text string) {
	if text != "" {
		m.Parts = append(m.Parts, hub.Part{Kind: kind, Text: text})
		r.TextBytes += int64(len(text))
	}
}

// content reads v, the field content of a message: a string or a list of parts. null counts as absent.
func (r *request) content(m *hub.Message, v fields.Value) error {
	switch {
	case v.IsArray():
		return v.Each(func(element fields.Value) error { return r.part(m, element) })
	case v.Given() && v.Type != gjson.String:
		return v.Wrong("a string or an array")
	}
	r.addText(m, hub.PartText, v.Str)
	return nil
}

// part reads a content part and adds it to m. A part of an unknown type becomes a PartOther.
func (r *request) part(m *hub.Message, v fields.Value) error {
	if v.Type == gjson.String { // some upstreams accept this too
		r.addText(m, hub.PartText, v.Str)
		return nil
	}
	kind, err := r.element.Typed(v)
	if err != nil {
		return err
	}
	part := hub.Part{Kind: hub.PartOther}
	switch kind {
	case "text":
		part.Kind = hub.PartText
		part.Text, err = r.element.Text("text")
	case "refusal":
		part.Kind = hub.PartRefusal
		part.Text, err = r.element.Text("refusal")
	case "image_url":
		r.Needs |= wire.NeedImage
		part.Kind = hub.PartImage
		err = r.image(&part)
	case "input_audio":
		r.Needs |= wire.NeedAudio
		part.Kind = hub.PartAudio
		err = r.audio(&part)
	case "file":
		r.Needs |= wire.NeedFile
		err = r.file(&part)
	case "thinking": // Mistral's, which need not be returned
		text := thinkingText(r.element.Get("thinking").Result)
		m.Reasoning = append(m.Reasoning, hub.Reasoning{Text: text, Foreign: v.Raw})
		return nil
	}
	if err == nil {
		r.addPart(m, part, v)
	}
	return err
}

// addPart appends part, which was read from v, to the parts of m, unless it is an empty text. It adds cache_control
// and, for a PartOther, the JSON text.
func (r *request) addPart(m *hub.Message, part hub.Part, v fields.Value) {
	switch part.Kind {
	case hub.PartText, hub.PartRefusal:
		if part.Text == "" {
			return
		}
	case hub.PartOther:
		part.Raw = v.Raw
	default:
	}
	if mark := r.element.Get("cache_control"); mark.IsObject() {
		part.Cache = mark.Raw
	}
	r.TextBytes += int64(len(part.Text))
	m.Parts = append(m.Parts, part)
}

// image reads the field image_url of the part in r.element into part.
func (r *request) image(part *hub.Part) (err error) {
	v := r.element.Get("image_url")
	if v.Type == gjson.String { // some upstreams accept the URL itself too
		part.URL, err = r.element.Name("image_url")
		return err
	}
	if err := r.inner.Open(v); err != nil {
		return err
	}
	if part.URL, err = r.inner.Name("url"); err != nil {
		return err
	}
	part.Detail, err = r.inner.Text("detail")
	return err
}

// audio reads the field input_audio of the part in r.element into part.
func (r *request) audio(part *hub.Part) (err error) {
	if err := r.inner.Open(r.element.Get("input_audio")); err != nil {
		return err
	}
	if part.Data, err = r.inner.Name("data"); err != nil {
		return err
	}
	part.Detail, err = r.inner.Name("format")
	return err
}

// file reads the field file of the part in r.element into part. If it contains the file's data, part becomes a
// PartFile. If it has only a file_id, which names a file in a provider's account, part stays a PartOther.
func (r *request) file(part *hub.Part) (err error) {
	if err := r.inner.Open(r.element.Get("file")); err != nil {
		return err
	}
	if data := r.inner.Get("file_data"); !data.Given() {
		_, err = r.inner.Name("file_id")
		return err
	}
	part.Kind = hub.PartFile
	if part.URL, err = r.inner.Name("file_data"); err != nil {
		return err
	}
	part.Detail, err = r.inner.Text("filename")
	return err
}

// thinkingText returns the text of a thinking part. value is the value of the part's field thinking: a string or a
// list of text parts.
func thinkingText(value gjson.Result) string {
	if !value.IsArray() {
		return value.Str
	}
	var all []byte
	value.ForEach(func(_, part gjson.Result) bool {
		if part.IsObject() {
			all = append(all, part.Get("text").Str...)
		}
		return true
	})
	return string(all)
}

// toolCalls reads v, the field tool_calls of a message.
func (r *request) toolCalls(m *hub.Message, v fields.Value) error {
	if !v.Given() {
		return nil
	}
	return v.Each(func(element fields.Value) error {
		if m.Role != hub.Assistant {
			return v.Invalid("is allowed only in messages with the role assistant")
		}
		call, err := r.toolCall(element)
		r.TextBytes += int64(len(call.Name) + len(call.Arguments))
		m.Calls = append(m.Calls, call)
		return err
	})
}

// toolCall reads an element of tool_calls.
func (r *request) toolCall(v fields.Value) (call hub.Call, err error) {
	if err := r.element.Open(v); err != nil {
		return call, err
	}
	kind := "function"
	err = r.element.Each(func(name string, v fields.Value) (err error) {
		switch name {
		case "id":
			call.ID, err = r.element.Name("id")
		case "index": // has no meaning in a request
		case "type":
			kind, err = v.Text()
		case "function":
			err = r.functionCall(&call, v)
		case "custom":
			err = r.customCall(&call, v)
		default:
			call.Extra = append(call.Extra, hub.Param{Name: name, Value: v.Raw})
		}
		return err
	})
	switch {
	case err != nil:
	case kind != "function" && kind != "custom" && kind != "":
		err = r.element.Get("type").Invalid("must be function or custom, it is %s", hub.Shown(kind))
	case call.ID == "":
		err = r.element.Get("id").Missing()
	case call.Name == "":
		err = r.element.Get("function").Missing()
	}
	if call.Arguments == "" {
		call.Arguments = "{}"
	}
	return call, err
}

// functionCall reads v, the field function of a tool call, into call.
func (r *request) functionCall(call *hub.Call, v fields.Value) error {
	if err := r.openCall(call, v); err != nil {
		return err
	}
	arguments := r.inner.Get("arguments")
	if arguments.IsObject() { // some upstreams accept this too
		call.Arguments = arguments.Raw
		return nil
	}
	var err error
	call.Arguments, err = arguments.Text()
	return err
}

// customCall reads v, the value of the field custom of a tool call, into call. The free text becomes the argument
// "input" of the call, as customSchema requires.
func (r *request) customCall(call *hub.Call, v fields.Value) error {
	if err := r.openCall(call, v); err != nil {
		return err
	}
	input, err := r.inner.Text("input")
	dst := append(make([]byte, 0, len(input)+16), `{"input":`...)
	call.Arguments = string(append(jsontext.AppendQuoted(dst, input), '}'))
	return err
}

// openCall opens v, the value of the field function or custom of a tool call, as r.inner and sets the name of call.
func (r *request) openCall(call *hub.Call, v fields.Value) error {
	if err := r.inner.Open(v); err != nil {
		return err
	}
	clientName, err := r.inner.Name("name")
	call.Name = hub.LegalName(clientName)
	return err
}
