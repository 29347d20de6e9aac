package messages

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// conversation reads the messages and puts the results of tools after the message that calls them.
func (r *reader) conversation(f *fields) error {
	if !f.messages.IsArray() {
		return wrongKind("messages", "an array", f.messages)
	}
	if err := each(f.messages, "messages", r.message); err != nil {
		return err
	}
	if r.unanswered != nil {
		return r.unanswered
	}
	q := r.request
	all, asked := r.turns.Messages()
	q.Messages = all
	if !asked {
		return invalid("messages", "must have at least one user message with content")
	}
	return nil
}

// message reads one message, whose JSON path is at.
func (r *reader) message(v gjson.Result, at string) error {
	if !v.IsObject() {
		return wrongKind(at, "an object", v)
	}
	var roleValue, content, clear, config gjson.Result
	jsontext.Members(v, func(key string, v gjson.Result) bool {
		switch key {
		case "role":
			roleValue = v
		case "content":
			content = v
		case "clear_at":
			clear = v
		case "output_config":
			config = v
		}
		return true
	})
	role, err := text(roleValue, at+".role")
	if err != nil {
		return err
	}
	if role == "system" { // it stays in its place (specification 4.2)
		return r.inserted(content, clear, config, at)
	}
	at += ".content"
	switch role {
	case "user":
		return r.user(content, at)
	case "assistant":
		return r.assistant(content, at)
	}
	return invalid(at[:len(at)-len("content")]+"role", "must be one of user, assistant, system, it is %s", hub.Shown(role))
}

// inserted reads a system message among the others. It may set the effort of one turn, which has no place elsewhere,
// and it may apply only until the next message of the user.
func (r *reader) inserted(content, clear, config gjson.Result, at string) error {
	configured, err := optionalObject(config, at+".output_config")
	if err != nil {
		return err
	}
	if configured {
		r.drop("messages[].output_config")
		if !given(content) {
			return nil
		}
	}
	parts, err := r.prose(content, at+".content", true)
	if err != nil {
		return err
	}
	until, err := optionalText(clear, at+".clear_at")
	if until == "next_user_message" && len(parts) > 0 {
		r.passing = append(r.passing, r.turns.Len())
	}
	r.instruct(parts)
	return err
}

// user reads the content of a message of the user, and removes the messages that applied only until then.
func (r *reader) user(content gjson.Result, at string) error {
	for _, i := range r.passing {
		r.turns.Remove(i)
	}
	r.passing = r.passing[:0]
	m := hub.Message{Role: hub.User}
	err := r.blocks(content, at, &m, r.userBlock)
	if err == nil && len(m.Parts) > 0 {
		r.turns.Add(m)
	}
	return err
}

// assistant reads the content of a message of the assistant.
func (r *reader) assistant(content gjson.Result, at string) error {
	r.unanswered, r.thought = nil, nil
	m := hub.Message{Role: hub.Assistant}
	if err := r.blocks(content, at, &m, r.assistantBlock); err != nil {
		return err
	}
	if len(m.Parts) > 0 || len(m.Calls) > 0 {
		r.turns.Add(m)
	}
	return nil
}

// blocks reads content, which is a text or an array of blocks.
func (r *reader) blocks(content gjson.Result, at string, m *hub.Message, read func(*hub.Message, *block) error) error {
	switch {
	case content.Type == gjson.String:
		m.Parts = hub.AppendText(m.Parts, content.Str, "")
		return nil
	case !content.IsArray():
		return wrongKind(at, "a string or an array", content)
	}
	var b block // one for all blocks, since it is large
	return each(content, at, func(v gjson.Result, at string) error {
		b = block{}
		if err := b.read(v, at); err != nil {
			return err
		}
		return read(m, &b)
	})
}

// call reads a tool_use block.
func (r *reader) call(m *hub.Message, b *block) error {
	id, err := name(b.id, b.at+".id")
	if err != nil {
		return err
	}
	own, err := name(b.name, b.at+".name")
	if err != nil {
		return err
	}
	arguments := "{}"
	if ok, err := optionalObject(b.input, b.at+".input"); err != nil {
		return err
	} else if ok {
		arguments = jsontext.Compact(b.input.Raw)
	}
	if !r.turns.Call(m, id, hub.Call{Name: hub.LegalName(own), Arguments: arguments, State: r.thought}) {
		return invalid(b.at+".id", "is the id of another tool_use of this message already: %s", hub.Shown(id))
	}
	r.thought = nil
	return nil
}
