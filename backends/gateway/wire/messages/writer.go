package messages

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewWriter returns a writer of the answer to a request that Read has accepted (specifications 5 and 6).
//
// An empty answer has one empty text block as a whole, and no block in a stream: an empty text block must not be
// opened, and SDKs take a stream without blocks as a message without content.
func NewWriter(r *hub.Request, reply hub.Reply) hub.Writer {
	return &writer{answer: answer{request: r, reply: reply}}
}

type writer struct {
	answer
	index                        int // of the open block, or of the next one
	started, open, pinged, ended bool
	// cut is the result of cutOff.
	cut bool
}

// The frames of events. A text between them is the inside of a JSON string.
const (
	frameEnd    = "}\n\n"
	blockStart  = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"
	blockDelta  = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"
	blockStop   = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"
	ping        = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	messageStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	comment     = ": keep-alive\n\n"
)

func (w *writer) Stream(dst []byte, deltas []hub.Delta) []byte {
	if w.ended {
		return dst
	}
	if !w.started {
		dst = w.start(dst)
	}
	for i := range deltas {
		d := &deltas[i]
		w.take(d)
		if d.Kind == hub.DeltaEnd {
			return w.end(dst, &d.End)
		}
		dst = w.drain(dst)
	}
	return dst
}

// start writes message_start.
func (w *writer) start(dst []byte) []byte {
	w.started = true
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":"...)
	dst = w.head(dst)
	dst = append(dst, `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, w.reply.InputTokens, 10)
	return append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`+frameEnd...)
}

// head appends the id and what follows it, up to the model.
func (w *writer) head(dst []byte) []byte {
	dst = jsontext.AppendQuoted(dst, w.reply.ID("msg_"))
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	return jsontext.AppendQuoted(dst, w.request.Model)
}

// drain writes what can be written: the first block as far as possible, and those behind it once it is finished.
func (w *writer) drain(dst []byte) []byte {
	for len(w.blocks) > 0 {
		dst = w.advance(dst)
		if len(w.blocks) == 1 || !w.blocks[0].finished() && !w.crowded() {
			break
		}
		dst = w.close(dst)
	}
	return dst
}

// advance writes what is available of the first block.
func (w *writer) advance(dst []byte) []byte {
	b := &w.blocks[0]
	if !w.open {
		dst = w.begin(dst, b)
	}
	switch {
	case b.kind == toolBlock && len(b.sendable()) > 0:
		dst = b.send(w.delta(dst, inputDelta))
		return append(dst, `"}`+frameEnd...)
	case b.kind == toolBlock:
		return dst
	case len(b.text) == 0:
		return dst
	case b.kind == textBlock:
		dst = w.delta(dst, `"text_delta","text":"`)
	default:
		dst = w.delta(dst, `"thinking_delta","thinking":"`)
	}
	dst = append(append(dst, b.text...), `"}`+frameEnd...)
	b.text = reuse(b.text)
	return dst
}

const inputDelta = `"input_json_delta","partial_json":"`

// delta appends a delta up to its text.
func (w *writer) delta(dst []byte, member string) []byte {
	dst = append(dst, blockDelta...)
	dst = strconv.AppendInt(dst, int64(w.index), 10)
	dst = append(dst, `,"delta":{"type":`...)
	return append(dst, member...)
}

// begin writes content_block_start for a block, and once, after the first one, a ping.
func (w *writer) begin(dst []byte, b *answerBlock) []byte {
	w.open = true
	dst = append(dst, blockStart...)
	dst = strconv.AppendInt(dst, int64(w.index), 10)
	dst = append(dst, `,"content_block":{"type":`...)
	switch b.kind {
	case textBlock:
		dst = append(dst, `"text","text":""`...)
	case thinkingBlock:
		dst = append(dst, `"thinking","thinking":"","signature":""`...)
	case redactedBlock:
		dst = jsontext.AppendQuoted(append(dst, `"redacted_thinking","data":`...), b.token)
	case toolBlock:
		dst = b.tool(dst)
		dst = append(dst, "{}"...)
	}
	dst = append(dst, '}')
	dst = append(dst, frameEnd...)
	if !w.pinged {
		w.pinged = true
		dst = append(dst, ping...)
	}
	return dst
}

// tool appends a tool_use block, from its type up to its input.
func (b *answerBlock) tool(dst []byte) []byte {
	dst = jsontext.AppendQuoted(append(dst, `"tool_use","id":`...), b.id)
	dst = jsontext.AppendQuoted(append(dst, `,"name":`...), b.name)
	return append(dst, `,"input":`...)
}

// close ends the first block, which is open.
func (w *writer) close(dst []byte) []byte {
	switch b := &w.blocks[0]; b.kind {
	case thinkingBlock:
		dst = w.delta(dst, `"signature_delta","signature":`)
		dst = jsontext.AppendQuoted(dst, w.signature(b))
		dst = append(dst, '}')
		dst = append(dst, frameEnd...)
	case toolBlock:
		if rest := b.rest(w.cut); len(rest) > 0 {
			dst = append(append(w.delta(dst, inputDelta), rest...), `"}`+frameEnd...)
		}
	case textBlock, redactedBlock:
	}
	dst = append(dst, blockStop...)
	dst = strconv.AppendInt(dst, int64(w.index), 10)
	dst = append(dst, frameEnd...)
	w.index++
	w.open = false
	w.shift()
	return dst
}

// end writes the blocks that are left, message_delta and message_stop.
func (w *writer) end(dst []byte, e *hub.End) []byte {
	w.ended = true
	w.cut = cutOff(e.Finish)
	for len(w.blocks) > 0 {
		dst = w.close(w.advance(dst))
	}
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	s := w.stopped(e)
	dst = s.append(dst)
	if s.reason == refusal {
		dst = w.details(append(dst, ','))
	}
	c := w.counts(&e.Usage)
	dst = append(dst, `},"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, c.input, 10)
	dst = append(dst, `,"cache_read_input_tokens":`...)
	dst = strconv.AppendInt(dst, c.read, 10)
	dst = append(dst, `,"cache_creation_input_tokens":`...)
	dst = strconv.AppendInt(dst, c.written, 10)
	dst = append(dst, `,"output_tokens":`...)
	dst = strconv.AppendInt(dst, c.output, 10)
	dst = append(dst, `,"output_tokens_details":{"thinking_tokens":`...)
	dst = strconv.AppendInt(dst, c.thinking, 10)
	dst = append(dst, "}}"...)
	return append(dst, frameEnd+messageStop...)
}

func (w *writer) Fail(dst []byte, f hub.Failure) []byte {
	if w.ended {
		return dst
	}
	w.ended = true
	return appendFailure(dst, &f)
}

// appendFailure appends the error that ends a stream (specification 12.4).
func appendFailure(dst []byte, f *hub.Failure) []byte {
	if f.Type == "" {
		f.Type = "api_error"
	}
	dst = jsontext.AppendQuoted(append(dst, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"...), f.Type)
	dst = jsontext.AppendQuoted(append(dst, `,"message":`...), f.Message)
	dst = jsontext.AppendQuoted(append(dst, `},"request_id":`...), f.RequestID)
	return append(dst, frameEnd...)
}

func (w *writer) KeepAlive(dst []byte) []byte {
	switch {
	case w.ended:
		return dst
	case w.started:
		return append(dst, ping...)
	default:
		return append(dst, comment...)
	}
}
