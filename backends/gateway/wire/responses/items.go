package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// turn is a message and, for an assistant message, the results of its calls.
type turn struct {
	hub.Message
	// results are the results in the order of the calls. A zero Role means that the result is missing.
	results []hub.Message
}

// closed is the value of reader.open if the next item of the assistant begins a new turn.
const closed = -1

// input reads instructions and input, and makes the messages.
func (in *reader) input() error {
	v := in.fields.Get("instructions")
	instructions, err := v.Text()
	if err != nil {
		return err
	}
	if instructions != "" {
		in.addMessage(hub.System, in.textContent(instructions))
	}
	instructionTurns := len(in.turns)
	switch v = in.fields.Get("input"); {
	case v.Type == gjson.String:
		if v.Str != "" {
			in.addMessage(hub.User, in.textContent(v.Str))
		}
	case !v.IsArray():
		return v.Wrong("a string or an array")
	}
	for _, item := range in.items { // the elements of the array, collected by the method tools
		if err := in.readItem(item); err != nil {
			return err
		}
	}
	in.finish()
	if len(in.turns) == instructionTurns && in.r.OwnFormatError == nil {
		return v.Invalid("must have at least one message")
	}
	return nil
}

// finish converts the turns to the request's messages.
func (in *reader) finish() {
	in.r.Messages = make([]hub.Message, 0, len(in.turns)+8)
	for i := range in.turns {
		t := &in.turns[i]
		in.r.Messages = append(in.r.Messages, t.Message)
		var attached []hub.Part
		for _, result := range t.results {
			if result.Role == 0 { // the call has no result
				continue
			}
			// Most chat APIs accept only text in a tool message, so the other parts follow in a user message.
			if len(result.Parts) > 1 {
				attached = append(attached, result.Parts[1:]...)
				result.Parts = result.Parts[:1]
			}
			in.r.Messages = append(in.r.Messages, result)
		}
		if len(attached) > 0 {
			in.r.Messages = append(in.r.Messages, hub.Message{Role: hub.User, Parts: attached})
		}
	}
	if n := len(in.turns); n > 0 && in.turns[n-1].Role == hub.Assistant && len(in.turns[n-1].Calls) == 0 {
		in.r.Needs |= wire.NeedPrefill
	}
}

// textContent returns a text as a message's content, and counts the text's bytes.
func (in *reader) textContent(text string) []hub.Part {
	in.count(text)
	return []hub.Part{{Kind: hub.PartText, Text: text}}
}

// addMessage adds a user or system message. Reasoning that is not followed by an assistant item is dropped.
func (in *reader) addMessage(role hub.Role, parts []hub.Part) {
	in.turns = append(in.turns, turn{Message: hub.Message{Role: role, Parts: parts}})
	in.open, in.pending = closed, nil
}

// assistant returns the assistant's current turn, which it begins if necessary. Consecutive text, reasoning and calls
// form one message.
func (in *reader) assistant() *turn {
	if in.open == closed {
		in.open = len(in.turns)
		in.turns = append(in.turns, turn{Message: hub.Message{Role: hub.Assistant}})
	}
	t := &in.turns[in.open]
	t.Reasoning = append(t.Reasoning, in.pending...)
	in.pending = nil
	return t
}

// readItem reads an input item.
func (in *reader) readItem(v fields.Value) error {
	if err := in.item.Open(v); err != nil {
		return err
	}
	name, err := in.item.Text("type")
	if err != nil {
		return err
	}
	if name == "" {
		name = in.guessType()
	}
	switch name {
	case "message":
		return in.message()
	case "reasoning":
		return in.readReasoning()
	case "function_call", "custom_tool_call", "tool_search_call", "local_shell_call", "shell_call", "apply_patch_call":
		return in.call(name)
	case "function_call_output", "custom_tool_call_output", "tool_search_output",
		"local_shell_call_output", "shell_call_output", "apply_patch_call_output":
		return in.output(name)
	case "additional_tools": // the method tools has read the tools in the item
		return nil
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
		"computer_call", "computer_call_output",
		"compaction", "compaction_trigger", "program", "program_output":
		in.r.DropOnce(v.String())
		return nil
	case "configuration_update":
		return in.configure()
	case "item_reference":
		return v.Unsupported("refers to an item that is not stored here: send the item itself")
	}
	value := in.item.Get("type")
	if !value.Given() {
		return value.Missing()
	}
	in.r.RequireOwnFormat(value.Invalid("is %s, which is not a supported type of input item", hub.Shown(name)))
	return nil
}

// configure reads an item that changes the effort and the form of later answers. If there are several such items, the
// last one is valid.
func (in *reader) configure() error {
	reasoning, text := in.item.Get("reasoning"), in.item.Get("text")
	if reasoning.Given() {
		if err := in.inner.Open(reasoning); err != nil {
			return err
		}
		in.r.DropOnce(in.inner.Others("effort", "summary", "generate_summary")...)
		if err := in.effort(in.inner.Get("effort")); err != nil {
			return err
		}
	}
	if !text.Given() {
		return nil
	}
	if err := in.inner.Open(text); err != nil {
		return err
	}
	return in.outputFormat(in.inner.Get("format"))
}

// guessType returns the type of the input item in in.item, which does not state its type: "message" if the item has a
// role, "item_reference" if it has only an id, and otherwise an empty string.
func (in *reader) guessType() string {
	if v := in.item.Get("role"); v.Given() {
		return "message"
	}
	if v := in.item.Get("id"); v.Given() {
		return "item_reference"
	}
	return ""
}

// message reads the message in in.item. A message without content is left out.
func (in *reader) message() error {
	value := in.item.Get("role")
	name, err := value.Text()
	if err != nil {
		return err
	}
	var role hub.Role
	switch name {
	case "user":
		role = hub.User
	case "assistant":
		role = hub.Assistant
	case "system":
		role = hub.System
	case "developer":
		role = hub.Developer
	case "":
		return value.Missing()
	default:
		return value.Invalid("must be one of user, assistant, system, developer, it is %s", hub.Shown(name))
	}
	parts, err := in.content(in.item.Get("content"))
	switch {
	case err != nil || len(parts) == 0:
		return err
	case role == hub.Assistant:
		t := in.assistant()
		t.Parts = append(t.Parts, parts...)
	default:
		in.addMessage(role, parts)
	}
	return nil
}

// readReasoning reads the reasoning item in in.item. An item without encrypted_content, which is the reasoning state,
// is dropped, since no model could use it.
func (in *reader) readReasoning() error {
	token, err := in.item.Text("encrypted_content")
	if err != nil {
		return err
	}
	text, err := in.reasoningText("summary")
	if err == nil && text == "" {
		text, err = in.reasoningText("content")
	}
	if err != nil || token == "" {
		return err
	}
	reasoning := hub.Reasoning{Text: text}
	state, isToken := in.options.Token(token)
	switch {
	case isToken:
		reasoning.State = &state
	case strings.HasPrefix(token, hub.TokenPrefix):
		return nil // a token that was changed or belongs to another user is useless to every vendor
	default:
		reasoning.Foreign = token
	}
	in.pending = append(in.pending, reasoning)
	return nil
}

// reasoningText returns a reasoning text of in.item. The item's field with the given name is an array of parts, whose
// texts are joined to one text. The result is empty if the field is absent.
func (in *reader) reasoningText(name string) (string, error) {
	v := in.item.Get(name)
	if !v.Given() {
		return "", nil
	}
	text := ""
	err := v.Each(func(element fields.Value) error {
		if err := in.part.Open(element); err != nil {
			return err
		}
		piece, err := in.part.Text("text")
		if text != "" && piece != "" {
			text += "\n\n"
		}
		text += piece
		return err
	})
	return text, err
}
