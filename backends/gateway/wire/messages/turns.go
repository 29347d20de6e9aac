package messages

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// conversation reads the messages and moves tool results directly after the message with their calls.
func (r *reader) conversation() error {
	list := r.top.Get("messages")
	if err := list.Each(r.readMessage); err != nil {
		return err
	}
	if r.lastTurnError != nil {
		return r.lastTurnError
	}
	messages, hasUser := r.turns.Messages()
	r.request.Messages = messages
	if !hasUser {
		return list.Invalid("must have at least one user message with content")
	}
	return nil
}

// readMessage reads one message.
func (r *reader) readMessage(v fields.Value) error {
	if err := r.message.Open(v); err != nil {
		return err
	}
	role, err := r.message.Required("role")
	if err != nil {
		return err
	}
	content := r.message.Get("content")
	switch role {
	case "system": // the message stays at its position
		return r.systemMessage(content)
	case "user":
		return r.user(content)
	case "assistant":
		return r.assistant(content)
	}
	return r.message.Get("role").Invalid("must be one of user, assistant, system, it is %s", hub.Shown(role))
}

// systemMessage reads the system message in r.message, which comes between other messages. Its output_config, which
// sets the effort of one turn, is dropped, since no other format can express it. If clear_at is "next_user_message",
// the message applies only until the next user message.
func (r *reader) systemMessage(content fields.Value) error {
	if config := r.message.Get("output_config"); config.Given() {
		if err := config.Object(); err != nil {
			return err
		}
		r.request.DropOnce("messages[].output_config")
		if !content.Given() {
			return nil
		}
	}
	parts, err := r.textParts(content, true)
	if err != nil {
		return err
	}
	clearAt, err := r.message.Text("clear_at")
	if clearAt == "next_user_message" && len(parts) > 0 {
		r.temporary = append(r.temporary, r.turns.Len())
	}
	r.addSystem(parts)
	return err
}

// user reads the content of a user message, and removes the temporary system messages before it.
func (r *reader) user(content fields.Value) error {
	for _, i := range r.temporary {
		r.turns.Remove(i)
	}
	r.temporary = r.temporary[:0]
	m := hub.Message{Role: hub.User}
	err := r.blocks(content, &m, r.userBlock)
	if err == nil && len(m.Parts) > 0 {
		r.turns.Add(m)
	}
	return err
}

// assistant reads the content of an assistant message.
func (r *reader) assistant(content fields.Value) error {
	r.lastTurnError, r.thought = nil, nil
	m := hub.Message{Role: hub.Assistant}
	if err := r.blocks(content, &m, r.assistantBlock); err != nil {
		return err
	}
	if len(m.Parts) > 0 || len(m.Calls) > 0 {
		r.turns.Add(m)
	}
	return nil
}

// blocks reads the content of a message, which is a text or an array of blocks, and calls read for each block.
func (r *reader) blocks(content fields.Value, m *hub.Message, read func(*hub.Message, *block) error) error {
	switch {
	case content.Type == gjson.String:
		m.Parts = hub.AppendText(m.Parts, content.Str, "")
		return nil
	case !content.IsArray():
		return content.Wrong("a string or an array")
	}
	return content.Each(func(v fields.Value) error {
		if err := r.block.read(v); err != nil {
			return err
		}
		return read(m, &r.block)
	})
}

// call reads the tool_use block b and adds the call to m.
func (r *reader) call(m *hub.Message, b *block) error {
	id, err := name(b.Get("id"))
	if err != nil {
		return err
	}
	clientName, err := name(b.Get("name"))
	if err != nil {
		return err
	}
	arguments := "{}"
	if input := b.Get("input"); input.Given() {
		if err := input.Object(); err != nil {
			return err
		}
		arguments = jsontext.Compact(input.Raw)
	}
	if !r.turns.Call(m, id, hub.Call{Name: hub.LegalName(clientName), Arguments: arguments, State: r.thought}) {
		return b.Get("id").Invalid("is %s, which is also the id of an earlier tool_use block of this message", hub.Shown(id))
	}
	r.thought = nil
	return nil
}
