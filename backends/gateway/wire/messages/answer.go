package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// blockKind is the type of a content block of an answer.
type blockKind uint8

const (
	textBlock blockKind = iota + 1
	thinkingBlock
	redactedBlock
	toolBlock
)

// answerBlock is the part of a content block of an answer that has not been written yet.
type answerBlock struct {
	kind blockKind
	// text is the text to be written: the inside of a JSON string with its escapes.
	text []byte
	// token is the signature of a thinking block or the data of a redacted one. form is the form of the state in it.
	token string
	form  hub.Form
	// call, id and name belong to a tool block.
	call     int
	id, name string
	// In a tool block text is the arguments, including those that were sent: sent is the number of its bytes that the
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
func (b *answerBlock) finished() bool {
	return b.kind != toolBlock || b.syntax.Ended() || b.syntax.Broken() && b.brackets.Complete()
}

// addArguments adds a piece of arguments. plain is the same piece, unescaped.
func (b *answerBlock) addArguments(text, plain []byte) {
	from, wasBroken := len(b.text), b.syntax.Broken()
	if b.isHeld && from > maxHeld {
		return // it is not an object, or there is nothing in it
	}
	b.text = append(b.text, text...)
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
		b.brackets.Pass(jsontext.AppendUnquoted(nil, b.text))
	}
}

// sendable returns the arguments that may be sent to the client now. There are none before the object has begun.
func (b *answerBlock) sendable() []byte {
	to := len(b.text)
	if b.isHeld {
		to = b.held
	}
	if !b.syntax.Begun() && to < maxDoubtful || to < b.sent {
		return nil
	}
	return b.text[b.sent:to]
}

// send moves what is sendable to dst. Large arguments that were sent are not kept.
func (b *answerBlock) send(dst []byte) []byte {
	piece := b.sendable()
	dst = append(dst, piece...)
	b.sent += len(piece)
	b.wrote = b.wrote || len(piece) > 0
	if b.sent > maxKept && b.sent == len(b.text) {
		b.text, b.sent = reuse(b.text), 0
	}
	return dst
}

// rest returns what must follow the arguments that were sent to make them an object. It is empty for an answer that was
// cut off after some of them were sent. Text that does not fit into an object becomes the member _raw, together with
// the earlier text as far as it was kept.
func (b *answerBlock) rest(cut bool) []byte {
	if b.syntax.Ended() {
		return b.text[b.sent:]
	}
	if !b.wrote {
		input, ok := b.input(cut)
		if !ok {
			input = append(append([]byte(`{"_raw":"`), b.text...), `"}`...)
		}
		return jsontext.AppendEscaped(nil, input)
	}
	if cut {
		return nil
	}
	var dst []byte
	if b.isHeld {
		dst = jsontext.AppendUnquoted(nil, b.text[b.held:])[:b.sound]
	} else if closing, ok := b.syntax.Close(nil); ok {
		return jsontext.AppendEscaped(nil, closing)
	}
	dst = append(append(append(b.syntax.Extend(dst), `"_raw":"`...), b.text...), `"}`...)
	return jsontext.AppendEscaped(nil, dst)
}

// input returns the object that complete arguments stand for (specification 5). If the answer was cut off it may be the
// empty object.
func (b *answerBlock) input(cut bool) (object []byte, ok bool) {
	object, ok = hub.Object(b.text)
	if !ok && cut {
		return []byte("{}"), true
	}
	return object, ok
}

// answer gathers deltas in blocks. A stream takes blocks from it as soon as they can be written, a whole answer takes
// them all at the end.
//
// At most one block can be open at a client, and a closed block cannot be opened again. So while the arguments of a
// call are unfinished, everything else waits behind them.
type answer struct {
	request *hub.Request
	reply   hub.Reply
	blocks  []answerBlock
	// spare is the buffer of a block that was removed.
	spare []byte
	// scratch holds an unescaped piece of arguments.
	scratch []byte
	// called reports that there was a call, refused that there was a refusal, whose text is in refusal.
	called, refused bool
	refusal         []byte
	textBytes       int64
}

const (
	// maxHeld bounds what waits behind an unfinished call, in bytes. Beyond it the call is closed, so that an upstream
	// cannot fill the memory.
	maxHeld = 8 << 20
	// maxDoubtful bounds the spaces before arguments that are held back, in bytes.
	maxDoubtful = 64 << 10
	// maxKept bounds the arguments that are kept after they were sent, in bytes.
	maxKept = 32 << 10
	// maxRefusal bounds the explanation of a refusal, in bytes.
	maxRefusal = 16 << 10
	// noToken is the signature of thinking for which there is no token. It must not be empty (specification 11.3).
	noToken = hub.TokenPrefix
)

// take adds a delta to the block that it belongs to, which it may begin.
func (a *answer) take(d *hub.Delta) {
	a.textBytes += int64(len(d.Text))
	switch d.Kind {
	case hub.DeltaText:
		a.write(textBlock, d.Text)
	case hub.DeltaRefusal:
		a.refused = true
		if len(a.refusal)+len(d.Text) <= maxRefusal {
			a.refusal = append(a.refusal, d.Text...)
		}
		a.write(textBlock, d.Text)
	case hub.DeltaReasoning:
		a.think(d.Text)
	case hub.DeltaState:
		a.keep(d.State)
	case hub.DeltaCall:
		a.called = true
		b := a.add(toolBlock)
		b.call, b.id, b.name = d.Call, d.ID, a.own(d.Name)
	case hub.DeltaArguments:
		for i := range a.blocks {
			if b := &a.blocks[i]; b.kind == toolBlock && b.call == d.Call {
				a.scratch = jsontext.AppendUnquoted(reuse(a.scratch), d.Text)
				b.addArguments(d.Text, a.scratch)
			}
		}
	case hub.DeltaEnd:
	}
}

// own returns the client's name of a tool.
func (a *answer) own(name string) string {
	if t := a.request.Tool(name); t.Own != "" {
		return t.Own
	}
	return name
}

// last returns the last block if it is of the given kind, else nil.
func (a *answer) last(kind blockKind) *answerBlock {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].kind == kind {
		return &a.blocks[n-1]
	}
	return nil
}

// add begins a block.
func (a *answer) add(kind blockKind) *answerBlock {
	a.blocks = append(a.blocks, answerBlock{kind: kind, text: a.spare})
	a.spare = nil
	return &a.blocks[len(a.blocks)-1]
}

// write appends text to the last block if that is of the given kind, and otherwise begins a block with it.
func (a *answer) write(kind blockKind, text []byte) {
	b := a.last(kind)
	if b == nil {
		b = a.add(kind)
	}
	b.text = append(b.text, text...)
}

// think adds reasoning. A client that turned thinking off gets none; one that does not want its text gets only the
// block.
func (a *answer) think(text []byte) {
	if !a.request.Answer.Reasoning {
		return
	}
	b := a.last(thinkingBlock)
	if b == nil || b.token != "" { // after its state a block is complete
		b = a.add(thinkingBlock)
	}
	if !a.request.Answer.HideReasoningText {
		b.text = append(b.text, text...)
	}
}

// keep puts a state into the reasoning before it, or into a block without text (specification 11.3). A state without a
// token is dropped.
func (a *answer) keep(state hub.State) {
	if state.Data == "" && a.last(thinkingBlock) == nil {
		return // it only marks reasoning, of which none is visible
	}
	token := a.reply.Token(state)
	if token == "" {
		return
	}
	if state.Form == hub.FormRedacted {
		a.add(redactedBlock).token = token
		return
	}
	b := a.last(thinkingBlock)
	if b == nil || b.token != "" && (b.form != state.Form || !grows(state.Form)) {
		b = a.add(thinkingBlock)
	}
	b.token, b.form = token, state.Form
}

// grows reports whether a state of this form repeats the one before it.
func grows(f hub.Form) bool { return f == hub.FormDetails || f == hub.FormContent }

// signature returns the token of a thinking block. Reasoning without state gets one too, so that it is recognised when
// it comes back.
func (a *answer) signature(b *answerBlock) string {
	if b.token != "" {
		return b.token
	}
	if token := a.reply.Token(hub.State{Form: hub.FormContent}); token != "" {
		return token
	}
	return noToken
}

// shift removes the first block from the blocks that wait to be written.
func (a *answer) shift() {
	a.spare = reuse(a.blocks[0].text)
	n := copy(a.blocks, a.blocks[1:])
	a.blocks[n] = answerBlock{}
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
func (a *answer) crowded() bool {
	held := 0
	for i := 1; i < len(a.blocks); i++ {
		held += len(a.blocks[i].text)
	}
	return held > maxHeld
}
