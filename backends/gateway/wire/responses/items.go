package responses

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// turn is a message and, if it is the assistant's, the results of its calls.
type turn struct {
	hub.Message
	// results are in the order of the calls. A zero Role means that there is none yet.
	results []hub.Message
}

// closed is the value of reader.open if the next words of the assistant begin a new turn.
const closed = -1

// input makes the messages.
func (in *reader) input() error {
	v := in.fields.Get("instructions")
	instructions, err := v.Text()
	if err != nil {
		return err
	}
	if instructions != "" {
		in.say(hub.System, in.words(instructions))
	}
	first := len(in.turns)
	switch v = in.fields.Get("input"); {
	case v.Type == gjson.String:
		if v.Str != "" {
			in.say(hub.User, in.words(v.Str))
		}
	case !v.IsArray():
		return v.Wrong("a string or an array")
	}
	for _, item := range in.items {
		if err := in.readItem(item); err != nil {
			return err
		}
	}
	if in.finish(); len(in.turns) == first && in.r.Own == nil {
		return v.Invalid("must have at least one message")
	}
	return nil
}

// finish converts the turns into messages.
func (in *reader) finish() {
	in.r.Messages = make([]hub.Message, 0, len(in.turns)+8)
	for i := range in.turns {
		t := &in.turns[i]
		in.r.Messages = append(in.r.Messages, t.Message)
		var attached []hub.Part
		for _, result := range t.results {
			if result.Role == 0 {
				continue
			}
			// Most chat APIs accept only text in a tool message.
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

// words returns a text as content and counts its bytes.
func (in *reader) words(text string) []hub.Part {
	in.count(text)
	return []hub.Part{{Kind: hub.PartText, Text: text}}
}

// say adds a message of the user or the system. Reasoning that no answer of the assistant followed is dropped.
func (in *reader) say(role hub.Role, parts []hub.Part) {
	in.turns = append(in.turns, turn{Message: hub.Message{Role: role, Parts: parts}})
	in.open, in.pending = closed, nil
}

// assistant returns the current turn of the assistant, or a new one. Consecutive text, reasoning and calls form one
// message.
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

// readItem reads an item of the input (specification 7.2).
func (in *reader) readItem(v fields.Value) error {
	if err := in.item.Open(v); err != nil {
		return err
	}
	name, err := in.item.Text("type")
	if err != nil {
		return err
	}
	if name == "" {
		name = in.untyped()
	}
	switch name {
	case "message":
		return in.message()
	case "reasoning":
		return in.thought()
	case "function_call", "custom_tool_call", "tool_search_call", "local_shell_call", "shell_call", "apply_patch_call":
		return in.call(name)
	case "function_call_output", "custom_tool_call_output", "tool_search_output",
		"local_shell_call_output", "shell_call_output", "apply_patch_call_output":
		return in.output(name)
	case "additional_tools": // its tools were read with the others
		return nil
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
		"computer_call", "computer_call_output",
		"compaction", "compaction_trigger", "program", "program_output":
		in.drop(v.String())
		return nil
	case "configuration_update":
		return in.configure()
	case "item_reference":
		return v.Unsupported("refers to an item, and none is stored here: send the item itself")
	}
	at := in.item.Get("type")
	if !at.Given() {
		return at.Missing()
	}
	in.own(at.Invalid("is not supported: %s is not a type of an input item that is known here", hub.Shown(name)))
	return nil
}

// configure reads an item that changes the effort and the form of the answers that follow. The last one counts.
func (in *reader) configure() error {
	reasoning, text := in.item.Get("reasoning"), in.item.Get("text")
	if reasoning.Given() {
		if err := in.inner.Open(reasoning); err != nil {
			return err
		}
		in.unread(&in.inner, "effort", "summary", "generate_summary")
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

// untyped returns the type of an item without a type member.
func (in *reader) untyped() string {
	if v := in.item.Get("role"); v.Given() {
		return "message"
	}
	if v := in.item.Get("id"); v.Given() {
		return "item_reference"
	}
	return ""
}

func (in *reader) message() error {
	at := in.item.Get("role")
	name, err := at.Text()
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
		return at.Missing()
	default:
		return at.Invalid("must be one of user, assistant, system, developer, it is %s", hub.Shown(name))
	}
	parts, err := in.content(in.item.Get("content"))
	switch {
	case err != nil || len(parts) == 0:
		return err
	case role == hub.Assistant:
		t := in.assistant()
		t.Parts = append(t.Parts, parts...)
	default:
		in.say(role, parts)
	}
	return nil
}

// thought reads an item of reasoning. Without its state it is of no use to any model, and is dropped.
func (in *reader) thought() error {
	token, err := in.item.Text("encrypted_content")
	if err != nil {
		return err
	}
	text, err := in.thoughts("summary")
	if err == nil && text == "" {
		text, err = in.thoughts("content")
	}
	if err != nil || token == "" {
		return err
	}
	reasoning := hub.Reasoning{Text: text}
	if state, ours := in.options.Token(token); ours {
		reasoning.State = &state
	} else if strings.HasPrefix(token, hub.TokenPrefix) {
		return nil // changed, or another user's; no vendor knows it either
	} else {
		reasoning.Foreign = token
	}
	in.pending = append(in.pending, reasoning)
	return nil
}

// thoughts returns the texts of a list, joined.
func (in *reader) thoughts(list string) (string, error) {
	v := in.item.Get(list)
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

// callAt is the place of a call.
type callAt struct{ turn, call int }

// call reads an item that is a call of a tool. Its arguments are the text, the input, the action or the operation,
// depending on the kind.
func (in *reader) call(item string) (err error) {
	if item == "tool_search_call" {
		if how, err := in.item.Text("execution"); err != nil || how == "server" {
			in.drop(in.item.String())
			return err
		}
	}
	call := hub.Call{}
	key := toolKey{kind: kindOfCall(item)}
	switch key.kind {
	case hub.ToolFunction, hub.ToolCustom:
		if key.own, err = in.item.Name("name"); err == nil {
			key.namespace, err = in.item.Text("namespace")
		}
	default:
		key.own = toolNames[key.kind]
	}
	if err == nil {
		call.Arguments, err = in.arguments(key.kind)
	}
	if err == nil {
		call.ID, err = in.callID()
	}
	if err != nil {
		return err
	}
	call.Name = in.upstreamName(key)
	in.count(call.Arguments)
	if n := len(in.pending); n > 0 { // Gemini's state belongs to a call
		if s := in.pending[n-1].State; s != nil && s.Form == hub.FormThought {
			call.State = s
		}
	}

	t := in.assistant()
	if at, twice := in.calls[call.ID]; twice && at.turn == in.open {
		v := in.item.Get("call_id")
		return v.Invalid("is that of another call before it: each call needs its own")
	}
	in.calls[call.ID] = callAt{in.open, len(t.Calls)}
	t.Calls = append(t.Calls, call)
	t.results = append(t.results, hub.Message{})
	return nil
}

// kindOfCall returns the kind of tool that an item of the given type calls.
func kindOfCall(item string) hub.ToolKind {
	switch item {
	case "custom_tool_call":
		return hub.ToolCustom
	case "tool_search_call":
		return hub.ToolSearch
	case "local_shell_call":
		return hub.ToolLocalShell
	case "shell_call":
		return hub.ToolShell
	case "apply_patch_call":
		return hub.ToolApplyPatch
	default:
		return hub.ToolFunction
	}
}

// arguments returns the arguments of the call in in.item.
func (in *reader) arguments(kind hub.ToolKind) (string, error) {
	switch kind {
	case hub.ToolFunction:
		text, err := in.item.Text("arguments")
		if text == "" {
			text = "{}"
		}
		return text, err
	case hub.ToolCustom:
		v := in.item.Get("input")
		if _, err := v.Text(); err != nil || !v.Given() {
			return `{"input":""}`, err
		}
		return `{"input":` + v.Raw + `}`, nil
	default:
		v := in.item.Get(bodyNames[kind])
		if v.Type == gjson.String && kind == hub.ToolSearch {
			return v.Str, nil
		}
		err := v.Object()
		return v.Raw, err
	}
}

// callID returns the id of the call in in.item, in a form that all upstreams accept. History may come from anywhere, so
// an illegal id is mapped like a name.
func (in *reader) callID() (string, error) {
	id, err := in.item.Text("call_id")
	if id == "" && err == nil {
		if id, err = in.item.Text("id"); id == "" {
			id = "call_item_" + strconv.Itoa(in.item.Index)
		}
	}
	return hub.LegalName(id), err
}

// output reads an item with the result of a call.
func (in *reader) output(item string) error {
	if item == "tool_search_output" {
		if how, err := in.item.Text("execution"); err != nil || how == "server" {
			return err // its tools were read with the others
		}
	}
	at, err := in.callOf()
	if err != nil {
		return err
	}
	result, err := in.result(item)
	if err != nil {
		return err
	}
	result.Role, result.CallID = hub.ToolResult, in.turns[at.turn].Calls[at.call].ID
	in.turns[at.turn].results[at.call] = result
	in.open, in.pending = closed, nil
	return nil
}

// callOf returns the call whose result is in in.item: the one that it names, or the first one that waits. A local shell
// names its call by id.
func (in *reader) callOf() (callAt, error) {
	v := in.item.Get("call_id")
	id, err := v.Text()
	if err != nil {
		return callAt{}, err
	}
	if id == "" {
		other, err := in.item.Text("id")
		if err != nil {
			return callAt{}, err
		}
		if at, known := in.calls[hub.LegalName(other)]; known && other != "" && !in.answered(at) {
			return at, nil
		}
		return in.firstWaiting()
	}
	at, known := in.calls[hub.LegalName(id)]
	if !known {
		return callAt{}, v.Invalid("names the call %s, which is not in the input before it: send the call too", hub.Shown(id))
	}
	if in.answered(at) {
		return callAt{}, v.Invalid("names the call %s, which has a result already", hub.Shown(id))
	}
	return at, nil
}

func (in *reader) answered(at callAt) bool { return in.turns[at.turn].results[at.call].Role != 0 }

// firstWaiting returns the first call without a result.
func (in *reader) firstWaiting() (callAt, error) {
	for ; in.waiting.turn < len(in.turns); in.waiting = (callAt{turn: in.waiting.turn + 1}) {
		for ; in.waiting.call < len(in.turns[in.waiting.turn].results); in.waiting.call++ {
			if !in.answered(in.waiting) {
				return in.waiting, nil
			}
		}
		if in.waiting.turn == len(in.turns)-1 {
			break // the last turn may get more calls
		}
	}
	v := in.item.Get("call_id")
	return callAt{}, v.Invalid("is missing, and no call before it waits for a result")
}

// result returns the result in in.item: one text, followed by the parts that are not text.
func (in *reader) result(item string) (hub.Message, error) {
	m := hub.Message{}
	v := in.item.Get("output")
	var text string
	var others []hub.Part
	var err error
	switch item {
	case "tool_search_output":
		text, err = in.found()
	case "shell_call_output":
		err = v.Array()
		text = v.Raw
	case "apply_patch_call_output":
		var status string
		if status, err = in.item.Text("status"); err == nil {
			text, err = v.Text()
		}
		if text == "" {
			text = status
		}
		if status == "failed" {
			m.Failed = true
			text = failed(text)
		}
	default:
		if v.IsArray() {
			text, others, err = in.mixed(v)
		} else {
			text, err = v.Text()
		}
	}
	if err != nil {
		return m, err
	}
	in.count(text)
	if text != "" || len(others) > 0 {
		m.Parts = append([]hub.Part{{Kind: hub.PartText, Text: text}}, others...)
	}
	return m, nil
}

// failed returns the text of a result that is an error.
func failed(text string) string {
	if strings.HasPrefix(text, "Error: ") {
		return text
	}
	return "Error: " + text
}

// found returns the result of a search for tools. The tools themselves were read with the others.
func (in *reader) found() (string, error) {
	var text strings.Builder
	err := in.eachFound(func(name string) {
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString("tool available: ")
		text.WriteString(name)
	})
	if text.Len() == 0 {
		return "no tools found", err
	}
	return text.String(), err
}
