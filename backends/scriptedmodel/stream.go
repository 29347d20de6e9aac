package scriptedmodel

import (
	"net/http"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// stream is the state of an answer that is sent as server-sent events. Its methods that send or write events return
// false if the client has left, and so does the method wait.
type stream struct {
	*call
	head       []byte // "data: " and the beginning of a chunk up to the opening bracket of choices
	buf        []byte // events, or parts of them, that are not written yet
	flushEach  bool   // flush after every event
	nullUsage  bool   // send "usage":null in chunks without usage
	usageChunk bool   // send usage in a chunk of its own
}

// sendStream sends a streamed answer.
func (c *call) sendStream() {
	s := c.scr
	headBuf, _ := buffers.Get().(*[]byte)
	eventBuf, _ := buffers.Get().(*[]byte)
	ownChunk := c.req.includeUsage && s.usage == usageAsked || s.usage == usageLast // usage is in a chunk of its own
	noUsage := s.faults.has(faultNullUsage)
	t := stream{
		call:       c,
		head:       c.appendEnvelope(append((*headBuf)[:0], "data: "...), "chat.completion.chunk"),
		buf:        (*eventBuf)[:0],
		flushEach:  s.flush || s.chunkDelay > 0,
		nullUsage:  noUsage || c.req.includeUsage && s.usage != usageOff,
		usageChunk: ownChunk && !noUsage,
	}
	defer func() {
		putBuffer(headBuf, t.head)
		putBuffer(eventBuf, t.buf)
	}()

	h := c.w.Header()
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	c.sendHeader(http.StatusOK, typeSSE, -1)
	if t.run() {
		t.write() // the events that are left in t.buf
		c.complete = !c.gone
	}
}

// run sends the events in order. It returns false if the client has left, or a fault has ended the stream early, so
// that the answer is not complete.
func (t *stream) run() bool {
	s := t.scr
	switch {
	case s.faults.has(faultErrorObject):
		return t.sendError()
	case s.faults.has(faultEmptyChoices):
		t.beginChunk()
		return t.endChunk(false) && t.sendDone()
	}
	if !t.sendRole() || !t.wait(s.firstDelay) {
		return false
	}
	t.ans.split(s)
	all := len(t.ans.deltas)
	middle := min(s.afterChunks(), all) // where the faults in the middle occur
	if !t.sendDeltas(0, middle) {
		return false
	}
	if continues, complete := t.applyMidFaults(); !continues {
		return complete
	}
	return t.sendDeltas(middle, all) && t.sendFinish() && t.sendDone()
}

// sendDeltas sends the pieces of the answer from the index start up to, but not including, the index end, with a
// pause between two pieces.
func (t *stream) sendDeltas(start, end int) bool {
	for i := start; i < end; i++ {
		if i > 0 && !t.wait(t.scr.chunkDelay) || !t.sendDelta(&t.ans.deltas[i]) {
			return false
		}
	}
	return true
}

// sendRole sends the chunk that contains only the role.
func (t *stream) sendRole() bool {
	t.beginChunk()
	t.buf = append(t.buf, `{"index":0,"delta":{"role":"assistant","content":`...)
	if t.ans.hasContent {
		t.buf = append(t.buf, `"","refusal":null}`...)
	} else {
		t.buf = append(t.buf, `null,"refusal":null}`...)
	}
	t.endChoice("")
	return t.endChunk(false)
}

// sendDelta sends one piece of the answer.
func (t *stream) sendDelta(d *delta) bool {
	t.beginChunk()
	t.buf = append(t.buf, `{"index":0,"delta":{`...)
	switch d.kind {
	case deltaText:
		t.buf = append(t.buf, `"content":`...)
		t.buf = jsontext.AppendQuoted(t.buf, d.text)
	case deltaReasoning:
		t.buf = append(t.buf, `"reasoning_content":`...)
		t.buf = jsontext.AppendQuoted(t.buf, d.text)
	case deltaTool:
		t.buf = append(t.buf, `"tool_calls":[{"index":`...)
		t.buf = strconv.AppendInt(t.buf, int64(d.tool), 10)
		t.buf = append(t.buf, `,"id":`...)
		t.buf = t.appendToolID(t.buf, d.tool)
		t.buf = append(t.buf, `,"type":"function","function":{"name":`...)
		t.buf = jsontext.AppendQuoted(t.buf, d.text)
		t.buf = append(t.buf, `,"arguments":""}}]`...)
	case deltaArgs:
		t.buf = append(t.buf, `"tool_calls":[{"index":`...)
		t.buf = strconv.AppendInt(t.buf, int64(d.tool), 10)
		t.buf = append(t.buf, `,"function":{"arguments":`...)
		t.buf = jsontext.AppendQuoted(t.buf, d.text)
		t.buf = append(t.buf, `}}]`...)
	}
	t.buf = append(t.buf, '}')
	t.endChoice("")
	return t.endChunk(false)
}

// sendFinish sends the chunk with the finish_reason, and the chunk with usage if there is one.
func (t *stream) sendFinish() bool {
	s := t.scr
	if !s.faults.has(faultNoFinish) {
		t.beginChunk()
		t.buf = append(t.buf, `{"index":0,"delta":{}`...)
		t.endChoice(t.ans.finish)
		if !t.endChunk(s.usage == usageFinish && !s.faults.has(faultNullUsage)) {
			return false
		}
	}
	if t.usageChunk {
		t.beginChunk()
		return t.endChunk(true)
	}
	return true
}

// sendDone sends the end marker. Faults may suppress or repeat it.
func (t *stream) sendDone() bool {
	times := 1
	switch {
	case t.scr.faults.has(faultNoDone):
		times = 0
	case t.scr.faults.has(faultDoneTwice):
		times = 2
	}
	for range times {
		t.buf = append(t.buf, "data: [DONE]\n\n"...)
		if !t.pushEvent() {
			return false
		}
	}
	return true
}

// applyMidFaults performs the faults in the middle of the stream. continues reports whether the stream continues. If
// it does not, complete reports whether the stream is complete nevertheless, because the script ends it here.
func (t *stream) applyMidFaults() (continues, complete bool) {
	f := t.scr.faults
	if f.has(faultHugeEvent) && !t.sendHuge() {
		return false, false
	}
	if f.has(faultBrokenJSON) {
		t.beginChunk()
		t.buf = append(t.buf, `{"index":0,"delta":{"content":"cut`...)
		t.buf = append(t.buf, "\n\n"...)
		if !t.pushEvent() {
			return false, false
		}
	}
	switch {
	case f.has(faultErrorMid):
		return false, t.sendError()
	case f.has(faultDropMid):
		t.writeAndFlush()
		panic(http.ErrAbortHandler)
	case f.has(faultStall):
		t.sendStall()
		return false, false
	}
	return true, false
}

// sendError sends an error object. The caller must end the stream after it, without [DONE].
func (t *stream) sendError() bool {
	t.appendComment()
	t.buf = append(t.buf, "data: "...)
	t.buf = appendError(t.buf, t.scr.streamError())
	t.buf = append(t.buf, "\n\n"...)
	return t.pushEvent()
}

// streamError returns the error that the faults error_object and error_mid send.
func (s *script) streamError() *apierror.Error {
	if s.status != 0 {
		return s.scriptedError(s.status)
	}
	return s.scriptedError(http.StatusInternalServerError)
}

// sendHuge sends one content chunk of the size that the script sets.
func (t *stream) sendHuge() bool {
	if !t.write() {
		return false
	}
	t.beginChunk()
	t.buf = append(t.buf, `{"index":0,"delta":{"content":"`...)
	insertAt := len(t.buf)
	t.buf = append(t.buf, `"}`...)
	t.endChoice("")
	t.appendChunkEnd(false)

	size := len(t.buf)
	if t.scr.faults.has(faultComments) {
		size -= len(comment)
	}
	t.send(t.buf[:insertAt])
	t.fill(t.scr.bytes - size)
	t.send(t.buf[insertAt:])
	t.buf = t.buf[:0]
	return t.pushEvent()
}

// sendStall waits until the client leaves, and sends comments in the meantime if the script has the fault comments.
// After maxHold, it aborts the answer by a panic with http.ErrAbortHandler.
func (t *stream) sendStall() {
	t.writeAndFlush()
	if !t.scr.faults.has(faultComments) {
		t.hold()
		return
	}
	gap := t.scr.chunkDelay
	if gap == 0 {
		gap = time.Second
	}
	for end := time.Now().Add(maxHold); time.Now().Before(end); {
		if !t.pause(gap) {
			return
		}
		t.appendComment()
		if !t.writeAndFlush() {
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// comment is a comment of server-sent events.
const comment = ": keep-alive\n\n"

// appendComment appends a comment if the script has the fault comments.
func (t *stream) appendComment() {
	if t.scr.faults.has(faultComments) {
		t.buf = append(t.buf, comment...)
	}
}

// beginChunk appends the beginning of the event of a chunk, up to the opening bracket of choices.
func (t *stream) beginChunk() {
	t.appendComment()
	t.buf = append(t.buf, t.head...)
}

// endChoice appends the end of the only choice of a chunk. finish is the finish_reason; if it is empty, it becomes
// null.
func (t *stream) endChoice(finish string) {
	t.buf = append(t.buf, `,"logprobs":null,"finish_reason":`...)
	t.buf = appendOrNull(t.buf, finish)
	t.buf = append(t.buf, '}')
}

// endChunk ends the event of a chunk and sends it. If withUsage is true, the chunk contains the usage.
func (t *stream) endChunk(withUsage bool) bool {
	t.appendChunkEnd(withUsage)
	return t.pushEvent()
}

// appendChunkEnd appends the end of the event of a chunk. If withUsage is true, the end contains the usage.
func (t *stream) appendChunkEnd(withUsage bool) {
	t.buf = append(t.buf, ']')
	switch {
	case withUsage:
		t.buf = append(t.buf, `,"usage":`...)
		t.buf = t.appendUsage(t.buf)
	case t.nullUsage:
		t.buf = append(t.buf, `,"usage":null`...)
	}
	t.buf = append(t.buf, "}\n\n"...)
}

// pushEvent sends the events in t.buf at once if the stream is flushed after every event, and otherwise collects them.
func (t *stream) pushEvent() bool {
	switch {
	case t.flushEach:
		return t.writeAndFlush()
	case len(t.buf) >= writeSize:
		return t.write()
	}
	return !t.gone
}

// wait sends the events in t.buf and pauses, if d is positive.
func (t *stream) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	return (t.flushEach || t.writeAndFlush()) && t.pause(d)
}

// write writes the events in t.buf.
func (t *stream) write() bool {
	if len(t.buf) > 0 {
		t.send(t.buf)
		t.buf = t.buf[:0]
	}
	return !t.gone
}

// writeAndFlush writes the events in t.buf and flushes them to the client.
func (t *stream) writeAndFlush() bool {
	t.write()
	t.flush()
	return !t.gone
}
