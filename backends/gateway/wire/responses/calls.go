package responses

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// call is a call of a tool by the model. Its item depends on the kind of the tool.
type call struct {
	id    string // id of the call, not of the item
	tool  hub.Tool
	index int // of the item; none while there is no item
	// text is the inside of the JSON string of the arguments, or of the input of a custom tool.
	text  []byte
	input *inputDecoder // of a custom tool
	body  []byte        // JSON object, for the kinds that have one
	done  bool          // its item is complete
	// arguments tells when the arguments are complete.
	arguments hub.Arguments
}

// callKind describes the item for calls of one kind of tool.
type callKind struct {
	item   string // type of the item
	prefix string // prefix of its id
	// member holds what the tool is asked to do. If object is set it is an object, into which the defaults, on which
	// clients rely, are filled.
	member   string
	object   bool
	defaults []hub.Param
	extra    string // further members
}

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

func (c *call) kind() *callKind { return &callKinds[c.tool.Kind] }

// late reports whether the item is still to come: an item with an object appears when the object is complete.
func (c *call) late() bool { return c.index == none }

// append appends the item.
func (c *call) append(dst []byte, it *item) []byte {
	k := c.kind()
	dst = jsontext.AppendMember(dst, `{"id":`, it.id)
	dst = jsontext.AppendAll(dst, `,"type":"`, k.item, `","status":"`, it.status.String())
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

// call begins a call.
func (w *writer) call(dst []byte, d *hub.Delta) []byte {
	dst = w.closeCurrent(dst)
	c := &call{id: d.ID, tool: w.r.Tool(d.Name), index: none}
	w.calls = append(w.calls, c)
	if c.tool.Kind == hub.ToolCustom {
		c.input = &inputDecoder{}
	}
	if c.kind().object {
		return dst
	}
	return w.addCall(dst, c)
}

// addCall begins the item of a call and announces it.
func (w *writer) addCall(dst []byte, c *call) []byte {
	c.index = len(w.items)
	return w.add(dst, item{id: w.reply.ID(c.kind().prefix), call: c})
}

// settle ends the calls that are complete as soon as the answer continues with something else, so that a client can run
// them meanwhile. A call whose arguments are not an object stays open until the end.
func (w *writer) settle(dst []byte, d *hub.Delta) []byte {
	open := w.whole[:0]
	for _, c := range w.whole {
		switch {
		case d.Kind == hub.DeltaEnd || d.Kind == hub.DeltaArguments && d.Call < len(w.calls) && w.calls[d.Call] == c:
			open = append(open, c)
		case !c.complete():
		case c.late():
			dst = w.lateCall(w.closeCurrent(dst), c, whole)
		default:
			dst = w.closeCall(dst, c, whole)
		}
	}
	w.whole = open
	return dst
}

// arguments writes a piece of a call's arguments. Pieces for a call that is done are ignored, since nothing may follow
// the end of an object.
func (w *writer) arguments(dst []byte, c *call, text []byte) []byte {
	if c.done {
		return dst
	}
	if !c.arguments.Complete() {
		w.piece = jsontext.AppendUnquoted(w.piece[:0], text)
		if c.arguments.Pass(w.piece); c.arguments.Complete() {
			w.whole = append(w.whole, c)
		}
	}
	if c.late() {
		c.text = append(c.text, text...)
		return dst
	}
	if c.input == nil {
		c.text = append(c.text, text...)
		dst = w.about(dst, "response.function_call_arguments.delta", c.index)
		return appendText(dst, "delta", text)
	}
	from := len(c.text)
	c.text = c.input.decode(c.text, text)
	return w.inputDelta(dst, c, from)
}

// inputDelta writes the new part of a custom tool's input.
func (w *writer) inputDelta(dst []byte, c *call, from int) []byte {
	if from == len(c.text) {
		return dst
	}
	dst = w.about(dst, "response.custom_tool_call_input.delta", c.index)
	return appendText(dst, "delta", c.text[from:])
}

// closeCall ends a call.
func (w *writer) closeCall(dst []byte, c *call, r result) []byte {
	c.done = true
	s := completed
	if r.status != "completed" && !c.complete() {
		s = incomplete
	}
	if c.input != nil {
		if r.status == "completed" && !c.complete() {
			c.mend() // applies to what the client has not got yet; input that cannot be mended stays as it is
		}
		from := len(c.text)
		c.text = c.input.finish(c.text)
		dst = w.inputDelta(dst, c, from)
		dst = w.about(dst, "response.custom_tool_call_input.done", c.index)
		dst = appendText(dst, "input", c.text)
		return w.done(dst, c.index, s)
	}
	if closing := c.arguments.Closing(); len(closing) > 0 && r.status == "completed" && !c.complete() {
		from := len(c.text)
		c.text = jsontext.AppendEscaped(c.text, closing)
		dst = w.about(dst, "response.function_call_arguments.delta", c.index)
		dst = appendText(dst, "delta", c.text[from:])
	}
	dst = w.about(dst, "response.function_call_arguments.done", c.index)
	dst = jsontext.AppendMember(dst, `,"name":`, c.tool.ClientName)
	dst = appendText(dst, "arguments", c.text)
	return w.done(dst, c.index, s)
}

// complete reports whether the arguments have the form that the tool takes: an object, or the input of a custom tool.
func (c *call) complete() bool {
	if c.input != nil {
		return c.input.complete()
	}
	return hub.IsObject(jsontext.AppendUnquoted(nil, c.text))
}

// mend closes what a whole answer left open in its arguments, and reports whether they then have the form that the tool
// takes (specification 5). In a stream the client already has the arguments of a function, and the part of a custom
// tool's input that was decoded.
func (c *call) mend() bool {
	if c.complete() {
		return true
	}
	if c.input != nil {
		return c.input.mend()
	}
	text := jsontext.AppendUnquoted(nil, c.text)
	if closed := hub.Closed(text); hub.IsObject(closed) { // exactly what a stream would close
		c.text = jsontext.AppendEscaped(c.text, closed[len(text):])
		return true
	}
	object, ok := hub.Object(c.text)
	if ok {
		c.text = jsontext.AppendEscaped(c.text[:0], object)
	}
	return ok
}

// lateCall writes a call with an object, in which it closes what was left open. A call whose arguments were cut off
// cannot be run, so it does not appear.
func (w *writer) lateCall(dst []byte, c *call, r result) []byte {
	body, ok := hub.Object(c.text)
	switch {
	case ok && (r.status == "completed" || c.complete()):
		wire.OneLine(body)
		c.body = appendFilled(nil, body, c.kind().defaults)
	case r.status != "completed":
		return dst
	default:
		c.body = append(append([]byte(`{"_raw":"`), c.text...), `"}`...)
	}
	c.done = true
	dst = w.addCall(dst, c)
	return w.done(dst, c.index, completed)
}

// appendFilled appends an object and the defaults that it lacks.
func appendFilled(dst, body []byte, defaults []hub.Param) []byte {
	object := gjson.ParseBytes(body)
	dst = append(dst, '{')
	from := len(dst)
	object.ForEach(func(key, v gjson.Result) bool {
		if len(dst) > from {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendAll(dst, key.Raw, `:`, v.Raw)
		return true
	})
	for _, p := range defaults {
		if object.Get(p.Name).Exists() {
			continue
		}
		if len(dst) > from {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendAll(dst, `"`, p.Name, `":`, p.Value)
	}
	return append(dst, '}')
}
