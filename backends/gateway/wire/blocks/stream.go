package blocks

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Frames writes the events of a stream in one format.
type Frames interface {
	// Start appends the events that open the stream, Finish those that end a complete stream.
	Start(dst []byte) []byte
	Finish(dst []byte, e *hub.End) []byte
	// Begin appends the event that begins a block, and End the event that ends it. index is the block's position in the
	// answer.
	Begin(dst []byte, index int, b *Block) []byte
	// Delta appends the event for a piece of the block's text or arguments. piece is the text between the quotes of a
	// JSON string, still escaped.
	Delta(dst []byte, index int, b *Block, piece []byte) []byte
	End(dst []byte, index int, b *Block) []byte
}

// Stream appends the events for deltas. The first call also appends the events that open the stream. Stream appends
// nothing after the end of the stream.
func (a *Answer) Stream(dst []byte, deltas []hub.Delta, f Frames) []byte {
	if a.Ended {
		return dst
	}
	if !a.Started {
		a.Started = true
		dst = f.Start(dst)
	}
	for i := range deltas {
		d := &deltas[i]
		dst = a.stream(dst, d, f)
		if d.Kind == hub.DeltaEnd {
			a.Ended = true
			return f.Finish(dst, &d.End)
		}
	}
	return dst
}

// stream adds the delta d to its block and appends all events of blocks that can be written now. For the first block
// these are the events of the content that has arrived so far. When the first block is finished and another block
// waits, the events of the next block follow. After DeltaEnd the events of all blocks are written.
func (a *Answer) stream(dst []byte, d *hub.Delta, f Frames) []byte {
	a.Take(d)
	ended, cutOff := d.Kind == hub.DeltaEnd, false
	if ended {
		cutOff = CutOff(d.End.Finish)
	}
	for len(a.blocks) > 0 {
		dst = a.sendAvailable(dst, f)
		isLast := len(a.blocks) == 1
		othersWait := !a.blocks[0].finished() && !a.overLimit()
		if !ended && (isLast || othersWait) {
			break
		}
		dst = a.closeFirst(dst, f, cutOff)
	}
	return dst
}

// sendAvailable appends the events for the part of the first block that can be written now.
func (a *Answer) sendAvailable(dst []byte, f Frames) []byte {
	b := &a.blocks[0]
	if !a.open {
		a.open = true
		dst = f.Begin(dst, a.index, b)
	}
	if b.Kind == Tool {
		if piece := b.sendable(); len(piece) > 0 {
			dst = f.Delta(dst, a.index, b, piece)
			b.markSent(len(piece))
		}
		return dst
	}
	if len(b.Text) > 0 {
		dst = f.Delta(dst, a.index, b, b.Text)
		b.Text = reuse(b.Text)
	}
	return dst
}

// closeFirst appends the events that end the first block, and removes the block. The client must have the block's
// beginning. cutOff is set if the answer was cut off, so that the missing arguments of a call will not come.
func (a *Answer) closeFirst(dst []byte, f Frames, cutOff bool) []byte {
	b := &a.blocks[0]
	if b.Kind == Tool {
		if remainder := b.remainder(cutOff); len(remainder) > 0 {
			dst = f.Delta(dst, a.index, b, remainder)
		}
	}
	dst = f.End(dst, a.index, b)
	a.index++
	a.open = false
	a.removeFirst()
	return dst
}

// Whole adds the deltas of a whole answer. blocks holds the answer's blocks. If the answer has none, blocks holds an
// empty text block. end is the End in DeltaEnd.
func (a *Answer) Whole(deltas []hub.Delta) (blocks []Block, end hub.End) {
	for i := range deltas {
		a.Take(&deltas[i])
		if deltas[i].Kind == hub.DeltaEnd {
			end = deltas[i].End
		}
	}
	if len(a.blocks) == 0 {
		a.add(Text)
	}
	return a.blocks, end
}

// TextBytes returns the number of bytes of text, reasoning and arguments in all deltas so far.
func (a *Answer) TextBytes() int64 { return a.textBytes }

// Refusal returns the text with which the model refused to answer, still escaped for a JSON string. The text is empty
// if the model did not refuse.
func (a *Answer) Refusal() []byte { return a.refusal }

// CutOff reports whether the finish reason f means that the answer was cut off. In such an answer the arguments of the
// last call may be incomplete.
func CutOff(f hub.Finish) bool { return f == hub.FinishLength || f == hub.FinishContext }

// Stop is the reason why an answer ended, as the client gets it.
type Stop string

// The stop reasons, with their names in the messages format.
const (
	EndTurn      Stop = "end_turn"
	MaxTokens    Stop = "max_tokens"
	ContextFull  Stop = "model_context_window_exceeded"
	StopSequence Stop = "stop_sequence"
	ToolUse      Stop = "tool_use"
	Refused      Stop = "refusal"
)

// Stopped returns the stop reason of an answer that ends with e. If the reason is StopSequence, sequence is the stop
// sequence, and otherwise it is empty. An answer without a tool call never has the reason ToolUse, even if the
// upstream's reason is FinishCalls, since a client would look for the call.
func (a *Answer) Stopped(e *hub.End) (reason Stop, sequence string) {
	switch {
	case a.refused || e.Finish == hub.FinishRefusal:
		return Refused, ""
	case e.Finish == hub.FinishLength:
		return MaxTokens, ""
	case e.Finish == hub.FinishContext:
		return ContextFull, ""
	case a.hasCall:
		return ToolUse, ""
	case e.StopSequence != "" && slices.Contains(a.Request.Stop, e.StopSequence):
		return StopSequence, e.StopSequence
	}
	return EndTurn, ""
}

// Counts holds token counts. Input does not include the tokens that were read from the prompt cache (Read) or written
// to it (Written). Thinking is a part of Output.
type Counts struct{ Input, Read, Written, Output, Thinking int64 }

// Counts converts u, the usage that the upstream stated. If the upstream stated no usage, the result is an estimate.
func (a *Answer) Counts(u *wire.Usage) Counts {
	u = a.Reply.Usage(a.Request, u, a.textBytes)
	return Counts{
		Input:    max(0, u.Prompt-u.CacheRead-u.CacheWrite),
		Read:     u.CacheRead,
		Written:  u.CacheWrite,
		Output:   u.Completion,
		Thinking: u.Reasoning,
	}
}
