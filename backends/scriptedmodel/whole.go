package scriptedmodel

import (
	"crypto/sha256"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// sendWhole sends an answer that is not streamed.
func (c *call) sendWhole() {
	s := c.scr
	if s.faults.has(faultErrorObject | faultErrorMid) {
		c.json(http.StatusOK, appendError(nil, s.streamError()))
		return
	}
	p, _ := buffers.Get().(*[]byte)
	b, insertAt := c.appendWhole((*p)[:0])
	defer func() { putBuffer(p, b) }()

	filler := 0 // number of bytes of text to insert, for the fault huge_event
	if s.faults.has(faultHugeEvent) && insertAt >= 0 {
		filler = max(s.bytes-len(b), 0)
	}
	body := b
	if s.faults.has(faultBrokenJSON) {
		body, filler = b[:len(b)/2], 0
	}
	c.sendHeader(http.StatusOK, typeJSON, int64(len(body)+filler))
	c.applyMidFaults(body) // may panic, after it has sent half of the body
	if filler > 0 {
		c.send(body[:insertAt])
		c.fill(filler)
		body = body[insertAt:]
	}
	c.send(body)
	c.complete = !c.gone
}

// applyMidFaults performs the faults and the pause that occur between the headers and the body of an answer that is not
// streamed.
func (c *call) applyMidFaults(body []byte) {
	s := c.scr
	half := body[:len(body)/2]
	switch {
	case s.faults.has(faultDropMid):
		c.send(half)
		c.flush()
		panic(http.ErrAbortHandler)
	case s.faults.has(faultStall):
		if s.afterChunks() > 0 {
			c.send(half)
		}
		c.flush()
		c.hold()
	case s.firstDelay > 0:
		c.flush()
		c.pause(s.firstDelay)
	}
}

// appendWhole appends the chat.completion object. insertAt is the position at which text can be inserted into its
// content; it is negative if there is no content.
func (c *call) appendWhole(b []byte) (whole []byte, insertAt int) {
	s, a := c.scr, c.ans
	insertAt = -1
	if s.faults.has(faultComments) {
		b = append(b, "\n\n"...) // JSON has no comments, so empty lines take their place
	}
	b = c.appendEnvelope(b, "chat.completion")
	if !s.faults.has(faultEmptyChoices) {
		b = append(b, `{"index":0,"message":{"role":"assistant","content":`...)
		if a.hasContent {
			b = jsontext.AppendQuoted(b, a.text)
			insertAt = len(b) - 1 // before the closing quotation mark
		} else {
			b = append(b, "null"...)
		}
		if a.reasoning != "" {
			b = append(b, `,"reasoning_content":`...)
			b = jsontext.AppendQuoted(b, a.reasoning)
		}
		b = append(b, `,"refusal":null,"annotations":[]`...)
		for i, t := range a.tools {
			if i == 0 {
				b = append(b, `,"tool_calls":[`...)
			} else {
				b = append(b, ',')
			}
			b = append(b, `{"id":`...)
			b = c.appendToolID(b, i)
			b = append(b, `,"type":"function","function":{"name":`...)
			b = jsontext.AppendQuoted(b, t.name)
			b = append(b, `,"arguments":`...)
			b = jsontext.AppendQuoted(b, t.args)
			b = append(b, "}}"...)
		}
		if len(a.tools) > 0 {
			b = append(b, ']')
		}
		b = append(b, `},"logprobs":null,"finish_reason":`...)
		if s.faults.has(faultNoFinish) {
			b = append(b, "null"...)
		} else {
			b = jsontext.AppendQuoted(b, a.finish)
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	switch {
	case s.faults.has(faultNullUsage):
		b = append(b, `,"usage":null`...)
	case s.usage != usageOff:
		b = append(b, `,"usage":`...)
		b = c.appendUsage(b)
	}
	return append(b, '}'), insertAt
}

// appendToolID appends the ID of the i-th tool call as a JSON string.
func (c *call) appendToolID(b []byte, i int) []byte {
	seed := append(make([]byte, 0, sha256.Size+4), c.req.sum[:]...)
	sum := sha256.Sum256(strconv.AppendInt(seed, int64(i), 10))
	b = append(b, `"call_`...)
	b = appendID(b, &sum)
	return append(b, '"')
}

// fillerBytes is text for fill.
var fillerBytes = func() []byte {
	b := make([]byte, 32<<10)
	for i := range b {
		b[i] = 'x'
	}
	return b
}()

// fill sends n bytes of text, in parts, so that it does not need n bytes of memory.
func (c *call) fill(n int) {
	for n > 0 && !c.gone {
		part := fillerBytes[:min(n, len(fillerBytes))]
		c.send(part)
		n -= len(part)
	}
}
