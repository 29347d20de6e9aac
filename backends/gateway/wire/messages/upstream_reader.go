package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewReader returns a reader of one answer of a messages upstream. Blocks of tools that the upstream ran itself are
// left out, since clients of other formats cannot request such tools.
func (Format) NewReader(*catalog.Provider) hub.Reader { return &upstreamReader{} }

// upstreamReader is the hub.Reader that NewReader returns.
type upstreamReader struct {
	answer upstreamAnswer
	deltas blocks.Deltas
	ended  bool // DeltaEnd was added
}

// Event implements hub.Reader.
func (r *upstreamReader) Event(name, data []byte) (hub.Step, error) {
	r.deltas.Reset()
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
		r.deltas.Close(e.index)
	case "message_delta":
		step.Proof = r.answer.stop != ""
	case "message_stop":
		if r.answer.stop == "" {
			return hub.Step{}, wire.ErrNoFinish
		}
		r.end()
		step.Done = true
	}
	step.Deltas = r.deltas.List
	step.Proof = step.Proof || len(r.deltas.List) > 0
	return step, err
}

// End implements hub.Reader.
func (r *upstreamReader) End() (hub.Step, error) {
	r.deltas.Reset()
	switch {
	case r.ended:
		return hub.Step{Done: true}, nil
	case r.answer.stop == "":
		return hub.Step{}, wire.ErrNoFinish
	}
	r.end()
	return hub.Step{Deltas: r.deltas.List, Proof: true, Done: true}, nil
}

// Whole implements hub.Reader.
func (r *upstreamReader) Whole(body []byte) ([]hub.Delta, error) {
	var failure error
	err := r.answer.readWhole(body, func(b *upstreamBlock) {
		e := upstreamEvent{block: *b}
		if err := r.begin(&e); err != nil && failure == nil {
			failure = err
		}
		r.deltas.Close(0) // blocks of a whole answer have no index
	})
	if err == nil {
		err = failure
	}
	if err != nil {
		return nil, err
	}
	r.end()
	return r.deltas.List, nil
}

// Usage implements hub.Reader.
func (r *upstreamReader) Usage() wire.Usage { return r.answer.tokens() }

// begin processes the start of a content block, or a complete block of a whole message.
func (r *upstreamReader) begin(e *upstreamEvent) error {
	b := &e.block
	switch string(b.kind) {
	case "text":
		r.deltas.Text(hub.DeltaText, b.text)
	case "thinking":
		r.deltas.Text(hub.DeltaReasoning, b.thinking)
		r.state(hub.FormSignature, b.signature)
	case "redacted_thinking":
		r.state(hub.FormRedacted, b.data)
	case "tool_use":
		var input []byte
		if len(b.input) > len("{}") { // a stream usually states an empty object here, and the arguments in deltas
			input = jsontext.AppendEscaped(nil, b.input)
		}
		return r.deltas.Call(e.index, string(b.id), string(jsontext.AppendUnquoted(nil, b.name)), input)
	}
	return nil
}

// delta adds the piece of a block's content in the event e.
func (r *upstreamReader) delta(e *upstreamEvent) {
	b := &e.block
	switch string(b.kind) {
	case "text_delta":
		r.deltas.Text(hub.DeltaText, b.text)
	case "thinking_delta":
		r.deltas.Text(hub.DeltaReasoning, b.thinking)
	case "signature_delta":
		r.state(hub.FormSignature, b.signature)
	case "input_json_delta":
		r.deltas.Arguments(e.index, b.partial)
	}
}

// state adds reasoning state. raw is its text between the quotes of a JSON string, still escaped.
func (r *upstreamReader) state(form hub.Form, raw []byte) {
	r.deltas.State(form, string(jsontext.AppendUnquoted(nil, raw)))
}

// end closes open calls and adds DeltaEnd. If the answer is a refusal, end adds the explanation of the refusal before
// DeltaEnd.
func (r *upstreamReader) end() {
	r.ended = true
	end := hub.End{Finish: r.finish(), Usage: r.answer.tokens()}
	if r.answer.stop == "stop_sequence" {
		end.StopSequence = r.answer.sequence
	}
	if end.Finish == hub.FinishRefusal {
		r.deltas.CloseAll()
		r.deltas.Text(hub.DeltaRefusal, r.answer.refusal)
	}
	r.deltas.End(end)
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
	if r.deltas.HasCalls() {
		return hub.FinishCalls
	}
	return hub.FinishStop
}
