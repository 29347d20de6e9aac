package hub

import (
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Delta is one step of an answer. Its bytes are valid until the next call of the reader that made it.
type Delta struct {
	Kind DeltaKind
	// Text is the text of the kinds that have one. It is the inside of a JSON string with its escapes, and never empty.
	// Upstream and client both use JSON, so most text passes without being unescaped.
	Text []byte
	// Logprobs belongs to DeltaText. It is the JSON array logprobs.content of chat, or nil.
	Logprobs []byte
	// Call is the number of a call in its answer, from 0 in the order of DeltaCall.
	Call int
	// ID and Name belong to DeltaCall. IDs match ^[A-Za-z0-9_-]{1,64}$ and are unique.
	ID, Name string
	// State belongs to DeltaState.
	State State
	// End belongs to DeltaEnd.
	End End
}

// DeltaKind is the kind of a delta.
type DeltaKind uint8

// The kinds of deltas. Readers guarantee this order:
//
//   - DeltaCall begins the call with the number Call, once, when its name is known. DeltaArguments of the call follow
//     it. Calls may interleave. Each call gets at least one DeltaArguments ("{}" if the model gave none).
//   - DeltaState belongs to the reasoning before it or, if there was no reasoning since the last text or call, to what
//     follows it.
//   - DeltaEnd is the last one and occurs once.
const (
	DeltaText DeltaKind = iota + 1
	DeltaReasoning
	DeltaRefusal
	DeltaCall
	DeltaArguments
	DeltaState
	DeltaEnd
)

// Finish is the reason why an answer ended.
type Finish uint8

// The reasons (specification 5).
const (
	FinishStop Finish = iota + 1
	FinishCalls
	FinishLength
	FinishContext // the context window is full
	// FinishRefusal means that a filter withheld the answer or the rest of it. A refusal that the model wrote itself
	// (DeltaRefusal) ends like any other text.
	FinishRefusal
)

// End is the end of a complete answer.
type End struct {
	Finish Finish
	// StopSequence is the text that stopped the model. It is empty if the upstream did not state it.
	StopSequence string
	// Usage counts as chat does; see Reader.Usage.
	Usage wire.Usage
}

// Step is the result of one event of an upstream's stream.
type Step struct {
	// Deltas are valid until the next call.
	Deltas []Delta
	// Proof reports that the candidate has proved itself (specification 13.2).
	Proof bool
	// Thinks reports that the event shows that the model thinks, which is no proof.
	Thinks bool
	// Done reports that the stream is complete. What follows is not read.
	Done bool
}

// Reader reads the answer of an upstream. Its errors are *wire.UpstreamError for an error that the upstream stated,
// wire.ErrNoFinish, wire.ErrNoChoices, and those that wrap wire.ErrBroken.
type Reader interface {
	// Event reads one event of a stream.
	Event(name, data []byte) (Step, error)
	// End is called at the end of the body.
	End() (Step, error)
	// Whole reads an answer that is not streamed. The deltas end with DeltaEnd.
	Whole(body []byte) ([]Delta, error)
	// Usage returns what the upstream has stated up to now. Known reports that this may be final.
	Usage() wire.Usage
}

// Writer writes an answer for a client, streamed or whole. A writer is used for one answer.
type Writer interface {
	// Stream appends the events for some deltas. The first call also writes what comes before all content. After
	// DeltaEnd the stream is complete.
	Stream(dst []byte, deltas []Delta) []byte
	// Fail appends the end of a stream that broke (specification 12.4).
	Fail(dst []byte, f Failure) []byte
	// KeepAlive appends a sign of life.
	KeepAlive(dst []byte) []byte
	// Whole returns the body of an answer that is not streamed.
	Whole(deltas []Delta) ([]byte, error)
}

// ErrArguments is the error of Writer.Whole for tool arguments that are not a JSON object and cannot be repaired
// (specification 5).
var ErrArguments = errors.New("the tool arguments are not a JSON object")

// Failure describes a broken stream for the client.
type Failure struct {
	// Code is a code of the gateway, for example "upstream_stream_error". Type is a type of the messages format, for
	// example "overloaded_error".
	Code, Type, Message string
	RequestID           string
}

// Reply holds what a Writer needs to know beside the request.
type Reply struct {
	// Created is the creation time in the answer.
	Created time.Time
	// Now returns the time at which the answer is complete. A nil Now means time.Now.
	Now func() time.Time
	// InputTokens is the estimate with which a stream begins, before the upstream has stated the number (specification
	// 6.1). If it is 0 the tokens are counted when they are needed.
	InputTokens int64
	// NewID makes the ids in the answer. A nil NewID means wire.NewID.
	NewID func(prefix string) string
	// Remember keeps the reasoning before a call, for a client that gets no token of it. A nil Remember means that it
	// is not kept.
	Remember func(call string, reasoning []Reasoning)
	// KeepItem keeps an item of the answer under the id that the client knows, for requests that refer to it. The text
	// is JSON and valid only during the call. A nil KeepItem means that items are not kept.
	KeepItem func(id string, text []byte)
	// Seal returns a token of reasoning state (see Sealer), or an empty string if it cannot make one. A nil Seal means
	// that there are no tokens.
	Seal func(State) string
}

// ID returns a new id.
func (r *Reply) ID(prefix string) string {
	if r.NewID != nil {
		return r.NewID(prefix)
	}
	return wire.NewID(prefix)
}

// Time returns the current time.
func (r *Reply) Time() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// Estimate returns the usage of an answer whose upstream stated none, or only a part before the end. stated is what it
// stated, textBytes is the number of bytes of text, reasoning and arguments. Clients display the estimate, and use it
// to find out how much room is left in the context window.
func (r *Reply) Estimate(request *Request, stated *wire.Usage, textBytes int64) wire.Usage {
	u := *stated
	if u.Prompt == 0 {
		u.Prompt = r.InputTokens
	}
	if u.Prompt == 0 {
		u.Prompt = CountTokens(request)
	}
	u.Completion = max(u.Completion, wire.EstimateTokens(textBytes))
	return u
}

// Token returns a token, or an empty string.
func (r *Reply) Token(s State) string {
	if r.Seal == nil {
		return ""
	}
	return r.Seal(s)
}

// Pass converts one answer of an upstream for the client. See Translate, and the NewPass of each format for an answer
// that is already in the client's format.
type Pass interface {
	// Event takes one event of the upstream's stream and appends the corresponding events for the client to dst. Its
	// errors are those of Reader; nothing is appended then.
	Event(dst, name, data []byte) ([]byte, wire.Progress, error)
	// End is called at the end of the upstream's body. It appends what a complete answer is missing, or returns an
	// error.
	End(dst []byte) ([]byte, error)
	// Whole appends the client's body of an answer that is not streamed to dst. It returns nil with an error.
	Whole(dst, body []byte) ([]byte, error)
	// Fail and KeepAlive are as in Writer.
	Fail(dst []byte, f Failure) []byte
	KeepAlive(dst []byte) []byte
	// Usage is the last usage seen (see Reader.Usage). TextBytes is the size of the answer so far.
	Usage() wire.Usage
	TextBytes() int64
}
