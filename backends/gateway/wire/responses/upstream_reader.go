package responses

import (
	"fmt"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewReader returns a reader of the answer of a Responses upstream (specification 10). What an upstream's own tools did
// is left out, since no client of another format asked for it.
func (Format) NewReader(*catalog.Provider) hub.Reader { return &upstreamReader{said: -1} }

// maxUpstreamCalls bounds the calls that an answer makes the gateway keep.
const maxUpstreamCalls = 1024

type upstreamReader struct {
	answer  upstreamAnswer
	deltas  []hub.Delta
	buf     []byte // texts of deltas that were composed here
	ids     []string
	calls   []upstreamCall
	said    int64 // output_index of the last text, or -1
	summary int64 // summary_index of the last reasoning
	items   bool  // any item was seen
	ended   bool  // DeltaEnd was added
}

// upstreamCall is a call item. Its number is its index.
type upstreamCall struct {
	output int64 // output_index
	custom bool  // its text is free, as in {"input": text}
	given  bool  // some of its text was passed on
	closed bool
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
		if at := r.find(e.output); at >= 0 {
			r.close(at, e.final)
		}
	case "response.output_item.added":
		r.items = true
		if e.item.call() && len(e.item.name) > 0 {
			_, err = r.call(e.output, &e.item)
		}
	case "response.output_item.done":
		err = r.item(e.output, &e.item)
	case "response.completed", "response.incomplete":
		if !r.items {
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

// output reads the items of a whole response.
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

// item processes a complete item. It emits only what earlier events did not contain.
func (r *upstreamReader) item(output int64, item *upstreamItem) error {
	r.items = true
	switch string(item.kind) {
	case "message":
		if r.said == output {
			return nil
		}
		upstreamParts(item.content, func(kind, text, logprobs []byte) {
			if string(kind) == "refusal" {
				r.text(hub.DeltaRefusal, output, text, nil)
				return
			}
			r.text(hub.DeltaText, output, text, logprobs)
		})
	case "reasoning":
		if r.said != output {
			r.thoughts(output, item)
		}
		if len(item.encrypted) > 0 {
			state := hub.State{Form: hub.FormItem, Data: string(item.raw)}
			r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaState, State: state})
		}
	case "function_call", "custom_tool_call":
		at := r.find(output)
		if at < 0 {
			var err error
			if at, err = r.call(output, item); err != nil {
				return err
			}
		}
		text := item.arguments
		if r.calls[at].custom {
			text = item.input
		}
		r.close(at, text)
	}
	return nil
}

// thoughts reads the text of a reasoning item, or its summary if it has no text.
func (r *upstreamReader) thoughts(output int64, item *upstreamItem) {
	list := item.summary
	upstreamParts(item.content, func(_, text, _ []byte) {
		if len(text) > 0 {
			list = item.content
		}
	})
	n := int64(0)
	upstreamParts(list, func(_, text, _ []byte) {
		r.reasoning(output, n, text)
		n++
	})
}

// text emits a text of the item with an output_index, unless it is empty.
func (r *upstreamReader) text(kind hub.DeltaKind, output int64, text, logprobs []byte) {
	if len(text) == 0 {
		return
	}
	r.items, r.said = true, output
	r.deltas = append(r.deltas, hub.Delta{Kind: kind, Text: text, Logprobs: logprobs})
}

var upstreamGap = []byte(`\n\n`)

// reasoning emits reasoning, with an empty line between the parts of an item.
func (r *upstreamReader) reasoning(output, part int64, text []byte) {
	if len(text) == 0 {
		return
	}
	if r.said == output && r.summary != part {
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaReasoning, Text: upstreamGap})
	}
	r.summary = part
	r.text(hub.DeltaReasoning, output, text, nil)
}

// find returns the index of the call with an output_index, or -1. It is usually the last one.
func (r *upstreamReader) find(output int64) int {
	for i, c := range slices.Backward(r.calls) {
		if c.output == output {
			return i
		}
	}
	return -1
}

// call begins a call.
func (r *upstreamReader) call(output int64, item *upstreamItem) (at int, err error) {
	switch at = r.find(output); {
	case at >= 0:
		return at, nil
	case len(r.calls) == maxUpstreamCalls:
		return 0, fmt.Errorf("%w: more than %d tool calls", wire.ErrBroken, maxUpstreamCalls)
	case len(item.name) == 0:
		return 0, fmt.Errorf("%w: a tool call without a name", wire.ErrBroken)
	}
	id := string(item.callID)
	if !hub.LegalID(id) || slices.Contains(r.ids, id) {
		id = wire.NewID("call_")
	}
	at = len(r.calls)
	r.ids = append(r.ids, id)
	r.calls = append(r.calls, upstreamCall{output: output, custom: string(item.kind) == "custom_tool_call"})
	name := string(jsontext.AppendUnquoted(nil, item.name))
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaCall, Call: at, ID: id, Name: name})
	return at, nil
}

// The arguments of a custom call around its text, as the inside of a JSON string.
const (
	upstreamInputHead = `{\"input\":\"`
	upstreamInputTail = `\"}`
)

// arguments emits a piece of the arguments of the call with an output_index.
func (r *upstreamReader) arguments(output int64, text []byte) {
	at := r.find(output)
	if at < 0 || r.calls[at].closed || len(text) == 0 {
		return
	}
	r.piece(at, text, false)
}

// piece emits text of a call. The text of a custom call becomes part of a JSON string within the arguments, so it
// is escaped once more.
func (r *upstreamReader) piece(at int, text []byte, last bool) {
	c := &r.calls[at]
	if c.custom {
		from := len(r.buf)
		if !c.given {
			r.buf = append(r.buf, upstreamInputHead...)
		}
		r.buf = jsontext.AppendEscaped(r.buf, text)
		if last {
			r.buf = append(r.buf, upstreamInputTail...)
		}
		text = r.buf[from:len(r.buf):len(r.buf)]
	}
	c.given = true
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: at, Text: text})
}

var upstreamEmpty = []byte("{}")

// close ends a call. text is all that the model wrote.
func (r *upstreamReader) close(at int, text []byte) {
	c := &r.calls[at]
	if c.closed {
		return
	}
	c.closed = true
	switch {
	case c.custom && c.given:
		r.piece(at, nil, true)
	case c.custom:
		r.piece(at, text, true)
	case c.given:
	case len(text) == 0:
		r.piece(at, upstreamEmpty, true)
	default:
		r.piece(at, text, true)
	}
}

// end adds DeltaEnd.
func (r *upstreamReader) end() {
	for at := range r.calls {
		r.close(at, nil)
	}
	r.ended = true
	end := hub.End{Finish: r.finish(), Usage: r.answer.usage}
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaEnd, End: end})
}

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
