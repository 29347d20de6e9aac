package blocks

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Frames writes the events of one content block of a stream. index is the block's index.
type Frames interface {
	Begin(dst []byte, index int, b *Block) []byte
	// Delta appends a piece of the block's text or arguments, which is the inside of a JSON string.
	Delta(dst []byte, index int, b *Block, piece []byte) []byte
	End(dst []byte, index int, b *Block) []byte
}

// Stream adds a delta and appends the events that can be written: those of the first block as far as possible and, once
// that block is finished, those of the next ones. After DeltaEnd all events are written.
func (a *Answer) Stream(dst []byte, d *hub.Delta, f Frames) []byte {
	a.Take(d)
	ended, cut := d.Kind == hub.DeltaEnd, false
	if ended {
		cut = CutOff(d.End.Finish)
	}
	for len(a.blocks) > 0 {
		dst = a.advance(dst, f)
		if !ended && (len(a.blocks) == 1 || !a.blocks[0].finished() && !a.crowded()) {
			break
		}
		dst = a.close(dst, f, cut)
	}
	return dst
}

// advance writes the available part of the first block.
func (a *Answer) advance(dst []byte, f Frames) []byte {
	b := &a.blocks[0]
	if !a.open {
		a.open = true
		dst = f.Begin(dst, a.index, b)
	}
	if b.Kind == Tool {
		if piece := b.sendable(); len(piece) > 0 {
			dst = f.Delta(dst, a.index, b, piece)
			b.pass(len(piece))
		}
		return dst
	}
	if len(b.Text) > 0 {
		dst = f.Delta(dst, a.index, b, b.Text)
		b.Text = reuse(b.Text)
	}
	return dst
}

// close ends the first block, which must be open. cut is set if the answer was cut off, so that the rest of the block's
// arguments will not come.
func (a *Answer) close(dst []byte, f Frames, cut bool) []byte {
	b := &a.blocks[0]
	if b.Kind == Tool {
		if rest := b.rest(cut); len(rest) > 0 {
			dst = f.Delta(dst, a.index, b, rest)
		}
	}
	dst = f.End(dst, a.index, b)
	a.index++
	a.open = false
	a.shift()
	return dst
}

// Whole adds the deltas of a whole answer. It returns the answer's blocks, at least one, and its end.
func (a *Answer) Whole(deltas []hub.Delta) (all []Block, end hub.End) {
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

// TextBytes returns the number of bytes of text, reasoning and arguments so far.
func (a *Answer) TextBytes() int64 { return a.textBytes }

// Refusal returns the text of a refusal as the inside of a JSON string. It is empty if the model did not refuse.
func (a *Answer) Refusal() []byte { return a.refusal }

// CutOff reports whether an answer with this finish reason was cut off, so that the last call's arguments may be
// incomplete.
func CutOff(f hub.Finish) bool { return f == hub.FinishLength || f == hub.FinishContext }

// Stop is a stop reason as clients see it.
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

// Stopped returns the stop reason of an answer, and the stop sequence if the reason is StopSequence. FinishCalls
// without a call becomes the reason of a normal end, since with ToolUse the client would look for a tool block.
func (a *Answer) Stopped(e *hub.End) (reason Stop, sequence string) {
	switch {
	case a.refused || e.Finish == hub.FinishRefusal:
		return Refused, ""
	case e.Finish == hub.FinishLength:
		return MaxTokens, ""
	case e.Finish == hub.FinishContext:
		return ContextFull, ""
	case a.called:
		return ToolUse, ""
	case e.StopSequence != "" && slices.Contains(a.Request.Stop, e.StopSequence):
		return StopSequence, e.StopSequence
	}
	return EndTurn, ""
}

// Counts is a usage whose Input does not include the cached tokens.
type Counts struct{ Input, Read, Written, Output, Thinking int64 }

// Counts converts a usage.
func (a *Answer) Counts(u *wire.Usage) Counts {
	if !u.Known {
		estimate := a.Reply.Estimate(a.Request, u, a.textBytes)
		u = &estimate
	}
	return Counts{
		Input:    max(0, u.Prompt-u.CacheRead-u.CacheWrite),
		Read:     u.CacheRead,
		Written:  u.CacheWrite,
		Output:   u.Completion,
		Thinking: u.Reasoning,
	}
}
