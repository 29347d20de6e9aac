package responses

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

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
