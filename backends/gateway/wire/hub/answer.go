package hub

import (
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Delta is one step of an answer. Its bytes are valid until the reader that made
// it is asked again.
type Delta struct {
	Kind DeltaKind
	// Text of the kinds that have one: the inside of a JSON string, escapes and
	// all, never empty. Upstream and client both speak JSON, so most text passes
	// without being unescaped.
	Text []byte
	// Logprobs of DeltaText: the JSON array of chat's logprobs.content; nil: none.
	Logprobs []byte
	// Call numbers the calls of an answer from 0 in the order of DeltaCall.
	Call int
	// ID and Name of DeltaCall. IDs match ^[A-Za-z0-9_-]{1,64}$ and are unique.
	ID, Name string
	// State of DeltaState.
	State State
	// End of DeltaEnd.
	End End
}

// DeltaKind tells deltas apart.
type DeltaKind uint8

// The kinds of deltas, and what readers promise about their order:
//
//   - DeltaCall begins call Call, once, with its name known; DeltaArguments of
//     a call follow it. Calls may interleave. Each call gets at least one
//     DeltaArguments ("{}" when the model gave none).
//   - DeltaState belongs to the reasoning before it, or, with no reasoning
//     since the last text or call, to what follows it.
//   - DeltaEnd is the last one, once.
const (
	DeltaText DeltaKind = iota + 1
	DeltaReasoning
	DeltaRefusal
	DeltaCall
	DeltaArguments
	DeltaState
	DeltaEnd
)

// Finish is why an answer ended.
type Finish uint8

// The reasons (specification 5).
const (
	FinishStop Finish = iota + 1
	FinishCalls
	FinishLength
	FinishContext // the context window is full
	// FinishRefusal: a filter withheld the answer, or the rest of it. A refusal that the
	// model wrote itself (DeltaRefusal) has an end like any other.
	FinishRefusal
)

// End is the end of an answer that is complete.
type End struct {
	Finish Finish
	// StopSequence is the text that stopped the model; empty: not told.
	StopSequence string
	// Usage as chat counts; see Reader.Usage.
	Usage wire.Usage
}

// Step is what one event of an upstream's stream comes to.
type Step struct {
	// Deltas are valid until the next call.
	Deltas []Delta
	// Proof: the candidate has proved itself (specification 13.2).
	Proof bool
	// Thinks: the model thinks, as the event shows. It is no proof.
	Thinks bool
	// Done: the stream is complete, what follows is not read.
	Done bool
}

// Reader reads the answer of an upstream. Errors: *wire.UpstreamError for one
// that the upstream told, wire.ErrNoFinish, wire.ErrNoChoices, or one that wraps
// wire.ErrBroken.
type Reader interface {
	// Event reads one event of a stream.
	Event(name, data []byte) (Step, error)
	// End is the end of the body.
	End() (Step, error)
	// Whole reads an answer that is not streamed. It ends with DeltaEnd.
	Whole(body []byte) ([]Delta, error)
	// Usage is what the upstream has told up to now. Known: it may be the last word.
	Usage() wire.Usage
}

// Writer writes an answer for a client, as a stream or as a whole; one writer
// serves one answer.
type Writer interface {
	// Stream appends the events for some deltas. The first call writes what
	// stands before all content. Behind DeltaEnd the stream is complete.
	Stream(dst []byte, deltas []Delta) []byte
	// Fail appends the end of a stream that broke (specification 12.4).
	Fail(dst []byte, f Failure) []byte
	// KeepAlive appends a sign of life.
	KeepAlive(dst []byte) []byte
	// Whole is the body of an answer that is not streamed.
	Whole(deltas []Delta) ([]byte, error)
}

// ErrArguments is Writer.Whole's error for tool arguments that are no JSON object
// and cannot be repaired (specification 5).
var ErrArguments = errors.New("the tool arguments are not a JSON object")

// Failure is what a client is told of a stream that broke.
type Failure struct {
	// Code is the gateway's, for example "upstream_stream_error"; Type the
	// messages format's, for example "overloaded_error".
	Code, Type, Message string
	RequestID           string
}

// Reply is what a Writer needs to know beside the request.
type Reply struct {
	// Created is the time that the answer carries.
	Created time.Time
	// Now tells when the answer is complete; nil: time.Now.
	Now func() time.Time
	// InputTokens is the estimate that a stream begins with, before the upstream
	// has told the number (specification 6.1); 0: it is counted when it is needed.
	InputTokens int64
	// NewID makes the ids of what is answered; nil: wire.NewID.
	NewID func(prefix string) string
	// Remember keeps the reasoning before a call for a client that gets no token of
	// it; nil: nobody does.
	Remember func(call string, reasoning []Reasoning)
	// KeepItem keeps an item of the answer, by the id that the client knows, for requests
	// that refer to it. Text is JSON text and only valid during the call. Nil: none is kept.
	KeepItem func(id string, text []byte)
	// Seal makes a token of reasoning state (see Sealer); empty: none can be made.
	// nil: there are no tokens.
	Seal func(State) string
}

// ID makes an id.
func (r *Reply) ID(prefix string) string {
	if r.NewID != nil {
		return r.NewID(prefix)
	}
	return wire.NewID(prefix)
}

// Time is the time now.
func (r *Reply) Time() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// Estimate is the usage of an answer whose upstream told none, or only some before the
// end, with the bytes of its text, reasoning and arguments: clients show it, and go by
// it when they look for room in the context window.
func (r *Reply) Estimate(request *Request, told *wire.Usage, textBytes int64) wire.Usage {
	u := *told
	if u.Prompt == 0 {
		u.Prompt = r.InputTokens
	}
	if u.Prompt == 0 {
		u.Prompt = CountTokens(request)
	}
	u.Completion = max(u.Completion, wire.EstimateTokens(textBytes))
	return u
}

// Token makes a token, or none.
func (r *Reply) Token(s State) string {
	if r.Seal == nil {
		return ""
	}
	return r.Seal(s)
}

// Pass carries one answer of an upstream to the client: see Translate, and the
// NewPass of each format for an answer that is in the client's format already.
type Pass interface {
	// Event takes one event of the upstream's stream and appends what the client
	// gets for it to dst. Errors are those of Reader; nothing is appended then.
	Event(dst, name, data []byte) ([]byte, wire.Progress, error)
	// End is the end of the upstream's body: it appends what is missing to a
	// complete answer, or fails.
	End(dst []byte) ([]byte, error)
	// Whole appends the client's body of an answer that is not streamed to dst,
	// which is nil after an error.
	Whole(dst, body []byte) ([]byte, error)
	// Fail and KeepAlive are those of Writer.
	Fail(dst []byte, f Failure) []byte
	KeepAlive(dst []byte) []byte
	// Usage is the last usage seen (see Reader.Usage), TextBytes the size of the
	// answer so far.
	Usage() wire.Usage
	TextBytes() int64
}
