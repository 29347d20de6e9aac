package responses

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// call is a tool call of the model. The type of its output item depends on the kind of the tool.
type call struct {
	id    string // id of the call, not of the item
	tool  hub.Tool
	index int // index of the item; noItem before it was written
	// text is the arguments, or the input of a custom tool: the text between the quotes of a JSON string, still
	// escaped.
	text  []byte
	input *inputDecoder // decoder for a custom tool; nil for other tools
	body  []byte        // arguments as a JSON object, if kind().object is set
	done  bool          // the item is complete
	// arguments finds the end of the arguments in the pieces of text.
	arguments hub.Arguments
}

// callKind describes the output item for calls of one kind of tool.
type callKind struct {
	item   string // type of the item
	prefix string // prefix of the item's id
	// member is the name of the item's field with the call's arguments. If object is set, the value of the field is an
	// object, otherwise it is a string. defaults are the fields that an object always has, since clients rely on them.
	member   string
	object   bool
	defaults []hub.Param
	extra    string // constant fields of the item as JSON text, each followed by a comma
}

// callKinds are the descriptions of the items, indexed by hub.ToolKind.
var callKinds = [...]callKind{
	hub.ToolFunction: {item: "function_call", prefix: "fc_", member: "arguments"},
	hub.ToolCustom:   {item: "custom_tool_call", prefix: "ctc_", member: "input"},
	hub.ToolSearch: {
		item: "tool_search_call", prefix: "tsc_", member: "arguments", object: true, extra: `"execution":"client",`,
	},
	hub.ToolLocalShell: {
		item: "local_shell_call", prefix: "lsh_", member: "action", object: true,
		defaults: []hub.Param{{Name: "type", Value: `"exec"`}, {Name: "command", Value: "[]"}, {Name: "env", Value: "{}"}},
	},
	hub.ToolShell: {
		item: "shell_call", prefix: "sh_", member: "action", object: true,
		defaults: []hub.Param{
			{Name: "commands", Value: "[]"}, {Name: "max_output_length", Value: "null"}, {Name: "timeout_ms", Value: "null"},
		},
		extra: `"environment":{"type":"local"},`,
	},
	hub.ToolApplyPatch: {item: "apply_patch_call", prefix: "apc_", member: "operation", object: true},
}

// kind returns the description of the call's output item.
func (c *call) kind() *callKind { return &callKinds[c.tool.Kind] }

// isDelayed reports whether the item has not been written yet: an item whose arguments are an object is written only
// when the object is complete.
func (c *call) isDelayed() bool { return c.index == noItem }

// append appends the output item of the call as JSON to dst. entry holds the id and the status of the item.
func (c *call) append(dst []byte, entry *item) []byte {
	k := c.kind()
	dst = jsontext.AppendMember(dst, `{"id":`, entry.id)
	dst = jsontext.AppendAll(dst, `,"type":"`, k.item, `","status":"`, entry.status.String())
	dst = jsontext.AppendMember(dst, `","call_id":`, c.id)
	dst = append(dst, ',')
	if k.object {
		dst = append(append(append(dst, k.extra...), '"'), k.member...)
		dst = append(append(dst, `":`...), c.body...)
		return append(dst, '}')
	}
	if c.tool.Namespace != "" {
		dst = jsontext.AppendMember(dst, `"namespace":`, c.tool.Namespace)
		dst = append(dst, ',')
	}
	dst = jsontext.AppendMember(dst, `"name":`, c.tool.ClientName)
	dst = append(append(append(dst, `,"`...), k.member...), `":"`...)
	dst = append(dst, c.text...)
	return append(dst, `"}`...)
}

// call begins the call in the delta d and appends the events of the call's beginning.
func (w *writer) call(dst []byte, d *hub.Delta) []byte {
	dst = w.closeCurrent(dst)
	c := &call{id: d.ID, tool: w.r.Tool(d.Name), index: noItem}
	w.calls = append(w.calls, c)
	if c.tool.Kind == hub.ToolCustom {
		c.input = &inputDecoder{}
	}
	if c.kind().object {
		return dst
	}
	return w.addCall(dst, c)
}

// addCall adds the output item of a call and appends the item's first event.
func (w *writer) addCall(dst []byte, c *call) []byte {
	c.index = len(w.items)
	return w.add(dst, item{id: w.reply.ID(c.kind().prefix), call: c})
}

// closeCompleted ends complete calls as soon as the answer continues with something else, so that a client can run them
// meanwhile. d is the next delta. A call whose arguments are not an object stays open until the end.
func (w *writer) closeCompleted(dst []byte, d *hub.Delta) []byte {
	openCalls := w.complete[:0]
	for _, c := range w.complete {
		continues := d.Kind == hub.DeltaArguments && d.Call < len(w.calls) && w.calls[d.Call] == c
		switch {
		case continues || d.Kind == hub.DeltaEnd:
			openCalls = append(openCalls, c)
		case !c.complete(): // not the required form: finish closes the call, with a repair if possible
		case c.isDelayed():
			dst = w.delayedCall(w.closeCurrent(dst), c, completedResult)
		default:
			dst = w.closeCall(dst, c, completedResult)
		}
	}
	w.complete = openCalls
	return dst
}

// arguments adds text, a piece of a call's arguments, to the call and appends the events for the piece. Pieces after
// the end of the call are ignored.
func (w *writer) arguments(dst []byte, c *call, text []byte) []byte {
	if c.done {
		return dst
	}
	if !c.arguments.Complete() {
		w.piece = jsontext.AppendUnquoted(w.piece[:0], text)
		c.arguments.Pass(w.piece)
		if c.arguments.Complete() {
			w.complete = append(w.complete, c)
		}
	}
	if c.isDelayed() {
		c.text = append(c.text, text...)
		return dst
	}
	if c.input == nil {
		c.text = append(c.text, text...)
		dst = w.beginItemEvent(dst, "response.function_call_arguments.delta", c.index)
		return appendText(dst, "delta", text)
	}
	start := len(c.text)
	c.text = c.input.decode(c.text, text)
	return w.inputDelta(dst, c, start)
}

// inputDelta appends an event with the new part of a custom tool's input, which begins at c.text[start]. Without a new
// part it appends nothing.
func (w *writer) inputDelta(dst []byte, c *call, start int) []byte {
	if start == len(c.text) {
		return dst
	}
	dst = w.beginItemEvent(dst, "response.custom_tool_call_input.delta", c.index)
	return appendText(dst, "delta", c.text[start:])
}

// closeCall ends a call and appends the events of its end. r is the outcome of the answer.
func (w *writer) closeCall(dst []byte, c *call, r result) []byte {
	c.done = true
	cutOff := r.status != "completed"
	itemStatus := completed
	if cutOff && !c.complete() {
		itemStatus = incomplete
	}
	if c.input != nil {
		if !cutOff && !c.complete() {
			c.repair() // arguments that cannot be repaired stay unchanged
		}
		start := len(c.text)
		c.text = c.input.finish(c.text)
		dst = w.inputDelta(dst, c, start)
		dst = w.beginItemEvent(dst, "response.custom_tool_call_input.done", c.index)
		dst = appendText(dst, "input", c.text)
		return w.done(dst, c.index, itemStatus)
	}
	if closing := c.arguments.Closing(); len(closing) > 0 && !cutOff && !c.complete() {
		start := len(c.text)
		c.text = jsontext.AppendEscaped(c.text, closing)
		dst = w.beginItemEvent(dst, "response.function_call_arguments.delta", c.index)
		dst = appendText(dst, "delta", c.text[start:])
	}
	dst = w.beginItemEvent(dst, "response.function_call_arguments.done", c.index)
	dst = jsontext.AppendMember(dst, `,"name":`, c.tool.ClientName)
	dst = appendText(dst, "arguments", c.text)
	return w.done(dst, c.index, itemStatus)
}

// complete reports whether the arguments are complete: a whole JSON object or, for a custom tool, a whole object with
// the input.
func (c *call) complete() bool {
	if c.input != nil {
		return c.input.complete()
	}
	return hub.IsObject(jsontext.AppendUnquoted(nil, c.text))
}

// repair closes open strings and brackets in a call's arguments, and reports whether the arguments then have the
// required form. It serves answers that are not streamed. In a stream it can only repair the part of a custom tool's
// input that is not decoded yet, since the client already has the rest.
func (c *call) repair() bool {
	if c.complete() {
		return true
	}
	if c.input != nil {
		return c.input.repair()
	}
	text := jsontext.AppendUnquoted(nil, c.text)
	if closed := hub.Closed(text); hub.IsObject(closed) { // the same repair as in a stream
		c.text = jsontext.AppendEscaped(c.text, closed[len(text):])
		return true
	}
	object, ok := hub.Object(c.text)
	if ok {
		c.text = jsontext.AppendEscaped(c.text[:0], object)
	}
	return ok
}

// delayedCall writes a delayed call, after closing open strings and brackets in its object. A call whose arguments were
// cut off cannot be run and is not written.
func (w *writer) delayedCall(dst []byte, c *call, r result) []byte {
	body, ok := hub.Object(c.text)
	switch {
	case ok && (r.status == "completed" || c.complete()):
		wire.OneLine(body)
		c.body = appendFilled(nil, body, c.kind().defaults)
	case r.status != "completed":
		return dst
	default: // arguments that cannot be repaired
		c.body = append(append([]byte(`{"_raw":"`), c.text...), `"}`...)
	}
	c.done = true
	dst = w.addCall(dst, c)
	return w.done(dst, c.index, completed)
}

// appendFilled appends the JSON object body to dst, followed by those fields in defaults that the object does not have.
func appendFilled(dst, body []byte, defaults []hub.Param) []byte {
	object := gjson.ParseBytes(body)
	dst = append(dst, '{')
	firstField := len(dst)
	object.ForEach(func(key, v gjson.Result) bool {
		if len(dst) > firstField {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendAll(dst, key.Raw, `:`, v.Raw)
		return true
	})
	for _, p := range defaults {
		if object.Get(p.Name).Exists() {
			continue
		}
		if len(dst) > firstField {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendAll(dst, `"`, p.Name, `":`, p.Value)
	}
	return append(dst, '}')
}
