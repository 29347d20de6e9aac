package messages

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// conversation reads the messages and moves tool results directly after the message with their calls.
func (r *reader) conversation(f *fields) error {
	if !f.messages.IsArray() {
		return wrongKind("messages", "an array", f.messages)
	}
	if err := each(f.messages, "messages", r.message); err != nil {
		return err
	}
	if r.lastTurnError != nil {
		return r.lastTurnError
	}
	messages, hasUser := r.turns.Messages()
	r.request.Messages = messages
	if !hasUser {
		return invalid("messages", "must have at least one user message with content")
	}
	return nil
}

// message reads one message, whose JSON path is path.
func (r *reader) message(v gjson.Result, path string) error {
	if !v.IsObject() {
		return wrongKind(path, "an object", v)
	}
	var roleValue, content, clearAt, outputConfig gjson.Result
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		switch key {
		case "role":
			roleValue = v
		case "content":
			content = v
		case "clear_at":
			clearAt = v
		case "output_config":
			outputConfig = v
		}
		return true
	})
	role, err := text(roleValue, path+".role")
	if err != nil {
		return err
	}
	switch role {
	case "system": // the message stays at its position
		return r.systemMessage(content, clearAt, outputConfig, path)
	case "user":
		return r.user(content, path+".content")
	case "assistant":
		return r.assistant(content, path+".content")
	}
	return invalid(path+".role", "must be one of user, assistant, system, it is %s", hub.Shown(role))
}

// systemMessage reads a system message between other messages. Its output_config, which sets the effort of one turn, is
// dropped, since no other format can express it. If clearAt is "next_user_message", the message applies only until the
// next user message.
func (r *reader) systemMessage(content, clearAt, outputConfig gjson.Result, path string) error {
	hasConfig, err := optionalObject(outputConfig, path+".output_config")
	if err != nil {
		return err
	}
	if hasConfig {
		r.drop("messages[].output_config")
		if !isPresent(content) {
			return nil
		}
	}
	parts, err := r.textParts(content, path+".content", true)
	if err != nil {
		return err
	}
	until, err := optionalText(clearAt, path+".clear_at")
	if until == "next_user_message" && len(parts) > 0 {
		r.temporary = append(r.temporary, r.turns.Len())
	}
	r.addSystem(parts)
	return err
}

// user reads the content of a user message, and removes the temporary system messages before it.
func (r *reader) user(content gjson.Result, path string) error {
	for _, i := range r.temporary {
		r.turns.Remove(i)
	}
	r.temporary = r.temporary[:0]
	m := hub.Message{Role: hub.User}
	err := r.blocks(content, path, &m, r.userBlock)
	if err == nil && len(m.Parts) > 0 {
		r.turns.Add(m)
	}
	return err
}

// assistant reads the content of an assistant message.
func (r *reader) assistant(content gjson.Result, path string) error {
	r.lastTurnError, r.thought = nil, nil
	m := hub.Message{Role: hub.Assistant}
	if err := r.blocks(content, path, &m, r.assistantBlock); err != nil {
		return err
	}
	if len(m.Parts) > 0 || len(m.Calls) > 0 {
		r.turns.Add(m)
	}
	return nil
}

// blocks reads the content of a message, which is a text or an array of blocks, and calls read for each block.
func (r *reader) blocks(
	content gjson.Result, path string, m *hub.Message, read func(*hub.Message, *block) error,
) error {
	switch {
	case content.Type == gjson.String:
		m.Parts = hub.AppendText(m.Parts, content.Str, "")
		return nil
	case !content.IsArray():
		return wrongKind(path, "a string or an array", content)
	}
	var b block // shared by all blocks, since it is large
	return each(content, path, func(v gjson.Result, path string) error {
		b = block{}
		if err := b.read(v, path); err != nil {
			return err
		}
		return read(m, &b)
	})
}

// call reads the tool_use block b and adds the call to m.
func (r *reader) call(m *hub.Message, b *block) error {
	id, err := name(b.id, b.path+".id")
	if err != nil {
		return err
	}
	clientName, err := name(b.name, b.path+".name")
	if err != nil {
		return err
	}
	arguments := "{}"
	if ok, err := optionalObject(b.input, b.path+".input"); err != nil {
		return err
	} else if ok {
		arguments = jsontext.Compact(b.input.Raw)
	}
	if !r.turns.Call(m, id, hub.Call{Name: hub.LegalName(clientName), Arguments: arguments, State: r.thought}) {
		return invalid(b.path+".id", "is %s, which is also the id of an earlier tool_use block of this message",
			hub.Shown(id))
	}
	r.thought = nil
	return nil
}
