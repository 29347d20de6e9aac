package responses

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// call is a call of a tool by the model, in the item of the tool's kind.
type call struct {
	id    string // of the call, not of the item
	tool  hub.Tool
	index int // of the item, or none as long as there is none
	// text is the inside of the JSON string of the arguments, or of the input of a
	// custom tool.
	text  []byte
	input *inputDecoder // of a custom tool
	body  []byte        // JSON object, of the kinds that hold one
	done  bool          // its item is complete
	// arguments tells when they are complete.
	arguments hub.Arguments
}

// callKind is how calls of a kind of tool look.
type callKind struct {
	item   string // type of the item
	prefix string // of its id
	// member holds what the tool is asked to do. A call with defaults holds an object
	// there, in which the members that clients rely on are filled in.
	member   string
	object   bool
	defaults []hub.Param
	extra    string // more members
}

var callKinds = [...]callKind{
	hub.ToolFunction: {item: "function_call", prefix: "fc_", member: "arguments"},
	hub.ToolCustom:   {item: "custom_tool_call", prefix: "ctc_", member: "input"},
	hub.ToolSearch: {
		item: "tool_search_call", prefix: "tsc_", member: "arguments", object: true,
		extra: `"execution":"client",`,
	},
	hub.ToolLocalShell: {
		item: "local_shell_call", prefix: "lsh_", member: "action", object: true,
		defaults: []hub.Param{{Name: "type", Value: `"exec"`}, {Name: "command", Value: "[]"}, {Name: "env", Value: "{}"}},
	},
	hub.ToolShell: {
		item: "shell_call", prefix: "sh_", member: "action", object: true,
		defaults: []hub.Param{{Name: "commands", Value: "[]"}, {Name: "max_output_length", Value: "null"}, {Name: "timeout_ms", Value: "null"}},
		extra:    `"environment":{"type":"local"},`,
	},
	hub.ToolApplyPatch: {item: "apply_patch_call", prefix: "apc_", member: "operation", object: true},
}

func (c *call) kind() *callKind { return &callKinds[c.tool.Kind] }

// late reports whether the item is still to come: one that holds an object appears
// when the object is whole.
func (c *call) late() bool { return c.index == none }

// append appends the item.
func (c *call) append(dst []byte, it *item) []byte {
	k := c.kind()
	dst = append(dst, `{"id":`...)
	dst = jsontext.AppendQuoted(dst, it.id)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, k.item...)
	dst = append(dst, `","status":"`...)
	dst = append(dst, it.status.String()...)
	dst = append(dst, `","call_id":`...)
	dst = jsontext.AppendQuoted(dst, c.id)
	dst = append(dst, ',')
	if k.object {
		dst = append(dst, k.extra...)
		dst = append(dst, '"')
		dst = append(dst, k.member...)
		dst = append(dst, `":`...)
		dst = append(dst, c.body...)
		return append(dst, '}')
	}
	if c.tool.Namespace != "" {
		dst = append(dst, `"namespace":`...)
		dst = jsontext.AppendQuoted(dst, c.tool.Namespace)
		dst = append(dst, ',')
	}
	dst = append(dst, `"name":`...)
	dst = jsontext.AppendQuoted(dst, c.tool.Own)
	dst = append(dst, `,"`...)
	dst = append(dst, k.member...)
	dst = append(dst, `":"`...)
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

func (w *writer) addCall(dst []byte, c *call) []byte {
	c.index = len(w.items)
	return w.add(dst, item{id: w.reply.ID(c.kind().prefix), call: c})
}

// settle ends the calls that are complete once the answer goes on with something
// else, so that a client can run them meanwhile. What is no object stays open: it is
// judged at the end.
func (w *writer) settle(dst []byte, d *hub.Delta) []byte {
	open := w.whole[:0]
	for _, c := range w.whole {
		switch {
		case d.Kind == hub.DeltaEnd || d.Kind == hub.DeltaArguments && d.Call < len(w.calls) && w.calls[d.Call] == c:
			open = append(open, c)
		case !c.sound():
		case c.late():
			dst = w.lateCall(w.closeCurrent(dst), c, whole)
		default:
			dst = w.closeCall(dst, c, whole)
		}
	}
	w.whole = open
	return dst
}

// arguments writes a piece of a call's arguments. Nothing belongs to a call that is
// done: an object has nothing behind its end.
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

// inputDelta writes what came to a custom tool's input.
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
	if r.status != "completed" && !c.sound() {
		s = incomplete
	}
	if c.input != nil {
		if r.status == "completed" && !c.sound() {
			c.mend() // of what is not with the client yet; what cannot be mended goes as it is
		}
		from := len(c.text)
		c.text = c.input.finish(c.text)
		dst = w.inputDelta(dst, c, from)
		dst = w.about(dst, "response.custom_tool_call_input.done", c.index)
		dst = appendText(dst, "input", c.text)
		return w.done(dst, c.index, s)
	}
	if closing := c.arguments.Closing(); len(closing) > 0 && r.status == "completed" && !c.sound() {
		from := len(c.text)
		c.text = jsontext.AppendEscaped(c.text, closing)
		dst = w.about(dst, "response.function_call_arguments.delta", c.index)
		dst = appendText(dst, "delta", c.text[from:])
	}
	dst = w.about(dst, "response.function_call_arguments.done", c.index)
	dst = append(dst, `,"name":`...)
	dst = jsontext.AppendQuoted(dst, c.tool.Own)
	dst = appendText(dst, "arguments", c.text)
	return w.done(dst, c.index, s)
}

// sound reports whether the arguments are what the tool takes.
func (c *call) sound() bool {
	if c.input != nil {
		return c.input.sound()
	}
	return hub.IsObject(jsontext.AppendUnquoted(nil, c.text))
}

// mend closes what a whole answer left open in its arguments, and reports whether they
// are what the tool takes (specification 5). In a stream those of a function are with
// the client already, and the input of a custom tool as far as it was understood.
func (c *call) mend() bool {
	if c.sound() {
		return true
	}
	if c.input != nil {
		return c.input.mend()
	}
	text := jsontext.AppendUnquoted(nil, c.text)
	if closed := hub.Closed(text); hub.IsObject(closed) { // to the letter what a stream closes
		c.text = jsontext.AppendEscaped(c.text, closed[len(text):])
		return true
	}
	object, ok := hub.Object(c.text)
	if ok {
		c.text = jsontext.AppendEscaped(c.text[:0], object)
	}
	return ok
}

// lateCall writes a call that holds an object, with what it left open closed. Of one
// that was cut off in its arguments nothing could be run, so it does not appear.
func (w *writer) lateCall(dst []byte, c *call, r result) []byte {
	body, ok := hub.Object(c.text)
	switch {
	case ok && (r.status == "completed" || c.sound()):
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

// appendFilled appends an object with the members that it lacks.
func appendFilled(dst, body []byte, defaults []hub.Param) []byte {
	object := gjson.ParseBytes(body)
	dst = append(dst, '{')
	from := len(dst)
	object.ForEach(func(key, v gjson.Result) bool {
		if len(dst) > from {
			dst = append(dst, ',')
		}
		dst = append(dst, key.Raw...)
		dst = append(dst, ':')
		dst = append(dst, v.Raw...)
		return true
	})
	for _, p := range defaults {
		if object.Get(p.Name).Exists() {
			continue
		}
		if len(dst) > from {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, p.Name...)
		dst = append(dst, `":`...)
		dst = append(dst, p.Value...)
	}
	return append(dst, '}')
}
