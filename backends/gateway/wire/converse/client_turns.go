package converse

import (
	"encoding/base64"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// conversation reads the list of messages. Each tool result is moved directly after the message with its call. A
// request without a user message is an error.
func (in *clientReader) conversation(o *fields.Object) error {
	list := o.Get("messages")
	if err := list.Each(in.message); err != nil {
		return err
	}
	messages, hasUser := in.turns.Messages()
	if !hasUser {
		return list.Invalid("must have at least one user message with content")
	}
	in.q.Messages = messages
	return nil
}

// message reads an element of the list of messages and adds it to in.turns, unless it has no content.
func (in *clientReader) message(v fields.Value) error {
	var o fields.Object
	if err := o.Open(v); err != nil {
		return err
	}
	role, err := o.Name("role")
	if err != nil {
		return err
	}
	m := hub.Message{Role: hub.User}
	read := in.userBlock
	switch role {
	case "user":
	case "assistant":
		m.Role, read, in.thought = hub.Assistant, in.assistantBlock, nil
	default:
		return o.Get("role").Invalid("must be one of user, assistant, it is %s", hub.Shown(role))
	}
	in.q.DropOnce(o.Others("role", "content")...)
	content := o.Get("content")
	var mark *string // where to store a cache mark of the previous block; nil if the block cannot have one
	err = content.Each(func(v fields.Value) error {
		var block fields.Object
		if err := block.Open(v); err != nil {
			return err
		}
		if point := block.Get("cachePoint"); point.Given() {
			return in.cachePoint(&block, mark)
		}
		mark, err = read(&m, &block)
		return err
	})
	if err == nil && (len(m.Parts) > 0 || len(m.Calls) > 0) {
		in.turns.Add(m)
	}
	return err
}

// cachePoint reads a cachePoint block and stores the cache mark in *mark, the mark of the part before the block. If
// mark is nil, nothing before the block can have a mark, and the cache point is recorded as dropped.
func (in *clientReader) cachePoint(block *fields.Object, mark *string) error {
	text, err := cacheMark(block)
	if mark == nil {
		in.q.DropOnce("messages[].content[].cachePoint")
		return err
	}
	*mark = text
	return err
}

// lastMark returns a pointer to the cache mark of the last part, or nil if parts is empty.
func lastMark(parts []hub.Part) *string {
	if len(parts) == 0 {
		return nil
	}
	return &parts[len(parts)-1].Cache
}

// userBlock reads a block of a user message and adds its content to m. A cache point that follows the block is to be
// stored in *mark. mark is nil if the block cannot have a cache mark.
func (in *clientReader) userBlock(m *hub.Message, block *fields.Object) (mark *string, err error) {
	if v := block.Get("toolResult"); v.Given() {
		return in.result(v)
	}
	parts, err := in.content(block)
	m.Parts = append(m.Parts, parts...)
	if len(parts) == 0 {
		return nil, err
	}
	return lastMark(m.Parts), err
}

// assistantBlock reads a block of an assistant message and adds its content to m. A cache point that follows the block
// is to be stored in *mark. mark is nil if the block cannot have a cache mark.
func (in *clientReader) assistantBlock(m *hub.Message, block *fields.Object) (mark *string, err error) {
	if v := block.Get("toolUse"); v.Given() {
		return nil, in.call(m, v)
	}
	if v := block.Get("reasoningContent"); v.Given() {
		return nil, in.reasoning(m, v)
	}
	text := ""
	if v := block.Get("citationsContent"); v.Given() {
		text, err = in.cited(v)
	} else if v := block.Get("text"); v.Given() {
		text, err = v.Text()
	} else {
		err = unknown(block, "text, toolUse, reasoningContent, citationsContent, cachePoint")
	}
	oldLen := len(m.Parts)
	m.Parts = hub.AppendText(m.Parts, text, "")
	if len(m.Parts) == oldLen {
		return nil, err
	}
	return lastMark(m.Parts), err
}

// unknown returns the error with status 400 for a block of a type that is not allowed. kinds lists the allowed types
// for the message.
func unknown(block *fields.Object, kinds string) error {
	kind := "nothing"
	if len(block.Members) > 0 {
		kind = hub.Shown(block.Members[0].Name)
	}
	return hub.Fault("invalid_value", block.String(), "must have one of %s, it has %s", kinds, kind)
}

// cited returns the text of v, a citationsContent block. The citations are left out and recorded as dropped.
func (in *clientReader) cited(v fields.Value) (string, error) {
	var o fields.Object
	if err := o.Open(v); err != nil {
		return "", err
	}
	if citations := o.Get("citations"); citations.Get("0").Exists() {
		in.q.DropOnce("messages[].content[].citationsContent.citations")
	}
	text := ""
	list := o.Get("content")
	err := list.Each(func(v fields.Value) error {
		var piece fields.Object
		if err := piece.Open(v); err != nil {
			return err
		}
		pieceText, err := piece.Text("text")
		text += pieceText
		return err
	})
	return text, err
}

// call reads v, a toolUse block, and adds the call to m.
func (in *clientReader) call(m *hub.Message, v fields.Value) error {
	var o fields.Object
	if err := o.Open(v); err != nil {
		return err
	}
	id, err := o.Name("toolUseId")
	if err != nil {
		return err
	}
	clientName, err := o.Name("name")
	if err != nil {
		return err
	}
	arguments := "{}"
	if input := o.Get("input"); input.Given() {
		if err := input.Object(); err != nil {
			return err
		}
		arguments = jsontext.Compact(input.Raw)
	}
	if kind := o.Get("type"); kind.Given() {
		return kind.Unsupported("is not supported, because only the client runs tools: leave it out")
	}
	if !in.turns.Call(m, id, hub.Call{Name: hub.LegalName(clientName), Arguments: arguments, State: in.thought}) {
		return o.Get("toolUseId").Invalid("is %s, which is also the id of an earlier toolUse block of this message",
			hub.Shown(id))
	}
	in.thought = nil
	return nil
}

// reasoning reads v, a reasoningContent block, and adds the reasoning to m. If the block came from the gateway, its
// signature or redacted content is a token with the provider's reasoning state.
func (in *clientReader) reasoning(m *hub.Message, v fields.Value) error {
	var o, inner fields.Object
	if err := o.Open(v); err != nil {
		return err
	}
	if text := o.Get("reasoningText"); text.Given() {
		if err := inner.Open(text); err != nil {
			return err
		}
		summary, err := inner.Text("text")
		if err != nil {
			return err
		}
		signature, err := inner.Text("signature")
		in.addReasoning(m, summary, signature)
		return err
	}
	redacted := o.Get("redactedContent")
	if sdkForm := o.Get("redactedReasoning"); sdkForm.Given() { // the form in which SDKs return redactedContent
		if err := inner.Open(sdkForm); err != nil {
			return err
		}
		redacted = inner.Get("data")
	}
	if !redacted.Given() {
		return unknown(&o, "reasoningText, redactedContent")
	}
	data, err := redacted.Text()
	if decoded, decodeErr := base64.StdEncoding.DecodeString(data); decodeErr == nil {
		if _, isToken := in.options.Token(string(decoded)); isToken { // clientWriter has encoded the token
			data = string(decoded)
		}
	}
	in.addReasoning(m, "", data)
	return err
}

// addReasoning adds reasoning with the given text to m. token is the block's signature or redacted content. If it is a
// token of the gateway, the reasoning gets the state in the token. Otherwise token is stored in Reasoning.Foreign.
func (in *clientReader) addReasoning(m *hub.Message, text, token string) {
	reasoning := hub.Reasoning{Text: text}
	if state, isToken := in.options.Token(token); isToken {
		reasoning.State = &state
		if state.Form == hub.FormThought {
			in.thought = reasoning.State
		}
	} else {
		reasoning.Foreign = token
	}
	m.Reasoning = append(m.Reasoning, reasoning)
}

// result reads v, a toolResult block, and adds the result to the call's results in in.turns. A cache point that follows
// the block is to be stored in *mark. An error has status 400, for example for a result without a call.
func (in *clientReader) result(v fields.Value) (mark *string, err error) {
	var o fields.Object
	if err := o.Open(v); err != nil {
		return nil, err
	}
	id, err := o.Name("toolUseId")
	if err != nil {
		return nil, err
	}
	value := o.Get("toolUseId")
	switch known, waits := in.turns.Waits(id); {
	case !known:
		return nil, value.Invalid("is %s, but no earlier toolUse block has this id", hub.Shown(id))
	case !waits:
		return nil, value.Invalid("is %s, for which there already is a toolResult", hub.Shown(id))
	}
	status, err := o.Text("status")
	if err != nil {
		return nil, err
	}
	joined := hub.Joiner{Separator: "\n"}
	var attached []hub.Part
	content := o.Get("content")
	err = content.Each(func(v fields.Value) error {
		parts, err := in.resultBlock(v)
		for _, p := range parts {
			switch p.Kind {
			case hub.PartText:
				joined.Add(p.Text, "")
				continue
			case hub.PartImage:
				joined.Add("[image attached below]", "")
			default:
				joined.Add("[document attached below]", "")
			}
			attached = append(attached, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	parts := in.turns.Result(id, joined.End(""), status == "error", attached)
	return lastMark(parts), nil
}

// resultBlock reads v, a content block of a tool result, and returns it as parts. A json block becomes a text part with
// the JSON.
func (in *clientReader) resultBlock(v fields.Value) ([]hub.Part, error) {
	var block fields.Object
	if err := block.Open(v); err != nil {
		return nil, err
	}
	if value := block.Get("json"); value.Given() {
		return hub.AppendText(nil, jsontext.Compact(value.Raw), ""), nil
	}
	return in.content(&block)
}
