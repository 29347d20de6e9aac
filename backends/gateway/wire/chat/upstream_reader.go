package chat

import (
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewReader returns a reader for one answer from a chat upstream. state is the form in which the upstream sends
// reasoning state: FormThought, FormDetails, or empty if it sends no state. thinkTags is set for an upstream that puts
// reasoning into the content: if the text begins with <think>, it is reasoning up to </think>.
func NewReader(state hub.Form, thinkTags bool) hub.Reader {
	r := &reader{state: state, newID: wire.NewID}
	if thinkTags {
		r.tags.phase = beforeThinking
	}
	return r
}

// reader implements hub.Reader for chat completions, streamed or whole.
type reader struct {
	state   hub.Form
	newID   func(prefix string) string
	deltas  []hub.Delta // result of the current call
	proof   bool        // hub.Step.Proof of the current call
	chunk   chunk
	frame   frame
	tags    thinkTags
	calls   calls
	details details
	usage   wire.Usage
	finish  finish
	ended   bool
}

// Event implements hub.Reader.
func (r *reader) Event(name, data []byte) (hub.Step, error) {
	r.begin()
	data, done := wire.EventData(data)
	switch {
	case r.ended:
		return hub.Step{Done: true}, nil
	case len(data) == 0:
		return hub.Step{}, nil
	case done:
		return r.end()
	case string(name) == "error":
		return hub.Step{}, wire.ParseUpstreamError(200, data)
	}
	if kind, text, ok := r.frame.match(data); ok {
		r.emit(kind, text)
		return r.step(), nil
	}
	if err := r.read(data, "delta"); err != nil {
		return hub.Step{}, err
	}
	r.frame.learn(data, &r.chunk, r.tags.phase)
	return r.step(), nil
}

// End implements hub.Reader.
func (r *reader) End() (hub.Step, error) {
	r.begin()
	if r.ended {
		return hub.Step{Done: true}, nil
	}
	return r.end()
}

// Whole implements hub.Reader.
func (r *reader) Whole(body []byte) ([]hub.Delta, error) {
	r.begin()
	r.calls.separate = true
	if err := r.read(body, "message"); err != nil {
		return nil, err
	}
	if !r.proof {
		return nil, wire.ErrNoChoices
	}
	if r.finish.reason == "" { // the answer is complete although it states no reason
		r.finish.reason = "stop"
	}
	step, err := r.end()
	return step.Deltas, err
}

// Usage implements hub.Reader.
func (r *reader) Usage() wire.Usage { return r.usage }

// begin discards the results of the previous call.
func (r *reader) begin() { r.deltas, r.proof = r.deltas[:0], false }

// step returns the results of the current call.
func (r *reader) step() hub.Step {
	return hub.Step{Deltas: r.deltas, Proof: r.proof, Thinks: len(r.chunk.details) > 0}
}

// read reads one body, which is an event of a stream or a whole answer, and appends its deltas to r.deltas. A body may
// have several kinds of content; the deltas have the order in which a model produces them: reasoning, state, text,
// refusal, calls. member is the name of the field of a choice that holds the content: "delta" or "message". The errors
// are a *wire.UpstreamError for an error that the upstream states, and errors that wrap wire.ErrBroken.
func (r *reader) read(body []byte, member string) error {
	c := &r.chunk
	c.reset(body)
	switch err := c.scan(member, &r.usage); {
	case err != nil:
		return err
	case c.failure != nil:
		return wire.ParseUpstreamError(200, c.failure)
	case c.finish.reason == "error":
		return &wire.UpstreamError{Status: 200, Code: "error", Message: "the model ended with an error"}
	}
	r.reasoning(c)
	if r.state == hub.FormThought {
		r.thought(c.signature)
	}
	for i := range c.pieces {
		p := &c.pieces[i]
		switch {
		case p.thinking:
			r.emit(hub.DeltaReasoning, p.text)
		case r.tags.phase != noTags:
			r.splitTags(p.text)
		default:
			r.emit(hub.DeltaText, p.text)
		}
	}
	if len(c.logprobs) > 0 {
		r.attachLogprobs(c.logprobs)
	}
	if len(c.refusal) > 0 {
		r.emit(hub.DeltaRefusal, c.refusal)
	}
	if len(c.calls) > 0 {
		r.endTags() // no more text follows
		r.calls.chunk++
	}
	for i := range c.calls {
		if err := r.call(&c.calls[i]); err != nil {
			return err
		}
	}
	if c.finish.reason != "" {
		r.finish = c.finish
		r.proof = true
	}
	return nil
}

// reasoning emits the reasoning in c and collects the entries of reasoning_details. If several fields of the chunk hold
// reasoning, only one of them is emitted, since some upstreams send the same text under two names.
func (r *reader) reasoning(c *chunk) {
	text := c.reasoningContent
	if len(text) == 0 {
		text = c.reasoning
	}
	r.emit(hub.DeltaReasoning, text)
	if len(c.details) == 0 {
		return
	}
	if len(text) == 0 {
		eachDetail(c.details, func(text []byte) { r.emit(hub.DeltaReasoning, text) })
	}
	if r.state == hub.FormDetails {
		r.details.add(c.details)
	}
}

// emit appends a delta with the given kind and text to r.deltas, unless text is empty. A text that is not reasoning
// ends the reasoning before it, so emit first appends the state collected from reasoning_details.
func (r *reader) emit(kind hub.DeltaKind, text []byte) {
	if len(text) == 0 {
		return
	}
	if kind != hub.DeltaReasoning {
		r.flushDetails()
	}
	r.proof = true
	r.deltas = append(r.deltas, hub.Delta{Kind: kind, Text: text})
}

// emitState appends a delta with reasoning state to r.deltas.
func (r *reader) emitState(form hub.Form, data string) {
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaState, State: hub.State{Form: form, Data: data}})
}

// thought appends a delta with reasoning state to r.deltas. The state is signature, Gemini's thought signature, which
// is still escaped. An empty signature, and one larger than maxState, is ignored.
func (r *reader) thought(signature []byte) {
	if len(signature) > 0 && len(signature) <= maxState {
		r.emitState(hub.FormThought, string(jsontext.AppendUnquoted(nil, signature)))
	}
}

// flushDetails emits the entries of reasoning_details that were collected, if there are any.
func (r *reader) flushDetails() {
	if data := r.details.take(); data != "" {
		r.emitState(hub.FormDetails, data)
	}
}

// attachLogprobs stores logprobs in the first text delta of the chunk that was read. Without a text delta the log
// probabilities are lost.
func (r *reader) attachLogprobs(logprobs []byte) {
	for i := range r.deltas {
		if r.deltas[i].Kind == hub.DeltaText {
			r.deltas[i].Logprobs = logprobs
			return
		}
	}
}

// end completes the answer. It emits everything that was held back and then DeltaEnd. The error is wire.ErrNoFinish if
// no finish_reason was read, or the error of completeCalls.
func (r *reader) end() (hub.Step, error) {
	if r.finish.reason == "" {
		return hub.Step{}, wire.ErrNoFinish
	}
	r.ended = true
	r.endTags()
	r.flushDetails()
	if err := r.completeCalls(); err != nil {
		return hub.Step{}, err
	}
	end := hub.End{Finish: r.finish.translate(r.calls.begun > 0), Usage: r.usage}
	if end.Finish == hub.FinishStop {
		end.StopSequence = r.finish.sequence
	}
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaEnd, End: end})
	return hub.Step{Deltas: r.deltas, Proof: r.proof, Done: true}, nil
}

// broken returns an error that wraps wire.ErrBroken and states the reason.
func broken(reason string) error { return errors.Join(wire.ErrBroken, errors.New(reason)) }
