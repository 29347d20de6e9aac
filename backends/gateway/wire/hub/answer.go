package hub

import (
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Delta is one step of an answer. Its bytes are valid until the next call of the Reader that returned the delta.
type Delta struct {
	Kind DeltaKind
	// Text is the text of a delta whose kind has text. It is never empty. The bytes are those between the quotes of a
	// JSON string, still escaped: upstream and client both use JSON, so most text passes without being unescaped.
	Text []byte
	// Logprobs belongs to DeltaText. It is the JSON array logprobs.content of chat completions, or nil.
	Logprobs []byte
	// Call is the index of a tool call in its answer. Calls are numbered in the order of their DeltaCall deltas.
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
//   - DeltaCall begins the tool call with the index Call, once, when its name is known. At least one DeltaArguments of
//     the call follows ("{}" if the model gave no arguments). Calls may interleave.
//   - DeltaState belongs to the reasoning before it. If there was no reasoning since the last text or call, it belongs
//     to the next text or call.
//   - DeltaEnd is the last delta and occurs once.
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

// The finish reasons.
const (
	FinishStop Finish = iota + 1
	FinishCalls
	FinishLength
	FinishContext // the context window is full
	// FinishRefusal means that a filter withheld the answer or the rest of the answer. An answer in which the model
	// itself refuses (DeltaRefusal) has one of the other reasons.
	FinishRefusal
)

// End describes the end of a complete answer.
type End struct {
	Finish Finish
	// StopSequence is the stop sequence at which the model stopped. It is empty if the upstream stated none.
	StopSequence string
	// Usage is counted as in chat completions; see Reader.Usage.
	Usage wire.Usage
}

// Step is the result of reading one event of a stream.
type Step struct {
	// Deltas are valid until the reader's next call.
	Deltas []Delta
	// Proof is set if the candidate has proved itself.
	Proof bool
	// Thinks is set if the event shows that the model is thinking. Thinks alone does not mean that the candidate has
	// proved itself.
	Thinks bool
	// Done is set if the stream is complete. Later events are not read.
	Done bool
}

// Reader reads one answer of an upstream. Its methods return a *wire.UpstreamError for an error that the upstream
// stated. The other errors are wire.ErrNoFinish, wire.ErrNoChoices, and errors that wrap wire.ErrBroken.
type Reader interface {
	// Event reads one event of a stream. name is the value of the event's field "event", and data is the event's data.
	Event(name, data []byte) (Step, error)
	// End is called at the end of the body of a stream. It returns the deltas that are still missing, or an error if
	// the answer is incomplete.
	End() (Step, error)
	// Whole reads an answer that is not streamed. The last delta is DeltaEnd.
	Whole(body []byte) ([]Delta, error)
	// Usage returns the usage that the upstream has stated so far. The field Known of the result is set if the usage may
	// be final.
	Usage() wire.Usage
}

// Writer writes one answer for a client, streamed or whole.
type Writer interface {
	// Stream appends the events for deltas. The first call also appends the events that open a stream. After DeltaEnd
	// the stream is complete.
	Stream(dst []byte, deltas []Delta) []byte
	// Fail appends the events that end a broken stream.
	Fail(dst []byte, f Failure) []byte
	// KeepAlive appends an event or comment line that the client ignores. It keeps an idle connection open.
	KeepAlive(dst []byte) []byte
	// Whole returns the body of an answer that is not streamed.
	Whole(deltas []Delta) ([]byte, error)
}

// ErrArguments is the error of Writer.Whole for tool arguments that are not a JSON object and cannot be repaired.
var ErrArguments = errors.New("the tool arguments are not a JSON object")

// Failure describes a broken stream for the client.
type Failure struct {
	// Code is an error code of the gateway, such as "upstream_stream_error". Type is an error type of the messages
	// format, such as "overloaded_error".
	Code, Type, Message string
	RequestID           string
}

// Reply holds the settings of a Writer that do not come from the request.
type Reply struct {
	// Created is the creation time stated in the answer.
	Created time.Time
	// Now returns the current time, for the completion time in the answer. A nil Now means time.Now.
	Now func() time.Time
	// InputTokens is the estimated number of prompt tokens, for streams that state the number before the upstream does.
	// If it is 0 the tokens are counted when needed.
	InputTokens int64
	// NewID makes the ids in the answer. A nil NewID means wire.NewID.
	NewID func(prefix string) string
	// Remember stores the reasoning before a tool call, for a client that gets no token with the reasoning's state.
	// call is the call's id. A nil Remember means that reasoning is not stored.
	Remember func(call string, reasoning []Reasoning)
	// KeepItem stores an item of the answer, so that later requests can refer to the item's id. The text is JSON and
	// valid only during the call. A nil KeepItem means that items are not stored.
	KeepItem func(id string, text []byte)
	// Seal returns a token of reasoning state (see Sealer), or an empty string if the state does not fit into a token.
	// A nil Seal means that the client gets no tokens.
	Seal func(State) string
}

// ID returns a new id with the given prefix.
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

// Usage returns the usage that the client gets. upstreamUsage is the usage that the upstream stated. If it is final,
// it is returned unchanged. Otherwise the missing counts are estimated. textBytes is the number of bytes of text,
// reasoning and arguments. Clients display the estimate, and use it to compute the free part of the context window.
func (r *Reply) Usage(request *Request, upstreamUsage *wire.Usage, textBytes int64) *wire.Usage {
	if upstreamUsage.Known {
		return upstreamUsage
	}
	u := *upstreamUsage
	if u.Prompt == 0 {
		u.Prompt = r.InputTokens
	}
	if u.Prompt == 0 {
		u.Prompt = CountTokens(request)
	}
	u.Completion = max(u.Completion, wire.EstimateTokens(textBytes))
	return &u
}

// Token returns a token that contains the reasoning state s. It returns an empty string if r.Seal is nil or cannot make
// a token.
func (r *Reply) Token(s State) string {
	if r.Seal == nil {
		return ""
	}
	return r.Seal(s)
}

// Pass converts one answer of an upstream for the client. Translate returns a Pass that converts between two formats.
// The method NewPass of a format returns a Pass for an answer that is already in the client's format.
type Pass interface {
	// Event converts one event of the upstream's stream and appends the resulting events for the client to dst. The errors
	// are those of Reader. If Event returns an error, it appends nothing.
	Event(dst, name, data []byte) ([]byte, wire.Progress, error)
	// End is called at the end of the upstream's body. If the answer is complete but its end was not sent, End appends
	// the end. Otherwise it returns an error.
	End(dst []byte) ([]byte, error)
	// Whole converts an answer that is not streamed and appends the client's body to dst. With an error it returns nil.
	Whole(dst, body []byte) ([]byte, error)
	// Fail and KeepAlive do the same as in Writer.
	Fail(dst []byte, f Failure) []byte
	KeepAlive(dst []byte) []byte
	// Usage returns the last stated usage (see Reader.Usage). TextBytes returns the bytes of text, reasoning and
	// arguments so far.
	Usage() wire.Usage
	TextBytes() int64
}
