package scriptedmodel

import (
	"crypto/sha256"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// whole sends an answer that is not streamed.
func (c *call) whole() {
	s := c.scr
	if s.faults.has(faultErrorObject | faultErrorMid) {
		c.json(http.StatusOK, appendError(nil, s.streamError()))
		return
	}
	p, _ := buffers.Get().(*[]byte)
	b, cut := c.appendWhole((*p)[:0])
	defer func() { putBuffer(p, b) }()

	filler := 0
	if s.faults.has(faultHugeEvent) && cut >= 0 {
		filler = max(s.bytes-len(b), 0)
	}
	send := b
	if s.faults.has(faultBrokenJSON) {
		send, filler = b[:len(b)/2], 0
	}
	c.begin(http.StatusOK, typeJSON, int64(len(send)+filler))
	c.middleOfWhole(send)
	if filler > 0 {
		c.send(send[:cut])
		c.fill(filler)
		send = send[cut:]
	}
	c.send(send)
	c.complete = !c.gone
}

// middleOfWhole performs what pauses or ends an answer after its headers.
func (c *call) middleOfWhole(body []byte) {
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

// appendWhole appends the chat.completion object. cut is the position at which text can be inserted into its
// content; it is negative if there is no content.
func (c *call) appendWhole(b []byte) (_ []byte, cut int) {
	s, a := c.scr, c.ans
	cut = -1
	if s.faults.has(faultComments) {
		b = append(b, "\n\n"...)
	}
	b = c.appendEnvelope(b, "chat.completion")
	if !s.faults.has(faultEmptyChoices) {
		b = append(b, `{"index":0,"message":{"role":"assistant","content":`...)
		if a.hasContent {
			b = jsontext.AppendQuoted(b, a.text)
			cut = len(b) - 1
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
	return append(b, '}'), cut
}

// appendToolID appends the ID of the i-th tool call as a JSON string.
func (c *call) appendToolID(b []byte, i int) []byte {
	seed := append(make([]byte, 0, sha256.Size+4), c.req.sum[:]...)
	sum := sha256.Sum256(strconv.AppendInt(seed, int64(i), 10))
	b = append(b, `"call_`...)
	b = appendID(b, &sum)
	return append(b, '"')
}

var fillerBytes = func() []byte {
	b := make([]byte, 32<<10)
	for i := range b {
		b[i] = 'x'
	}
	return b
}()

// fill sends n bytes of text without holding them in memory.
func (c *call) fill(n int) {
	for n > 0 && !c.gone {
		part := fillerBytes[:min(n, len(fillerBytes))]
		c.send(part)
		n -= len(part)
	}
}
