package responses

import (
	"fmt"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewReader returns a reader of one answer of a Responses upstream. Items of tools that the upstream ran itself are
// left out, since clients of other formats cannot request such tools.
func (Format) NewReader(*catalog.Provider) hub.Reader { return &upstreamReader{lastText: -1} }

// maxUpstreamCalls limits the number of tool calls of an answer, because the reader stores the calls.
const maxUpstreamCalls = 1024

// upstreamReader is the hub.Reader that NewReader returns.
type upstreamReader struct {
	answer   upstreamAnswer
	deltas   []hub.Delta
	buf      []byte // buffer for composed texts of deltas
	ids      []string
	calls    []upstreamCall
	lastText int64 // output_index of the last delta with a text or reasoning, or -1 before the first
	summary  int64 // summary_index of the last reasoning
	sawItems bool  // any item was seen
	ended    bool  // DeltaEnd was added
}

// upstreamCall is a call item. Its index in calls is its hub.Delta.Call.
type upstreamCall struct {
	output       int64 // output_index
	custom       bool  // a custom tool's call, with the arguments {"input": text}
	hasArguments bool  // some of its text was passed on
	closed       bool
}

// Event implements hub.Reader.
func (r *upstreamReader) Event(name, data []byte) (hub.Step, error) {
	r.deltas, r.buf = r.deltas[:0], r.buf[:0]
	if r.ended {
		return hub.Step{Done: true}, nil
	}
	ok, err := r.answer.read(name, data)
	if err != nil || !ok {
		return hub.Step{}, err
	}
	e := &r.answer.event
	switch string(e.kind) {
	case "response.output_text.delta":
		r.text(hub.DeltaText, e.output, e.text, e.logprobs)
	case "response.refusal.delta":
		r.text(hub.DeltaRefusal, e.output, e.text, nil)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.reasoning(e.output, e.summary, e.text)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		r.arguments(e.output, e.text)
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		if index := r.find(e.output); index >= 0 {
			r.close(index, e.final)
		}
	case "response.output_item.added":
		r.sawItems = true
		if e.item.call() && len(e.item.name) > 0 {
			_, err = r.call(e.output, &e.item)
		}
	case "response.output_item.done":
		err = r.item(e.output, &e.item)
	case "response.completed", "response.incomplete":
		if !r.sawItems { // the items are only in this event
			err = r.output(e.response.output)
		}
		if err == nil {
			r.end()
		}
	}
	if err != nil {
		return hub.Step{}, err
	}
	return hub.Step{Deltas: r.deltas, Proof: len(r.deltas) > 0, Thinks: e.thinks(), Done: r.ended}, nil
}

// End implements hub.Reader.
func (r *upstreamReader) End() (hub.Step, error) {
	if !r.ended {
		return hub.Step{}, wire.ErrNoFinish
	}
	return hub.Step{Done: true}, nil
}

// Whole implements hub.Reader.
func (r *upstreamReader) Whole(body []byte) ([]hub.Delta, error) {
	if err := r.answer.readWhole(body); err != nil {
		return nil, err
	}
	if err := r.output(r.answer.event.response.output); err != nil {
		return nil, err
	}
	if len(r.deltas) == 0 && r.answer.status == "" {
		return nil, wire.ErrNoChoices
	}
	r.end()
	return r.deltas, nil
}

// Usage implements hub.Reader.
func (r *upstreamReader) Usage() wire.Usage { return r.answer.usage }

// output reads the output items of a response that is not streamed.
func (r *upstreamReader) output(array []byte) error {
	if len(array) == 0 {
		return nil
	}
	s := jsontext.NewScanner(array)
	return s.Array(func(i int) error {
		var item upstreamItem
		if err := item.scan(&s, array); err != nil {
			return err
		}
		return r.item(int64(i), &item)
	})
}

// item processes a complete item. It emits only the content that earlier events did not have. output is the item's
// output_index.
func (r *upstreamReader) item(output int64, item *upstreamItem) error {
	r.sawItems = true
	switch string(item.kind) {
	case "message":
		if r.lastText == output {
			return nil // the text came in delta events
		}
		upstreamParts(item.content, func(kind, text, logprobs []byte) {
			if string(kind) == "refusal" {
				r.text(hub.DeltaRefusal, output, text, nil)
				return
			}
			r.text(hub.DeltaText, output, text, logprobs)
		})
	case "reasoning":
		if r.lastText != output { // no reasoning came in delta events
			r.reasoningItem(output, item)
		}
		if len(item.encrypted) > 0 {
			state := hub.State{Form: hub.FormItem, Data: string(item.raw)}
			r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaState, State: state})
		}
	case "function_call", "custom_tool_call":
		index := r.find(output)
		if index < 0 {
			var err error
			if index, err = r.call(output, item); err != nil {
				return err
			}
		}
		text := item.arguments
		if r.calls[index].custom {
			text = item.input
		}
		r.close(index, text)
	}
	return nil
}

// reasoningItem emits the text of a reasoning item, or its summary if it has no text. output is its output_index.
func (r *upstreamReader) reasoningItem(output int64, item *upstreamItem) {
	list := item.summary
	upstreamParts(item.content, func(_, text, _ []byte) {
		if len(text) > 0 {
			list = item.content
		}
	})
	part := int64(0)
	upstreamParts(list, func(_, text, _ []byte) {
		r.reasoning(output, part, text)
		part++
	})
}

// text emits a delta of the given kind with a text, unless the text is empty. output is the output_index of the item
// that has the text.
func (r *upstreamReader) text(kind hub.DeltaKind, output int64, text, logprobs []byte) {
	if len(text) == 0 {
		return
	}
	r.sawItems, r.lastText = true, output
	r.deltas = append(r.deltas, hub.Delta{Kind: kind, Text: text, Logprobs: logprobs})
}

// upstreamGap is the text between two parts of reasoning, escaped for a JSON string.
var upstreamGap = []byte(`\n\n`)

// reasoning emits reasoning, with an empty line between the parts of an item. output is the output_index of the item,
// and part is the index of the part.
func (r *upstreamReader) reasoning(output, part int64, text []byte) {
	if len(text) == 0 {
		return
	}
	if r.lastText == output && r.summary != part {
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaReasoning, Text: upstreamGap})
	}
	r.summary = part
	r.text(hub.DeltaReasoning, output, text, nil)
}

// find returns the index in r.calls of the call whose item has the output_index output, or -1.
func (r *upstreamReader) find(output int64) int {
	for i, c := range slices.Backward(r.calls) {
		if c.output == output {
			return i
		}
	}
	return -1
}

// call begins the call in an item, unless it has begun, and returns the call's index.
func (r *upstreamReader) call(output int64, item *upstreamItem) (index int, err error) {
	switch index = r.find(output); {
	case index >= 0:
		return index, nil
	case len(r.calls) == maxUpstreamCalls:
		return 0, fmt.Errorf("%w: more than %d tool calls", wire.ErrBroken, maxUpstreamCalls)
	case len(item.name) == 0:
		return 0, fmt.Errorf("%w: a tool call without a name", wire.ErrBroken)
	}
	id := string(item.callID)
	if !wire.LegalID(id) || slices.Contains(r.ids, id) {
		id = wire.NewID("call_")
	}
	index = len(r.calls)
	r.ids = append(r.ids, id)
	r.calls = append(r.calls, upstreamCall{output: output, custom: string(item.kind) == "custom_tool_call"})
	name := string(jsontext.AppendUnquoted(nil, item.name))
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaCall, Call: index, ID: id, Name: name})
	return index, nil
}

// The text around a custom tool's input in its arguments, escaped for a JSON string.
const (
	upstreamInputHead = `{\"input\":\"`
	upstreamInputTail = `\"}`
)

// arguments emits text as a piece of the arguments of the call whose item has the output_index output.
func (r *upstreamReader) arguments(output int64, text []byte) {
	index := r.find(output)
	if index < 0 || r.calls[index].closed || len(text) == 0 {
		return
	}
	r.piece(index, text, false)
}

// piece emits a piece of a call's text; last is set for the last piece. In a custom tool's call the text is within a
// JSON string in the arguments, so it is escaped once more.
func (r *upstreamReader) piece(index int, text []byte, last bool) {
	c := &r.calls[index]
	if c.custom {
		start := len(r.buf)
		if !c.hasArguments {
			r.buf = append(r.buf, upstreamInputHead...)
		}
		r.buf = jsontext.AppendEscaped(r.buf, text)
		if last {
			r.buf = append(r.buf, upstreamInputTail...)
		}
		text = r.buf[start:len(r.buf):len(r.buf)]
	}
	c.hasArguments = true
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: index, Text: text})
}

// upstreamEmpty are the arguments of a call without arguments.
var upstreamEmpty = []byte("{}")

// close ends the call with the given index. text is all text of the call. It is emitted only if no text of the call was
// emitted before.
func (r *upstreamReader) close(index int, text []byte) {
	c := &r.calls[index]
	if c.closed {
		return
	}
	c.closed = true
	switch {
	case c.custom && c.hasArguments:
		r.piece(index, nil, true)
	case c.custom:
		r.piece(index, text, true)
	case c.hasArguments: // nothing is missing
	case len(text) == 0:
		r.piece(index, upstreamEmpty, true)
	default:
		r.piece(index, text, true)
	}
}

// end closes all calls and adds DeltaEnd.
func (r *upstreamReader) end() {
	for index := range r.calls {
		r.close(index, nil)
	}
	r.ended = true
	end := hub.End{Finish: r.finish(), Usage: r.answer.usage}
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaEnd, End: end})
}

// finish returns the reason why the answer ended.
func (r *upstreamReader) finish() hub.Finish {
	switch {
	case r.answer.status == "incomplete" && r.answer.reason == "content_filter":
		return hub.FinishRefusal
	case r.answer.status == "incomplete":
		return hub.FinishLength
	case len(r.calls) > 0:
		return hub.FinishCalls
	}
	return hub.FinishStop
}
