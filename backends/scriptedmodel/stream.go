package scriptedmodel

import (
	"net/http"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// stream is the state of an answer that is sent as server-sent events.
type stream struct {
	*call
	head  []byte // "data: " and the beginning of a chunk up to the opening bracket of choices
	buf   []byte
	eager bool // flush after every event
	nulls bool // send "usage":null in chunks without usage
	last  bool // send usage in a chunk of its own
}

// stream sends a streamed answer.
func (c *call) stream() {
	s := c.scr
	headBuf, _ := buffers.Get().(*[]byte)
	eventBuf, _ := buffers.Get().(*[]byte)
	ownChunk := c.req.includeUsage && s.usage == usageAsked || s.usage == usageLast
	noUsage := s.faults.has(faultNullUsage)
	t := stream{
		call:  c,
		head:  c.appendEnvelope(append((*headBuf)[:0], "data: "...), "chat.completion.chunk"),
		buf:   (*eventBuf)[:0],
		eager: s.flush || s.chunkDelay > 0,
		nulls: noUsage || c.req.includeUsage && s.usage != usageOff,
		last:  ownChunk && !noUsage,
	}
	defer func() {
		putBuffer(headBuf, t.head)
		putBuffer(eventBuf, t.buf)
	}()

	h := c.w.Header()
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	c.begin(http.StatusOK, typeSSE, -1)
	if t.run() {
		t.write()
		c.complete = !c.gone
	}
}

// run sends the events in order, and reports whether it has reached the end that the script asks for.
func (t *stream) run() bool {
	s := t.scr
	switch {
	case s.faults.has(faultErrorObject):
		return t.failure()
	case s.faults.has(faultEmptyChoices):
		t.start()
		return t.stop(false) && t.done()
	}
	if !t.role() || !t.wait(s.firstDelay) {
		return false
	}
	t.ans.split(s)
	after := s.afterChunks()
	for i := range t.ans.deltas {
		if i == after {
			if goOn, ended := t.middle(); !goOn {
				return ended
			}
		}
		if i > 0 && !t.wait(s.chunkDelay) || !t.delta(&t.ans.deltas[i]) {
			return false
		}
	}
	if after >= len(t.ans.deltas) {
		if goOn, ended := t.middle(); !goOn {
			return ended
		}
	}
	return t.finish() && t.done()
}

// role sends the chunk that contains only the role.
func (t *stream) role() bool {
	t.start()
	t.buf = append(t.buf, `{"index":0,"delta":{"role":"assistant","content":`...)
	if t.ans.hasContent {
		t.buf = append(t.buf, `"","refusal":null}`...)
	} else {
		t.buf = append(t.buf, `null,"refusal":null}`...)
	}
	t.choiceEnd("")
	return t.stop(false)
}

// delta sends one piece of the answer.
func (t *stream) delta(d *delta) bool {
	t.start()
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
	t.choiceEnd("")
	return t.stop(false)
}

// finish sends the chunk with the finish_reason, and the chunk with usage if there is one.
func (t *stream) finish() bool {
	s := t.scr
	if !s.faults.has(faultNoFinish) {
		t.start()
		t.buf = append(t.buf, `{"index":0,"delta":{}`...)
		t.choiceEnd(t.ans.finish)
		if !t.stop(s.usage == usageFinish && !s.faults.has(faultNullUsage)) {
			return false
		}
	}
	if t.last {
		t.start()
		return t.stop(true)
	}
	return true
}

// done sends the end marker, unless a fault suppresses or repeats it.
func (t *stream) done() bool {
	times := 1
	switch {
	case t.scr.faults.has(faultNoDone):
		times = 0
	case t.scr.faults.has(faultDoneTwice):
		times = 2
	}
	for range times {
		t.buf = append(t.buf, "data: [DONE]\n\n"...)
		if !t.push() {
			return false
		}
	}
	return true
}

// middle performs the faults of the middle. It reports whether the stream continues and, if not, whether this is
// the end that the script asks for.
func (t *stream) middle() (goOn, ended bool) {
	f := t.scr.faults
	if f.has(faultHugeEvent) && !t.huge() {
		return false, false
	}
	if f.has(faultBrokenJSON) {
		t.start()
		t.buf = append(t.buf, `{"index":0,"delta":{"content":"cut`...)
		t.buf = append(t.buf, "\n\n"...)
		if !t.push() {
			return false, false
		}
	}
	switch {
	case f.has(faultErrorMid):
		return false, t.failure()
	case f.has(faultDropMid):
		t.writeAndFlush()
		panic(http.ErrAbortHandler)
	case f.has(faultStall):
		t.stall()
		return false, false
	}
	return true, false
}

// failure sends an error object. Nothing follows it, not even [DONE].
func (t *stream) failure() bool {
	t.comment()
	t.buf = append(t.buf, "data: "...)
	t.buf = appendError(t.buf, t.scr.streamError())
	t.buf = append(t.buf, "\n\n"...)
	return t.push()
}

// streamError returns the error of error_object and error_mid.
func (s *script) streamError() *apierror.Error {
	if s.status != 0 {
		return s.scriptedError(s.status)
	}
	return s.scriptedError(http.StatusInternalServerError)
}

// huge sends one content chunk of the size that the script sets.
func (t *stream) huge() bool {
	if !t.write() {
		return false
	}
	t.start()
	t.buf = append(t.buf, `{"index":0,"delta":{"content":"`...)
	cut := len(t.buf)
	t.buf = append(t.buf, `"}`...)
	t.choiceEnd("")
	t.stopEvent(false)

	size := len(t.buf)
	if t.scr.faults.has(faultComments) {
		size -= len(comment)
	}
	t.send(t.buf[:cut])
	t.fill(t.scr.bytes - size)
	t.send(t.buf[cut:])
	t.buf = t.buf[:0]
	return t.push()
}

// stall sends nothing but comments until the client leaves.
func (t *stream) stall() {
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
		t.comment()
		if !t.writeAndFlush() {
			return
		}
	}
	panic(http.ErrAbortHandler)
}

const comment = ": keep-alive\n\n"

func (t *stream) comment() {
	if t.scr.faults.has(faultComments) {
		t.buf = append(t.buf, comment...)
	}
}

// start begins the event of a chunk up to the opening bracket of choices.
func (t *stream) start() {
	t.comment()
	t.buf = append(t.buf, t.head...)
}

// choiceEnd ends the only choice of a chunk. An empty finish becomes null.
func (t *stream) choiceEnd(finish string) {
	t.buf = append(t.buf, `,"logprobs":null,"finish_reason":`...)
	t.buf = appendOrNull(t.buf, finish)
	t.buf = append(t.buf, '}')
}

// stop ends the event of a chunk and sends it.
func (t *stream) stop(usage bool) bool {
	t.stopEvent(usage)
	return t.push()
}

func (t *stream) stopEvent(usage bool) {
	t.buf = append(t.buf, ']')
	switch {
	case usage:
		t.buf = append(t.buf, `,"usage":`...)
		t.buf = t.appendUsage(t.buf)
	case t.nulls:
		t.buf = append(t.buf, `,"usage":null`...)
	}
	t.buf = append(t.buf, "}\n\n"...)
}

// push sends an event at once if the stream is eager, and otherwise collects it.
func (t *stream) push() bool {
	switch {
	case t.eager:
		return t.writeAndFlush()
	case len(t.buf) >= drainSize:
		return t.write()
	}
	return !t.gone
}

// wait sends what has been collected, and pauses.
func (t *stream) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	return (t.eager || t.writeAndFlush()) && t.pause(d)
}

func (t *stream) write() bool {
	if len(t.buf) > 0 {
		t.send(t.buf)
		t.buf = t.buf[:0]
	}
	return !t.gone
}

func (t *stream) writeAndFlush() bool {
	t.write()
	t.flush()
	return !t.gone
}
