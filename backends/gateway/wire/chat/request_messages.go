package chat

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxMembers limits the number of fields, in a message or a tool call, that only the chat format knows.
const maxMembers = 64

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
func (r *request) messages(value gjson.Result) error {
	if !value.IsArray() {
		return wrongType("messages", "an array", value)
	}
	var turns []conversationTurn
	calls := make(map[string]callPosition)
	count := 0
	err := elements(value, func(i int, value gjson.Result) error {
		count++
		m, err := r.message(value)
		if err == nil {
			turns, err = addTurn(turns, calls, m)
		}
		return prefixPath(err, "messages[%d]", i)
	})
	if err != nil {
		return err
	}
	if count == 0 {
		return invalid("messages", "must have at least one message")
	}
	if len(turns) == 0 {
		return invalid("messages", "must have at least one message with content")
	}
	r.Messages = make([]hub.Message, 0, count)
	for i := range turns {
		t := &turns[i]
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

// addTurn appends m to turns and returns the new list. A tool result is not appended but stored with the message that
// has its call, so that results may come in any order after the call. A message without content is left out. calls maps
// the client's call ids to the positions of the calls, and addTurn adds the calls of m. The error is a fault: a result
// has no call, or its call already has a result.
func addTurn(turns []conversationTurn, calls map[string]callPosition, m *hub.Message) ([]conversationTurn, error) {
	if m.Role != hub.ToolResult {
		if len(m.Parts)+len(m.Calls)+len(m.Reasoning) == 0 && !hasChatOnlyContent(m) {
			return turns, nil
		}
		for i := range m.Calls {
			c := &m.Calls[i]
			calls[c.ID] = callPosition{len(turns), i}
			c.ID = hub.LegalName(c.ID) // the id may come from a provider whose ids other upstreams refuse
		}
		return append(turns, conversationTurn{message: *m, results: make([]*hub.Message, len(m.Calls))}), nil
	}
	position, ok := calls[m.CallID]
	if !ok {
		return nil, invalid("tool_call_id", "is %s, but no earlier assistant message has a tool call with this id",
			quote(m.CallID))
	}
	t := &turns[position.turn]
	if t.results[position.call] != nil {
		return nil, invalid("tool_call_id", "is %s, for which there already is a tool message", quote(m.CallID))
	}
	t.results[position.call] = m
	m.CallID = t.message.Calls[position.call].ID
	// Most chat APIs accept only text in results, so images are moved into a user message after the results.
	texts := m.Parts[:0]
	for _, p := range m.Parts {
		if p.Kind == hub.PartImage {
			t.images = append(t.images, p)
			p = hub.Part{Kind: hub.PartText, Text: imageBelow}
		}
		texts = append(texts, p)
	}
	m.Parts = texts
	return turns, nil
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

// message reads an element of messages.
func (r *request) message(value gjson.Result) (*hub.Message, error) {
	if !value.IsObject() {
		return nil, wrongType("", "an object", value)
	}
	m := &hub.Message{}
	var err error
	if m.Role, err = role(value.Get("role")); err != nil {
		return nil, err
	}
	seenFields := 0 // set of the fields so far that must not occur twice
	mark := ""      // cache_control
	err = each(value, func(key string, value gjson.Result) (err error) {
		field := 0
		switch key {
		case "role":
			field = roleField
		case "content":
			field = contentField
			err = r.content(m, value)
		case "refusal":
			field = refusalField
			var refusal string
			refusal, err = text(key, value)
			r.addText(m, hub.PartRefusal, refusal)
		case "tool_calls":
			field = toolCallsField
			err = r.toolCalls(m, value)
		case "tool_call_id":
			field = toolCallIDField
			m.CallID, err = text(key, value)
		case "function_call":
			if value.Type != gjson.Null {
				err = unsupported(key, "is deprecated and not supported: send tool_calls instead")
			}
		case "cache_control":
			if value.IsObject() {
				mark = value.Raw
			}
		default:
			if len(m.Extra) == maxMembers {
				return invalid("", "has more than %d fields", maxMembers)
			}
			m.Extra = append(m.Extra, hub.Param{Name: key, Value: value.Raw})
		}
		if seenFields&field != 0 {
			return invalid(key, "is given twice")
		}
		seenFields |= field
		return err
	})
	// Clients that send content as a string put cache_control on the message. The mark means a position in the prompt,
	// the end of the message, so it is stored with the message's last part.
	if n := len(m.Parts); mark != "" && n > 0 && m.Parts[n-1].Cache == "" {
		m.Parts[n-1].Cache = mark
	}
	switch {
	case err != nil:
	case m.Role != hub.ToolResult:
		m.CallID = "" // only tool results have this field
	case m.CallID == "":
		err = missing("tool_call_id")
	}
	return m, err
}

// role returns the role with the name in value.
func role(value gjson.Result) (hub.Role, error) {
	word, err := name("role", value)
	if err != nil {
		return 0, err
	}
	for known := hub.System; known <= hub.ToolResult; known++ {
		if known.String() == word {
			return known, nil
		}
	}
	if word == "function" {
		return 0, unsupported("role",
			`is "function", which is deprecated and not supported: send the role tool with tool_call_id instead`)
	}
	return 0, invalid("role", "must be one of system, developer, user, assistant, tool, it is %s", quote(word))
}

// addText appends a part with this kind and text to the parts of m, unless text is empty.
func (r *request) addText(m *hub.Message, kind hub.PartKind, text string) {
	if text != "" {
		m.Parts = append(m.Parts, hub.Part{Kind: kind, Text: text})
		r.TextBytes += int64(len(text))
	}
}

// content reads the field content of a message: a string or a list of parts. null counts as absent.
func (r *request) content(m *hub.Message, value gjson.Result) error {
	if value.IsArray() {
		return elements(value, func(i int, value gjson.Result) error {
			return prefixPath(r.part(m, value), "content[%d]", i)
		})
	}
	if value.Type != gjson.String && value.Type != gjson.Null {
		return wrongType("content", "a string or an array", value)
	}
	r.addText(m, hub.PartText, value.Str)
	return nil
}

// part reads a content part and adds it to m. A part of an unknown type becomes a PartOther.
func (r *request) part(m *hub.Message, value gjson.Result) error {
	if value.Type == gjson.String { // some upstreams accept this too
		r.addText(m, hub.PartText, value.Str)
		return nil
	}
	if !value.IsObject() {
		return wrongType("", "an object", value)
	}
	kind, err := name("type", value.Get("type"))
	if err != nil {
		return err
	}
	part := hub.Part{Kind: hub.PartOther}
	switch kind {
	case "text":
		part.Kind = hub.PartText
		part.Text, err = text("text", value.Get("text"))
	case "refusal":
		part.Kind = hub.PartRefusal
		part.Text, err = text("refusal", value.Get("refusal"))
	case "image_url":
		r.Needs |= wire.NeedImage
		part.Kind = hub.PartImage
		err = image(&part, value.Get("image_url"))
	case "input_audio":
		r.Needs |= wire.NeedAudio
		part.Kind = hub.PartAudio
		err = audio(&part, value.Get("input_audio"))
	case "file":
		r.Needs |= wire.NeedFile
		err = file(&part, value.Get("file"))
	case "thinking": // Mistral's, which need not be returned
		m.Reasoning = append(m.Reasoning, hub.Reasoning{Text: thinkingText(value.Get("thinking")), Foreign: value.Raw})
		return nil
	}
	if err == nil {
		r.addPart(m, part, value)
	}
	return err
}

// addPart appends part to the parts of m, unless it is an empty text. value is the client's JSON of the part, from
// which addPart takes cache_control.
func (r *request) addPart(m *hub.Message, part hub.Part, value gjson.Result) {
	if (part.Kind == hub.PartText || part.Kind == hub.PartRefusal) && part.Text == "" {
		return
	}
	if part.Kind == hub.PartOther {
		part.Raw = value.Raw
	}
	if mark := value.Get("cache_control"); mark.IsObject() {
		part.Cache = mark.Raw
	}
	r.TextBytes += int64(len(part.Text))
	m.Parts = append(m.Parts, part)
}

// image reads value, the object in the field image_url, into part.
func image(part *hub.Part, value gjson.Result) (err error) {
	if value.Type == gjson.String { // some upstreams accept the URL itself too
		part.URL, err = name("image_url", value)
		return err
	}
	if !value.IsObject() {
		return wrongType("image_url", "an object", value)
	}
	if part.URL, err = name("image_url.url", value.Get("url")); err != nil {
		return err
	}
	part.Detail, err = text("image_url.detail", value.Get("detail"))
	return err
}

// audio reads value, the object in the field input_audio, into part.
func audio(part *hub.Part, value gjson.Result) (err error) {
	if !value.IsObject() {
		return wrongType("input_audio", "an object", value)
	}
	if part.Data, err = name("input_audio.data", value.Get("data")); err != nil {
		return err
	}
	part.Detail, err = name("input_audio.format", value.Get("format"))
	return err
}

// file reads value, the object in the field file, into part. If the object contains the file's data, part becomes a
// PartFile. An object with only a file_id names a file in a provider's account, and part stays a PartOther.
func file(part *hub.Part, value gjson.Result) (err error) {
	if !value.IsObject() {
		return wrongType("file", "an object", value)
	}
	data := value.Get("file_data")
	if data.Type == gjson.Null {
		_, err = name("file.file_id", value.Get("file_id"))
		return err
	}
	part.Kind = hub.PartFile
	if part.URL, err = name("file.file_data", data); err != nil {
		return err
	}
	part.Detail, err = text("file.filename", value.Get("filename"))
	return err
}

// thinkingText returns the text in value, which is the value of the field thinking in a thinking part. value is a
// string or a list of text parts.
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

// toolCalls reads the field tool_calls of a message.
func (r *request) toolCalls(m *hub.Message, value gjson.Result) error {
	switch {
	case value.Type == gjson.Null:
		return nil
	case !value.IsArray():
		return wrongType("tool_calls", "an array", value)
	case m.Role != hub.Assistant && len(value.Raw) > 0 && value.Get("0").Exists():
		return invalid("tool_calls", "is allowed only in messages with the role assistant")
	}
	return elements(value, func(i int, value gjson.Result) error {
		call, err := toolCall(value)
		r.TextBytes += int64(len(call.Name) + len(call.Arguments))
		m.Calls = append(m.Calls, call)
		return prefixPath(err, "tool_calls[%d]", i)
	})
}

// toolCall reads an element of tool_calls.
func toolCall(value gjson.Result) (call hub.Call, err error) {
	if !value.IsObject() {
		return call, wrongType("", "an object", value)
	}
	kind := "function"
	err = each(value, func(key string, value gjson.Result) (err error) {
		switch key {
		case "id":
			call.ID, err = name(key, value)
		case "index":
		case "type":
			kind, err = text(key, value)
		case "function":
			err = prefixPath(functionCall(&call, value), "%s", key)
		case "custom":
			err = prefixPath(customCall(&call, value), "%s", key)
		default:
			if len(call.Extra) == maxMembers {
				return invalid("", "has more than %d fields", maxMembers)
			}
			call.Extra = append(call.Extra, hub.Param{Name: key, Value: value.Raw})
		}
		return err
	})
	switch {
	case err != nil:
	case kind != "function" && kind != "custom" && kind != "":
		err = invalid("type", "must be function or custom, it is %s", quote(kind))
	case call.ID == "":
		err = missing("id")
	case call.Name == "":
		err = missing("function.name")
	}
	if call.Arguments == "" {
		call.Arguments = "{}"
	}
	return call, err
}

// functionCall reads value, the object in the field function of a tool call, into call.
func functionCall(call *hub.Call, value gjson.Result) error {
	if !value.IsObject() {
		return wrongType("", "an object", value)
	}
	clientName, err := name("name", value.Get("name"))
	if err != nil {
		return err
	}
	call.Name = hub.LegalName(clientName)
	arguments := value.Get("arguments")
	if arguments.IsObject() { // some upstreams accept this too
		call.Arguments = arguments.Raw
		return nil
	}
	call.Arguments, err = text("arguments", arguments)
	return err
}

// customCall reads value, the object in the field custom of a tool call, into call. The free text becomes the argument
// input, as in customSchema.
func customCall(call *hub.Call, value gjson.Result) error {
	if !value.IsObject() {
		return wrongType("", "an object", value)
	}
	clientName, err := name("name", value.Get("name"))
	if err != nil {
		return err
	}
	call.Name = hub.LegalName(clientName)
	input, err := text("input", value.Get("input"))
	dst := append(make([]byte, 0, len(input)+16), `{"input":`...)
	call.Arguments = string(append(jsontext.AppendQuoted(dst, input), '}'))
	return err
}
