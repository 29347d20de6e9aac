// Package blocks handles content blocks, for the formats whose messages consist of blocks of text, reasoning and tool
// calls. Type Answer groups the deltas of an answer into blocks for a client. Type Turns writes the messages of a
// request for an upstream.
package blocks

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Kind is the type of a content block.
type Kind uint8

// The kinds of blocks.
const (
	Text Kind = iota + 1
	Thinking
	Redacted
	Tool
)

// Block is a content block of an answer. In a stream, text that the client already has is removed from the block.
type Block struct {
	Kind Kind
	// Text is the text still to be written: the text between the quotes of a JSON string, still escaped. For a tool block
	// see the field sent.
	Text []byte
	// Token is the signature of a thinking block, or the data of a redacted block. form is the form of the reasoning
	// state from which Token was made.
	Token string
	form  hub.Form
	// ID and Name are the id and the client's name of the call in a tool block. call is the index of the call
	// (hub.Delta.Call).
	ID, Name string
	call     int
	// In a tool block Text holds the arguments, including those already sent to the client. sent is the number of bytes
	// at the start of Text that were sent. sentAny is set if any arguments were sent.
	sent    int
	sentAny bool
	// syntax scans the arguments, which should be one JSON object. holding is set once the object ends or becomes invalid
	// in a piece of the arguments. Then holdFrom is the offset of this piece in Text, and validLen the number of bytes at
	// the start of the unescaped piece that are valid and do not end the object. From holdFrom on nothing is sent until
	// the block is closed, since more arguments may follow.
	syntax             hub.Syntax
	holding            bool
	holdFrom, validLen int
	// brackets finds the end of arguments that are not a valid object.
	brackets hub.Arguments
}

// finished reports whether no more content of the block is expected, so that the block can be closed when another block
// waits behind it. A block that is not a tool block is always finished.
func (b *Block) finished() bool {
	return b.Kind != Tool || b.syntax.Ended() || b.syntax.Broken() && b.brackets.Complete()
}

// addArguments adds a piece of the arguments to a tool block. text is the piece as it stands in a JSON string, and
// plain is the same piece without escapes.
func (b *Block) addArguments(text, plain []byte) {
	start := len(b.Text)
	if b.holding && start > MaxHeld {
		return // the arguments are not an object, or hold only white space
	}
	b.Text = append(b.Text, text...)
	if b.syntax.Broken() { // by an earlier piece
		b.brackets.Pass(plain)
		return
	}
	validLen := b.syntax.Pass(plain)
	if !b.holding && (b.syntax.Ended() || b.syntax.Broken()) {
		b.holding, b.holdFrom, b.validLen = true, start, validLen
	}
	if b.syntax.Broken() { // brackets takes over, from the beginning of the arguments
		b.brackets.Pass(jsontext.AppendUnquoted(nil, b.Text))
	}
}

// sendable returns the part of the arguments that may be sent to the client now. It is nil as long as the arguments are
// only white space and shorter than MaxDoubtful.
func (b *Block) sendable() []byte {
	end := len(b.Text)
	if b.holding {
		end = b.holdFrom
	}
	if !b.syntax.Begun() && end < MaxDoubtful || end < b.sent {
		return nil
	}
	return b.Text[b.sent:end]
}

// markSent records that the first size bytes of sendable were sent. If more than MaxKept bytes were sent and none wait,
// it removes the arguments from memory.
func (b *Block) markSent(size int) {
	b.sent += size
	b.sentAny = b.sentAny || size > 0
	if b.sent > MaxKept && b.sent == len(b.Text) {
		b.Text, b.sent = reuse(b.Text), 0
	}
}

// remainder returns the text that the client gets after the arguments that were already sent, so that all of them
// together are a JSON object. cutOff is set if the upstream's answer was cut off. In this case nothing is added to
// arguments that were partly sent. If the arguments are not an object, the part of them that is still in memory is
// sent as the value of a field _raw.
func (b *Block) remainder(cutOff bool) []byte {
	if b.syntax.Ended() {
		return b.Text[b.sent:] // the object is complete
	}
	if !b.sentAny {
		input, ok := b.Input(cutOff)
		if !ok {
			input = append(append([]byte(`{"_raw":"`), b.Text...), `"}`...) // Text is escaped already
		}
		return jsontext.AppendEscaped(nil, input)
	}
	if cutOff {
		return nil
	}
	// The client has the beginning of an object. If text is held back, the valid part of that text is sent. Otherwise
	// closing brackets may be enough.
	var dst []byte
	if b.holding {
		dst = jsontext.AppendUnquoted(nil, b.Text[b.holdFrom:])[:b.validLen]
	} else if closing, ok := b.syntax.Close(nil); ok {
		return jsontext.AppendEscaped(nil, closing)
	}
	dst = append(append(append(b.syntax.Extend(dst), `"_raw":"`...), b.Text...), `"}`...)
	return jsontext.AppendEscaped(nil, dst)
}

// Input returns the arguments of a call as the JSON text of an object. If they are not an object, ok is false. If
// cutOff is set, the answer was cut off, and Input returns "{}" and true instead.
func (b *Block) Input(cutOff bool) (object []byte, ok bool) {
	object, ok = hub.Object(b.Text)
	if !ok && cutOff {
		return []byte("{}"), true
	}
	return object, ok
}

// Answer groups the deltas of an answer into blocks. In a stream, blocks are written and removed as soon as possible.
// For a whole answer all blocks are returned at the end.
//
// A client can have only one open block, and a closed block cannot be opened again. So while the arguments of a call
// are unfinished, all later blocks wait.
type Answer struct {
	Request *hub.Request
	Reply   hub.Reply
	// Started is set once a stream was opened, and Ended once it was ended, by DeltaEnd or by a failure.
	Started, Ended bool

	blocks []Block
	// spare is the buffer of a block that was removed.
	spare []byte
	// scratch is a buffer for a piece of arguments without escapes.
	scratch []byte
	// hasCall is set after a tool call. refused is set after a refusal, whose text is in refusal.
	hasCall, refused bool
	refusal          []byte
	textBytes        int64

	index int  // index of the first block
	open  bool // the client has the beginning of the first block
}

// The limits of an answer.
const (
	// MaxHeld limits the bytes that wait behind an unfinished call. If more bytes wait, the call is closed, so that an
	// upstream cannot fill the memory.
	MaxHeld = 8 << 20
	// MaxDoubtful limits the bytes of arguments that are held back because they are only white space so far.
	MaxDoubtful = 64 << 10
	// MaxKept is the number of bytes of arguments that may stay in memory after they were sent.
	MaxKept = 32 << 10
	// MaxRefusal limits the bytes of a refusal's text that Refusal returns.
	MaxRefusal = 16 << 10
	// noToken is the signature of a thinking block for which there is no token. Clients do not accept an empty
	// signature.
	noToken = hub.TokenPrefix
)

// Take adds the delta d to the block to which it belongs, or begins a new block.
func (a *Answer) Take(d *hub.Delta) {
	a.textBytes += int64(len(d.Text))
	switch d.Kind {
	case hub.DeltaText:
		a.write(Text, d.Text)
	case hub.DeltaRefusal:
		a.refused = true
		if len(a.refusal)+len(d.Text) <= MaxRefusal {
			a.refusal = append(a.refusal, d.Text...)
		}
		a.write(Text, d.Text)
	case hub.DeltaReasoning:
		a.addReasoning(d.Text)
	case hub.DeltaState:
		a.addState(d.State)
	case hub.DeltaCall:
		a.hasCall = true
		b := a.add(Tool)
		b.call, b.ID, b.Name = d.Call, d.ID, a.clientName(d.Name)
	case hub.DeltaArguments:
		for i := range a.blocks {
			if b := &a.blocks[i]; b.Kind == Tool && b.call == d.Call {
				a.scratch = jsontext.AppendUnquoted(reuse(a.scratch), d.Text)
				b.addArguments(d.Text, a.scratch)
			}
		}
	case hub.DeltaEnd: // belongs to no block
	}
}

// clientName returns the client's name for the tool that upstreams know by upstreamName. For an unknown tool it
// returns upstreamName.
func (a *Answer) clientName(upstreamName string) string {
	if t := a.Request.Tool(upstreamName); t.ClientName != "" {
		return t.ClientName
	}
	return upstreamName
}

// last returns the last block if it is of the given kind, and otherwise nil.
func (a *Answer) last(kind Kind) *Block {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].Kind == kind {
		return &a.blocks[n-1]
	}
	return nil
}

// add appends an empty block of the given kind and returns it.
func (a *Answer) add(kind Kind) *Block {
	a.blocks = append(a.blocks, Block{Kind: kind, Text: a.spare})
	a.spare = nil
	return &a.blocks[len(a.blocks)-1]
}

// write appends text to the last block if that block is of the given kind. Otherwise it begins a block with the text.
func (a *Answer) write(kind Kind, text []byte) {
	b := a.last(kind)
	if b == nil {
		b = a.add(kind)
	}
	b.Text = append(b.Text, text...)
}

// addReasoning adds a piece of reasoning to the last thinking block, or begins a new block. If the client does not want
// reasoning, the piece is ignored. If the client wants reasoning without its text, only the block is added.
func (a *Answer) addReasoning(text []byte) {
	if !a.Request.Answer.Reasoning {
		return
	}
	b := a.last(Thinking)
	if b == nil || b.Token != "" { // a block with its state is complete
		b = a.add(Thinking)
	}
	if !a.Request.Answer.HideReasoningText {
		b.Text = append(b.Text, text...)
	}
}

// addState adds reasoning state to the thinking block before it, or to a new block without text. A state for which
// Reply.Token returns no token is ignored.
func (a *Answer) addState(state hub.State) {
	if state.Data == "" && a.last(Thinking) == nil {
		return // a state without data only marks the reasoning before it, and there is none
	}
	token := a.Reply.Token(state)
	if token == "" {
		return
	}
	if state.Form == hub.FormRedacted {
		a.add(Redacted).Token = token
		return
	}
	b := a.last(Thinking)
	// A block has one token. A second state gets a block of its own, unless it contains the first one.
	if b == nil || b.Token != "" && (b.form != state.Form || !accumulates(state.Form)) {
		b = a.add(Thinking)
	}
	b.Token, b.form = token, state.Form
}

// accumulates reports whether a later state of the form f contains the earlier states of the same reasoning, so that
// the later state replaces the earlier ones.
func accumulates(f hub.Form) bool { return f == hub.FormDetails || f == hub.FormContent }

// Signature returns the signature of a thinking block, which is the block's token. For reasoning without state it is
// a token of an empty state, by which the gateway recognises the block in the client's next request. The signature is
// never empty.
func (a *Answer) Signature(b *Block) string {
	if b.Token != "" {
		return b.Token
	}
	if token := a.Reply.Token(hub.State{Form: hub.FormContent}); token != "" {
		return token
	}
	return noToken
}

// removeFirst removes the first block, and keeps its buffer for the next new block.
func (a *Answer) removeFirst() {
	a.spare = reuse(a.blocks[0].Text)
	n := copy(a.blocks, a.blocks[1:])
	a.blocks[n] = Block{}
	a.blocks = a.blocks[:n]
}

// reuse returns an empty slice that uses the memory of buffer, or nil if this memory is larger than 64 KiB.
func reuse(buffer []byte) []byte {
	if cap(buffer) > 64<<10 {
		return nil
	}
	return buffer[:0]
}

// overLimit reports whether more than MaxHeld bytes wait behind the first block.
func (a *Answer) overLimit() bool {
	waiting := 0
	for i := 1; i < len(a.blocks); i++ {
		waiting += len(a.blocks[i].Text)
	}
	return waiting > MaxHeld
}
