package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// blockKind is the type of an answer's content block.
type blockKind uint8

const (
	textBlock blockKind = iota + 1
	thinkingBlock
	redactedBlock
	toolBlock
)

// answerBlock is a content block of an answer, as far as it is not written yet.
type answerBlock struct {
	kind blockKind
	// text is what is to be written: the inside of a JSON string, escapes and all.
	text []byte
	// token is the signature of a thinking block or the data of a redacted one;
	// form is that of the state in it.
	token string
	form  hub.Form
	// call, id and name of a tool block.
	call     int
	id, name string
	// arguments follows those of a tool block; broken: they are complete and no object.
	arguments hub.Arguments
	broken    bool
}

// finished reports whether nothing can come that belongs to the block and could
// not go into one of its own.
func (b *answerBlock) finished() bool { return b.kind != toolBlock || b.arguments.Complete() }

// doubtful reports whether arguments are not known to be an object: they are held back,
// since behind the first piece there is no way to make them one.
func (b *answerBlock) doubtful() bool {
	if len(b.text) > maxDoubtful {
		return false
	}
	b.broken = b.broken || b.arguments.Complete() && !hub.IsObject(wire.AppendUnquoted(nil, b.text))
	return b.broken || !b.arguments.Object()
}

// input is the object that arguments stand for which are all there (specification 5).
// Of an answer that was cut off it may be empty.
func (b *answerBlock) input(cut bool) (object []byte, ok bool) {
	object, ok = hub.Object(b.text)
	if !ok && cut {
		return []byte("{}"), true
	}
	return object, ok
}

// answer gathers deltas in blocks. A stream takes the blocks from it as they can be
// written, a whole answer takes them all at the end.
//
// At most one block is open at a client, and one that was closed cannot be opened
// again. So while the arguments of a call are unfinished, everything else waits
// behind it.
type answer struct {
	request *hub.Request
	reply   hub.Reply
	blocks  []answerBlock
	// spare is the buffer of a block that is gone.
	spare []byte
	// scratch holds a piece of arguments unescaped.
	scratch []byte
	// called: there was a call. refused: there was a refusal, refusal is its text.
	called, refused bool
	refusal         []byte
	textBytes       int64
}

const (
	// maxHeld is what waits behind an unfinished call, in bytes, until the call is
	// given up: nothing that an upstream sends may fill the memory.
	maxHeld = 8 << 20
	// maxDoubtful is what is held back of arguments, in bytes.
	maxDoubtful = 64 << 10
	// maxRefusal bounds the explanation of a refusal, in bytes.
	maxRefusal = 16 << 10
	// noToken is the signature of thinking for which there is no token. It must not
	// be empty (specification 11.3).
	noToken = hub.TokenPrefix
)

// take puts a delta into its block.
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
				b.text = append(b.text, d.Text...)
				a.scratch = wire.AppendUnquoted(reuse(a.scratch), d.Text)
				b.arguments.Pass(a.scratch)
			}
		}
	case hub.DeltaEnd:
	}
}

// own is the client's name of a tool.
func (a *answer) own(name string) string {
	if t := a.request.Tool(name); t.Own != "" {
		return t.Own
	}
	return name
}

// last is the last block, when it is of a kind; else nil.
func (a *answer) last(kind blockKind) *answerBlock {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].kind == kind {
		return &a.blocks[n-1]
	}
	return nil
}

func (a *answer) add(kind blockKind) *answerBlock {
	a.blocks = append(a.blocks, answerBlock{kind: kind, text: a.spare})
	a.spare = nil
	return &a.blocks[len(a.blocks)-1]
}

func (a *answer) write(kind blockKind, text []byte) {
	b := a.last(kind)
	if b == nil {
		b = a.add(kind)
	}
	b.text = append(b.text, text...)
}

// think adds reasoning. A client that turned thinking off gets none, one that wants
// no text of it gets the block only.
func (a *answer) think(text []byte) {
	if !a.request.Answer.Reasoning {
		return
	}
	b := a.last(thinkingBlock)
	if b == nil || b.token != "" { // behind its state a block is complete
		b = a.add(thinkingBlock)
	}
	if !a.request.Answer.HideReasoningText {
		b.text = append(b.text, text...)
	}
}

// keep puts a state into the reasoning before it, or into a block without text
// (specification 11.3). Without a token there is nothing to keep.
func (a *answer) keep(state hub.State) {
	if state.Data == "" && a.last(thinkingBlock) == nil {
		return // it only marks reasoning, and there is none to be seen
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

// grows reports whether a state says all again that the one before it said.
func grows(f hub.Form) bool { return f == hub.FormDetails || f == hub.FormContent }

// signature is the token of a thinking block. Reasoning without a state gets one
// too, so that it is known again when it comes back.
func (a *answer) signature(b *answerBlock) string {
	if b.token != "" {
		return b.token
	}
	if token := a.reply.Token(hub.State{Form: hub.FormContent}); token != "" {
		return token
	}
	return noToken
}

// shift drops the first block.
func (a *answer) shift() {
	a.spare = reuse(a.blocks[0].text)
	n := copy(a.blocks, a.blocks[1:])
	a.blocks[n] = answerBlock{}
	a.blocks = a.blocks[:n]
}

// reuse is an emptied buffer, unless it grew unusually large.
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
