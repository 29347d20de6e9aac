package responses

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// callIndex locates a call: the index of its turn, and its index in the turn's message.
type callIndex struct{ turn, call int }

// call reads an input item that is a tool call. itemType is the type of the item. The name of the field with the
// call's arguments depends on the kind of the tool.
func (in *reader) call(itemType string) (err error) {
	if itemType == "tool_search_call" {
		if execution, err := in.item.Text("execution"); err != nil || execution == "server" {
			in.r.DropOnce(in.item.String())
			return err
		}
	}
	call := hub.Call{}
	key := toolKey{kind: kindOfCall(itemType)}
	switch key.kind {
	case hub.ToolFunction, hub.ToolCustom:
		if key.clientName, err = in.item.Name("name"); err == nil {
			key.namespace, err = in.item.Text("namespace")
		}
	default: // the item does not state the name of the tool
		key.clientName = toolKinds[key.kind]
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
	if n := len(in.pending); n > 0 { // Gemini's reasoning state belongs to a call
		if s := in.pending[n-1].State; s != nil && s.Form == hub.FormThought {
			call.State = s
		}
	}

	t := in.assistant()
	if earlier, exists := in.calls[call.ID]; exists && earlier.turn == in.open { // a later turn may use an id again
		return in.item.Get("call_id").Invalid("is also the call_id of an earlier call: each call needs an id of its own")
	}
	in.calls[call.ID] = callIndex{in.open, len(t.Calls)}
	t.Calls = append(t.Calls, call)
	t.results = append(t.results, hub.Message{})
	return nil
}

// kindOfCall returns the kind of tool that is called by an item of the type itemType, which must be in callKinds.
func kindOfCall(itemType string) hub.ToolKind {
	for kind, k := range callKinds {
		if k.item == itemType {
			return hub.ToolKind(kind)
		}
	}
	return hub.ToolFunction
}

// arguments returns the arguments of the call in in.item as JSON text. kind is the kind of the tool.
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
		v := in.item.Get(callKinds[kind].member)
		if v.Type == gjson.String && kind == hub.ToolSearch {
			return v.Str, nil
		}
		err := v.Object()
		return v.Raw, err
	}
}

// callID returns the id of the call in in.item in a form that all upstreams accept. The history may come from any
// provider, so an illegal id is replaced, by the same rule as tool names.
func (in *reader) callID() (string, error) {
	id, err := in.item.Text("call_id")
	if id == "" && err == nil {
		if id, err = in.item.Text("id"); id == "" {
			id = "call_item_" + strconv.Itoa(in.item.Index)
		}
	}
	return hub.LegalName(id), err
}

// output reads an item with the result of a call. item is the item's type.
func (in *reader) output(item string) error {
	if item == "tool_search_output" {
		if execution, err := in.item.Text("execution"); err != nil || execution == "server" {
			return err // the method tools has read the tools in the item
		}
	}
	index, err := in.callOf()
	if err != nil {
		return err
	}
	result, err := in.result(item)
	if err != nil {
		return err
	}
	result.Role, result.CallID = hub.ToolResult, in.turns[index.turn].Calls[index.call].ID
	in.turns[index.turn].results[index.call] = result
	in.open, in.pending = closed, nil
	return nil
}

// callOf returns the call to which the result in in.item belongs: the call with its call_id or, for local shells, with
// its id. Without these it is the first call that has no result.
func (in *reader) callOf() (callIndex, error) {
	v := in.item.Get("call_id")
	id, err := v.Text()
	if err != nil {
		return callIndex{}, err
	}
	if id == "" {
		itemID, err := in.item.Text("id")
		if err != nil {
			return callIndex{}, err
		}
		if index, known := in.calls[hub.LegalName(itemID)]; known && itemID != "" && !in.hasResult(index) {
			return index, nil
		}
		return in.firstWithoutResult()
	}
	index, known := in.calls[hub.LegalName(id)]
	if !known {
		return callIndex{}, v.Invalid("names the call %s, which is not in the input before it: send the call too",
			hub.Shown(id))
	}
	if in.hasResult(index) {
		return callIndex{}, v.Invalid("names the call %s, which has a result already", hub.Shown(id))
	}
	return index, nil
}

// hasResult reports whether the result of the call at index was read.
func (in *reader) hasResult(index callIndex) bool {
	return in.turns[index.turn].results[index.call].Role != 0
}

// firstWithoutResult returns the first call without a result. It advances in.waiting to that call. It returns an error
// if all calls have results.
func (in *reader) firstWithoutResult() (callIndex, error) {
	for ; in.waiting.turn < len(in.turns); in.waiting = (callIndex{turn: in.waiting.turn + 1}) {
		for ; in.waiting.call < len(in.turns[in.waiting.turn].results); in.waiting.call++ {
			if !in.hasResult(in.waiting) {
				return in.waiting, nil
			}
		}
		if in.waiting.turn == len(in.turns)-1 {
			break // the last turn may get more calls
		}
	}
	return callIndex{}, in.item.Get("call_id").Invalid("is missing, and the input has no earlier call without a result")
}

// result reads the result in in.item. The message has one text, followed by the parts that are not text. itemType is
// the type of the item.
func (in *reader) result(itemType string) (hub.Message, error) {
	m := hub.Message{}
	v := in.item.Get("output")
	var text string
	var attached []hub.Part
	var err error
	switch itemType {
	case "tool_search_output":
		text, err = in.searchOutput()
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
			text = errorText(text)
		}
	default:
		if v.IsArray() {
			text, attached, err = in.outputParts(v)
		} else {
			text, err = v.Text()
		}
	}
	if err != nil {
		return m, err
	}
	in.count(text)
	if text != "" || len(attached) > 0 {
		m.Parts = append([]hub.Part{{Kind: hub.PartText, Text: text}}, attached...)
	}
	return m, nil
}

// errorText returns the text of an error result, with the prefix "Error: ".
func errorText(text string) string {
	if strings.HasPrefix(text, "Error: ") {
		return text
	}
	return "Error: " + text
}

// searchOutput returns the result of a tool search as text. The tools that were found are read together with the
// request's other tools.
func (in *reader) searchOutput() (string, error) {
	var text strings.Builder
	err := in.eachFoundTool(func(name string) {
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
