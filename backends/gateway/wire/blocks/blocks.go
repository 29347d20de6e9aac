// Package blocks is about content blocks. For the formats whose messages consist of blocks of text, reasoning and tool
// calls, it gathers the steps of an answer in blocks, and writes the turns of a request for an upstream.
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

// Block is the part of a content block of an answer that has not been written yet.
type Block struct {
	Kind Kind
	// Text is the text to be written: the inside of a JSON string with its escapes.
	Text []byte
	// Token is the signature of a thinking block or the data of a redacted one. form is the form of the state in it.
	Token string
	form  hub.Form
	// ID and Name belong to a tool block, call is the number of its call.
	ID, Name string
	call     int
	// In a tool block Text is the arguments, including those that were sent: sent is the number of its bytes that the
	// client has, and wrote reports whether it has any.
	sent  int
	wrote bool
	// syntax tells how far the arguments are an object. held is the offset of the piece in which the object ends or
	// breaks, and sound the number of that piece's unescaped bytes that are valid. Nothing from held on is sent before
	// the block is closed, since more may come.
	syntax      hub.Syntax
	isHeld      bool
	held, sound int
	// brackets tells when arguments that broke are complete nevertheless.
	brackets hub.Arguments
}

// finished reports whether nothing more can come that must go into this block rather than into a new one.
func (b *Block) finished() bool {
	return b.Kind != Tool || b.syntax.Ended() || b.syntax.Broken() && b.brackets.Complete()
}

// addArguments adds a piece of arguments. plain is the same piece, unescaped.
func (b *Block) addArguments(text, plain []byte) {
	from, wasBroken := len(b.Text), b.syntax.Broken()
	if b.isHeld && from > MaxHeld {
		return // it is not an object, or there is nothing in it
	}
	b.Text = append(b.Text, text...)
	if !wasBroken {
		sound := b.syntax.Pass(plain)
		if !b.isHeld && (b.syntax.Ended() || b.syntax.Broken()) {
			b.isHeld, b.held, b.sound = true, from, sound
		}
	}
	switch {
	case wasBroken:
		b.brackets.Pass(plain)
	case b.syntax.Broken():
		b.brackets.Pass(jsontext.AppendUnquoted(nil, b.Text))
	}
}

// sendable returns the arguments that may be sent to the client now. There are none before the object has begun.
func (b *Block) sendable() []byte {
	to := len(b.Text)
	if b.isHeld {
		to = b.held
	}
	if !b.syntax.Begun() && to < MaxDoubtful || to < b.sent {
		return nil
	}
	return b.Text[b.sent:to]
}

// pass records that so many bytes of what is sendable were sent. Large arguments that were sent are not kept.
func (b *Block) pass(size int) {
	b.sent += size
	b.wrote = b.wrote || size > 0
	if b.sent > MaxKept && b.sent == len(b.Text) {
		b.Text, b.sent = reuse(b.Text), 0
	}
}

// rest returns what must follow the arguments that were sent to make them an object. It is empty for an answer that was
// cut off after some of them were sent. Text that does not fit into an object becomes the member _raw, together with
// the earlier text as far as it was kept.
func (b *Block) rest(cut bool) []byte {
	if b.syntax.Ended() {
		return b.Text[b.sent:]
	}
	if !b.wrote {
		input, ok := b.Input(cut)
		if !ok {
			input = append(append([]byte(`{"_raw":"`), b.Text...), `"}`...)
		}
		return jsontext.AppendEscaped(nil, input)
	}
	if cut {
		return nil
	}
	// The object is open: what was held back of it is sent as far as it is sound, or its brackets are closed.
	var dst []byte
	if b.isHeld {
		dst = jsontext.AppendUnquoted(nil, b.Text[b.held:])[:b.sound]
	} else if closing, ok := b.syntax.Close(nil); ok {
		return jsontext.AppendEscaped(nil, closing)
	}
	dst = append(append(append(b.syntax.Extend(dst), `"_raw":"`...), b.Text...), `"}`...)
	return jsontext.AppendEscaped(nil, dst)
}

// Input returns the object that complete arguments stand for (specification 5). If the answer was cut off it may be the
// empty object.
func (b *Block) Input(cut bool) (object []byte, ok bool) {
	object, ok = hub.Object(b.Text)
	if !ok && cut {
		return []byte("{}"), true
	}
	return object, ok
}

// Answer gathers deltas in blocks. A stream takes blocks from it as soon as they can be written, a whole answer takes
// them all at the end.
//
// At most one block can be open at a client, and a closed block cannot be opened again. So while the arguments of a
// call are unfinished, everything else waits behind them.
type Answer struct {
	Request *hub.Request
	Reply   hub.Reply
	blocks  []Block
	// spare is the buffer of a block that was removed.
	spare []byte
	// scratch holds an unescaped piece of arguments.
	scratch []byte
	// called reports that there was a call, refused that there was a refusal, whose text is in refusal.
	called, refused bool
	refusal         []byte
	textBytes       int64

	index int  // of the first block
	open  bool // the client has the beginning of the first block
}

// The bounds of an answer.
const (
	// MaxHeld bounds what waits behind an unfinished call, in bytes. Beyond it the call is closed, so that an upstream
	// cannot fill the memory.
	MaxHeld = 8 << 20
	// MaxDoubtful bounds the spaces before arguments that are held back, in bytes.
	MaxDoubtful = 64 << 10
	// MaxKept bounds the arguments that are kept after they were sent, in bytes.
	MaxKept = 32 << 10
	// MaxRefusal bounds the explanation of a refusal, in bytes.
	MaxRefusal = 16 << 10
	// noToken is the signature of thinking for which there is no token. It must not be empty (specification 11.3).
	noToken = hub.TokenPrefix
)

// Take adds a delta to the block that it belongs to, which it may begin.
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
		a.think(d.Text)
	case hub.DeltaState:
		a.keep(d.State)
	case hub.DeltaCall:
		a.called = true
		b := a.add(Tool)
		b.call, b.ID, b.Name = d.Call, d.ID, a.own(d.Name)
	case hub.DeltaArguments:
		for i := range a.blocks {
			if b := &a.blocks[i]; b.Kind == Tool && b.call == d.Call {
				a.scratch = jsontext.AppendUnquoted(reuse(a.scratch), d.Text)
				b.addArguments(d.Text, a.scratch)
			}
		}
	case hub.DeltaEnd:
	}
}

// own returns the client's name of a tool.
func (a *Answer) own(name string) string {
	if t := a.Request.Tool(name); t.ClientName != "" {
		return t.ClientName
	}
	return name
}

// last returns the last block if it is of the given kind, else nil.
func (a *Answer) last(kind Kind) *Block {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].Kind == kind {
		return &a.blocks[n-1]
	}
	return nil
}

// add begins a block.
func (a *Answer) add(kind Kind) *Block {
	a.blocks = append(a.blocks, Block{Kind: kind, Text: a.spare})
	a.spare = nil
	return &a.blocks[len(a.blocks)-1]
}

// write appends text to the last block if that is of the given kind, and otherwise begins a block with it.
func (a *Answer) write(kind Kind, text []byte) {
	b := a.last(kind)
	if b == nil {
		b = a.add(kind)
	}
	b.Text = append(b.Text, text...)
}

// think adds reasoning. A client that turned thinking off gets none; one that does not want its text gets only the
// block.
func (a *Answer) think(text []byte) {
	if !a.Request.Answer.Reasoning {
		return
	}
	b := a.last(Thinking)
	if b == nil || b.Token != "" { // after its state a block is complete
		b = a.add(Thinking)
	}
	if !a.Request.Answer.HideReasoningText {
		b.Text = append(b.Text, text...)
	}
}

// keep puts a state into the reasoning before it, or into a block without text (specification 11.3). A state without a
// token is dropped.
func (a *Answer) keep(state hub.State) {
	if state.Data == "" && a.last(Thinking) == nil {
		return // it only marks reasoning, of which none is visible
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
	if b == nil || b.Token != "" && (b.form != state.Form || !grows(state.Form)) {
		b = a.add(Thinking)
	}
	b.Token, b.form = token, state.Form
}

// grows reports whether a state of this form repeats the one before it.
func grows(f hub.Form) bool { return f == hub.FormDetails || f == hub.FormContent }

// Signature returns the token of a thinking block. Reasoning without state gets one too, so that it is recognised when
// it comes back.
func (a *Answer) Signature(b *Block) string {
	if b.Token != "" {
		return b.Token
	}
	if token := a.Reply.Token(hub.State{Form: hub.FormContent}); token != "" {
		return token
	}
	return noToken
}

// shift removes the first block from the blocks that wait to be written.
func (a *Answer) shift() {
	a.spare = reuse(a.blocks[0].Text)
	n := copy(a.blocks, a.blocks[1:])
	a.blocks[n] = Block{}
	a.blocks = a.blocks[:n]
}

// reuse returns the emptied buffer, or nil if it has grown unusually large.
func reuse(buffer []byte) []byte {
	if cap(buffer) > 64<<10 {
		return nil
	}
	return buffer[:0]
}

// crowded reports whether too much waits behind the first block.
func (a *Answer) crowded() bool {
	held := 0
	for i := 1; i < len(a.blocks); i++ {
		held += len(a.blocks[i].Text)
	}
	return held > MaxHeld
}
