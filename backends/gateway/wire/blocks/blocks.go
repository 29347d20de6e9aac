// Package blocks handles content blocks, for the formats whose messages consist of blocks of text, reasoning and tool
// calls. It groups the deltas of an answer into blocks, and writes the turns of a request for an upstream.
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

// Block is a content block of an answer, without the part that was already written.
type Block struct {
	Kind Kind
	// Text is the text still to be written: the inside of a JSON string with its escapes. In a tool block see sent.
	Text []byte
	// Token is the signature of a thinking block, or the data of a redacted block. form is the form of the state in
	// Token.
	Token string
	form  hub.Form
	// ID and Name belong to a tool block. call is the index of its call (hub.Delta.Call).
	ID, Name string
	call     int
	// In a tool block Text holds the arguments, including those already sent to the client. sent is the number of bytes
	// at the start of Text that were sent. sentAny is set if any arguments were sent.
	sent    int
	sentAny bool
	// syntax scans the arguments, which should be one JSON object. isHeld is set when the object ends or breaks: then
	// held is the offset in Text of the piece in which this happens, and sound the number of valid unescaped bytes in
	// that piece. From held on nothing is sent until the block is closed, since more may come.
	syntax      hub.Syntax
	isHeld      bool
	held, sound int
	// brackets finds the end of arguments that are not a valid object.
	brackets hub.Arguments
}

// finished reports whether the block is complete, so that it can be closed when another block waits behind it.
func (b *Block) finished() bool {
	return b.Kind != Tool || b.syntax.Ended() || b.syntax.Broken() && b.brackets.Complete()
}

// addArguments adds a piece of arguments. text is the escaped piece, plain the unescaped one.
func (b *Block) addArguments(text, plain []byte) {
	from, wasBroken := len(b.Text), b.syntax.Broken()
	if b.isHeld && from > MaxHeld {
		return // the arguments are not an object, or hold only white space
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

// sendable returns the arguments that may be sent to the client now. Before the object has begun it returns nil.
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

// pass records that size bytes of sendable were sent. Large arguments are dropped from memory once they are sent.
func (b *Block) pass(size int) {
	b.sent += size
	b.sentAny = b.sentAny || size > 0
	if b.sent > MaxKept && b.sent == len(b.Text) {
		b.Text, b.sent = reuse(b.Text), 0
	}
}

// rest returns the text to send after the arguments that were sent, so that all of them form an object. cut is set if
// the upstream's answer was cut off; then nothing follows arguments that were partly sent. Text that does not fit into
// the object becomes its member _raw, together with earlier text that is still in memory.
func (b *Block) rest(cut bool) []byte {
	if b.syntax.Ended() {
		return b.Text[b.sent:]
	}
	if !b.sentAny {
		input, ok := b.Input(cut)
		if !ok {
			input = append(append([]byte(`{"_raw":"`), b.Text...), `"}`...)
		}
		return jsontext.AppendEscaped(nil, input)
	}
	if cut {
		return nil
	}
	// The client has an open object: the valid part of the held text is sent, or the brackets are closed.
	var dst []byte
	if b.isHeld {
		dst = jsontext.AppendUnquoted(nil, b.Text[b.held:])[:b.sound]
	} else if closing, ok := b.syntax.Close(nil); ok {
		return jsontext.AppendEscaped(nil, closing)
	}
	dst = append(append(append(b.syntax.Extend(dst), `"_raw":"`...), b.Text...), `"}`...)
	return jsontext.AppendEscaped(nil, dst)
}

// Input returns the object in complete arguments. If the answer was cut off and the arguments are not an object, it
// returns the empty object.
func (b *Block) Input(cut bool) (object []byte, ok bool) {
	object, ok = hub.Object(b.Text)
	if !ok && cut {
		return []byte("{}"), true
	}
	return object, ok
}

// Answer groups deltas into blocks. A stream takes blocks as soon as they can be written; a whole answer takes all of
// them at the end.
//
// A client can have only one open block, and a closed block cannot be opened again. So while the arguments of a call
// are unfinished, all later blocks wait.
type Answer struct {
	Request *hub.Request
	Reply   hub.Reply
	blocks  []Block
	// spare is the buffer of a block that was removed.
	spare []byte
	// scratch holds an unescaped piece of arguments.
	scratch []byte
	// called is set after a tool call. refused is set after a refusal, whose text is in refusal.
	called, refused bool
	refusal         []byte
	textBytes       int64

	index int  // index of the first block
	open  bool // the client has the beginning of the first block
}

// The limits of an answer.
const (
	// MaxHeld limits the bytes that wait behind an unfinished call. Beyond it the call is closed, so that an upstream
	// cannot fill the memory.
	MaxHeld = 8 << 20
	// MaxDoubtful limits the bytes of white space before arguments that are held back.
	MaxDoubtful = 64 << 10
	// MaxKept limits the bytes of arguments that stay in memory after they were sent.
	MaxKept = 32 << 10
	// MaxRefusal limits the bytes of a refusal's text.
	MaxRefusal = 16 << 10
	// noToken is the signature of a thinking block without a token. A signature must not be empty.
	noToken = hub.TokenPrefix
)

// Take adds a delta to its block. The delta may begin a new block.
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
		a.called = true
		b := a.add(Tool)
		b.call, b.ID, b.Name = d.Call, d.ID, a.clientName(d.Name)
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

// clientName returns the client's name of the tool with the given upstream name.
func (a *Answer) clientName(name string) string {
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

// add begins a block of the given kind.
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

// addReasoning adds reasoning. If the client refuses reasoning the text is ignored. If the client wants reasoning
// without text only the block is added.
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

// addState adds a state to the reasoning before it, or to a new block without text. A state for which there is no token
// is ignored.
func (a *Answer) addState(state hub.State) {
	if state.Data == "" && a.last(Thinking) == nil {
		return // the state only marks reasoning, and the client has no reasoning
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

// grows reports whether a state of this form includes the previous state of the same reasoning, so that it replaces the
// previous one.
func grows(f hub.Form) bool { return f == hub.FormDetails || f == hub.FormContent }

// Signature returns the token of a thinking block. Reasoning without state gets a token too, so that the gateway
// recognises the block in the client's next request.
func (a *Answer) Signature(b *Block) string {
	if b.Token != "" {
		return b.Token
	}
	if token := a.Reply.Token(hub.State{Form: hub.FormContent}); token != "" {
		return token
	}
	return noToken
}

// shift removes the first of the waiting blocks.
func (a *Answer) shift() {
	a.spare = reuse(a.blocks[0].Text)
	n := copy(a.blocks, a.blocks[1:])
	a.blocks[n] = Block{}
	a.blocks = a.blocks[:n]
}

// reuse returns an empty slice with the memory of buffer, or nil if the buffer is unusually large.
func reuse(buffer []byte) []byte {
	if cap(buffer) > 64<<10 {
		return nil
	}
	return buffer[:0]
}

// crowded reports whether more than MaxHeld bytes wait behind the first block.
func (a *Answer) crowded() bool {
	waiting := 0
	for i := 1; i < len(a.blocks); i++ {
		waiting += len(a.blocks[i].Text)
	}
	return waiting > MaxHeld
}
