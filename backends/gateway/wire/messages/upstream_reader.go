package messages

import (
	"fmt"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewReader returns a reader of one answer of a messages upstream. Blocks of tools that the upstream ran itself are
// left out, since clients of other formats cannot request such tools.
func (Format) NewReader(*catalog.Provider) hub.Reader { return &upstreamReader{} }

// maxUpstreamCalls limits the tool calls of an answer, whose ids and open blocks are stored.
const maxUpstreamCalls = 1024

// upstreamReader is the hub.Reader that NewReader returns.
type upstreamReader struct {
	answer upstreamAnswer
	deltas []hub.Delta
	ids    []string       // ids of all calls
	open   []upstreamCall // tool_use blocks that have not ended
	ended  bool           // DeltaEnd was added
}

// upstreamCall is a tool_use block.
type upstreamCall struct {
	index        int64  // index of the block
	call         int    // hub.Delta.Call
	hasArguments bool   // arguments were passed on
	input        []byte // input in the start event, escaped, in case no delta follows
}

// Event implements hub.Reader.
func (r *upstreamReader) Event(name, data []byte) (hub.Step, error) {
	r.deltas = r.deltas[:0]
	ok, err := r.answer.read(name, data)
	if err != nil || !ok || r.ended {
		return hub.Step{Done: r.ended && err == nil}, err
	}
	e := &r.answer.event
	step := hub.Step{Thinks: e.thinks()}
	switch string(e.kind) {
	case "content_block_start":
		err = r.begin(e)
	case "content_block_delta":
		r.delta(e)
	case "content_block_stop":
		r.stop(e.index)
	case "message_delta":
		step.Proof = r.answer.stop != ""
	case "message_stop":
		if r.answer.stop == "" {
			return hub.Step{}, wire.ErrNoFinish
		}
		r.end()
		step.Done = true
	}
	step.Deltas = r.deltas
	step.Proof = step.Proof || len(r.deltas) > 0
	return step, err
}

// End implements hub.Reader.
func (r *upstreamReader) End() (hub.Step, error) {
	r.deltas = r.deltas[:0]
	switch {
	case r.ended:
		return hub.Step{Done: true}, nil
	case r.answer.stop == "":
		return hub.Step{}, wire.ErrNoFinish
	}
	r.end()
	return hub.Step{Deltas: r.deltas, Proof: true, Done: true}, nil
}

// Whole implements hub.Reader.
func (r *upstreamReader) Whole(body []byte) ([]hub.Delta, error) {
	var failure error
	err := r.answer.readWhole(body, func(b *upstreamBlock) {
		e := upstreamEvent{block: *b}
		if err := r.begin(&e); err != nil && failure == nil {
			failure = err
		}
		r.stop(0) // blocks of a whole answer have no index
	})
	if err == nil {
		err = failure
	}
	if err != nil {
		return nil, err
	}
	r.end()
	return r.deltas, nil
}

// Usage implements hub.Reader.
func (r *upstreamReader) Usage() wire.Usage { return r.answer.tokens() }

// begin processes the start of a content block, or a complete block of a whole message.
func (r *upstreamReader) begin(e *upstreamEvent) error {
	b := &e.block
	switch string(b.kind) {
	case "text":
		r.text(hub.DeltaText, b.text)
	case "thinking":
		r.text(hub.DeltaReasoning, b.thinking)
		r.state(hub.FormSignature, b.signature)
	case "redacted_thinking":
		r.state(hub.FormRedacted, b.data)
	case "tool_use":
		return r.call(e)
	}
	return nil
}

// delta emits the piece of a block's content in the event e.
func (r *upstreamReader) delta(e *upstreamEvent) {
	b := &e.block
	switch string(b.kind) {
	case "text_delta":
		r.text(hub.DeltaText, b.text)
	case "thinking_delta":
		r.text(hub.DeltaReasoning, b.thinking)
	case "signature_delta":
		r.state(hub.FormSignature, b.signature)
	case "input_json_delta":
		position := r.find(e.index)
		if position < 0 || len(b.partial) == 0 {
			return // a tool that the upstream runs, or an empty delta
		}
		c := &r.open[position]
		c.hasArguments = true
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: c.call, Text: b.partial})
	}
}

// text emits a delta of the given kind with a text, unless the text is empty.
func (r *upstreamReader) text(kind hub.DeltaKind, text []byte) {
	if len(text) > 0 {
		r.deltas = append(r.deltas, hub.Delta{Kind: kind, Text: text})
	}
}

// state emits reasoning state, unless the state is empty. raw is the text between the quotes of a JSON string, still
// escaped.
func (r *upstreamReader) state(form hub.Form, raw []byte) {
	if len(raw) > 0 {
		state := hub.State{Form: form, Data: string(jsontext.AppendUnquoted(nil, raw))}
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaState, State: state})
	}
}

// call emits the beginning of a tool call. An id that is invalid or already used is replaced.
func (r *upstreamReader) call(e *upstreamEvent) error {
	b := &e.block
	if len(r.ids) == maxUpstreamCalls {
		return fmt.Errorf("%w: more than %d tool calls", wire.ErrBroken, maxUpstreamCalls)
	}
	if len(b.name) == 0 {
		return fmt.Errorf("%w: a tool call without a name", wire.ErrBroken)
	}
	id := string(b.id)
	if !wire.LegalID(id) || slices.Contains(r.ids, id) {
		id = wire.NewID("call_")
	}
	c := upstreamCall{index: e.index, call: len(r.ids)}
	if len(b.input) > len("{}") {
		c.input = jsontext.AppendEscaped(nil, b.input)
	}
	r.ids = append(r.ids, id)
	r.open = append(r.open, c)
	name := string(jsontext.AppendUnquoted(nil, b.name))
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaCall, Call: c.call, ID: id, Name: name})
	return nil
}

// find returns the index in r.open of the tool call whose content block has the given index in the answer, or -1.
func (r *upstreamReader) find(index int64) int {
	for i, c := range slices.Backward(r.open) {
		if c.index == index {
			return i
		}
	}
	return -1
}

// upstreamEmpty are the arguments of a call without arguments.
var upstreamEmpty = []byte("{}")

// stop ends the block with the given index.
func (r *upstreamReader) stop(index int64) {
	position := r.find(index)
	if position < 0 {
		return
	}
	r.close(&r.open[position])
	r.open = slices.Delete(r.open, position, position+1)
}

// close emits the arguments of a call whose arguments did not come in deltas: those in the block's input, or {}.
func (r *upstreamReader) close(c *upstreamCall) {
	if c.hasArguments {
		return
	}
	text := c.input
	if len(text) == 0 {
		text = upstreamEmpty
	}
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: c.call, Text: text})
}

// end closes open calls and adds DeltaEnd.
func (r *upstreamReader) end() {
	for i := range r.open {
		r.close(&r.open[i])
	}
	r.open, r.ended = nil, true
	end := hub.End{Finish: r.finish(), Usage: r.answer.tokens()}
	if end.Finish == hub.FinishRefusal {
		r.text(hub.DeltaRefusal, r.answer.refusal)
	}
	if r.answer.stop == "stop_sequence" {
		end.StopSequence = r.answer.sequence
	}
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaEnd, End: end})
}

// finish returns the reason why the answer ended.
func (r *upstreamReader) finish() hub.Finish {
	switch r.answer.stop {
	case "max_tokens":
		return hub.FinishLength
	case "model_context_window_exceeded":
		return hub.FinishContext
	case "refusal":
		return hub.FinishRefusal
	}
	if len(r.ids) > 0 {
		return hub.FinishCalls
	}
	return hub.FinishStop
}
