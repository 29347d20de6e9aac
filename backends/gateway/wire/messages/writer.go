package messages

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewWriter returns a writer of the answer to a request that Read has accepted.
//
// An empty answer that is not streamed has one empty text block. An empty stream has no block, because an empty text
// block must not be opened. SDKs read a stream without blocks as a message without content.
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer {
	return &writer{answer: blocks.Answer{Request: r, Reply: reply}}
}

// writer implements hub.Writer and, for the events of content blocks, blocks.Frames.
type writer struct {
	answer blocks.Answer
	pinged bool // a ping was sent after the first content_block_start
}

// The constant parts of events. Between two of them the writer puts a text that is escaped for a JSON string.
const (
	frameEnd    = "}\n\n"
	blockStart  = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"
	blockDelta  = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"
	blockStop   = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"
	ping        = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	messageStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// Stream implements hub.Writer.
func (w *writer) Stream(dst []byte, deltas []hub.Delta) []byte {
	return w.answer.Stream(dst, deltas, w)
}

// Start implements blocks.Frames. It appends the event message_start.
func (w *writer) Start(dst []byte) []byte {
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":"...)
	dst = w.head(dst)
	dst = append(dst, `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, w.answer.Reply.InputTokens, 10)
	return append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`+frameEnd...)
}

// head appends the first fields of a message object. The caller has written the name of the field id. head appends
// the value of id, and the fields type, role and model.
func (w *writer) head(dst []byte) []byte {
	dst = jsontext.AppendQuoted(dst, w.answer.Reply.ID("msg_"))
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	return jsontext.AppendQuoted(dst, w.answer.Request.Model)
}

// Delta implements blocks.Frames.
func (w *writer) Delta(dst []byte, index int, b *blocks.Block, piece []byte) []byte {
	switch b.Kind {
	case blocks.Tool:
		dst = delta(dst, index, `"input_json_delta","partial_json":"`)
	case blocks.Text:
		dst = delta(dst, index, `"text_delta","text":"`)
	default:
		dst = delta(dst, index, `"thinking_delta","thinking":"`)
	}
	return append(append(dst, piece...), `"}`+frameEnd...)
}

// delta appends the beginning of the event content_block_delta for the block with this index. member is the JSON text
// of the delta object after "type": up to the value that the caller appends, for example "text_delta","text":" with the
// opening quote.
func delta(dst []byte, index int, member string) []byte {
	dst = append(dst, blockDelta...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"delta":{"type":`...)
	return append(dst, member...)
}

// Begin appends the event content_block_start for a block. After the first such event of an answer it also appends a
// ping.
func (w *writer) Begin(dst []byte, index int, b *blocks.Block) []byte {
	dst = append(dst, blockStart...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"content_block":{"type":`...)
	switch b.Kind {
	case blocks.Text:
		dst = append(dst, `"text","text":""`...)
	case blocks.Thinking:
		dst = append(dst, `"thinking","thinking":"","signature":""`...)
	case blocks.Redacted:
		dst = jsontext.AppendMember(dst, `"redacted_thinking","data":`, b.Token)
	case blocks.Tool:
		dst = tool(dst, b)
		dst = append(dst, "{}"...)
	}
	dst = jsontext.AppendAll(dst, `}`, frameEnd)
	if !w.pinged {
		w.pinged = true
		dst = append(dst, ping...)
	}
	return dst
}

// tool appends the JSON text of a tool_use block. The appended text begins with the value of type and ends with
// "input":, so that the caller can append the input.
func tool(dst []byte, b *blocks.Block) []byte {
	dst = jsontext.AppendMember(dst, `"tool_use","id":`, b.ID)
	dst = jsontext.AppendMember(dst, `,"name":`, b.Name)
	return append(dst, `,"input":`...)
}

// End implements blocks.Frames.
func (w *writer) End(dst []byte, index int, b *blocks.Block) []byte {
	if b.Kind == blocks.Thinking {
		dst = delta(dst, index, `"signature_delta","signature":`)
		dst = append(jsontext.AppendQuoted(dst, w.answer.Signature(b)), "}"+frameEnd...)
	}
	dst = append(dst, blockStop...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, frameEnd...)
}

// Finish implements blocks.Frames. It appends the events message_delta and message_stop.
func (w *writer) Finish(dst []byte, e *hub.End) []byte {
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst, reason := w.stop(dst, e)
	if reason == blocks.Refused {
		dst = w.details(append(dst, ','))
	}
	c := w.answer.Counts(&e.Usage)
	dst = append(dst, `},"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, c.Input, 10)
	dst = append(dst, `,"cache_read_input_tokens":`...)
	dst = strconv.AppendInt(dst, c.Read, 10)
	dst = append(dst, `,"cache_creation_input_tokens":`...)
	dst = strconv.AppendInt(dst, c.Written, 10)
	dst = append(dst, `,"output_tokens":`...)
	dst = strconv.AppendInt(dst, c.Output, 10)
	dst = append(dst, `,"output_tokens_details":{"thinking_tokens":`...)
	dst = strconv.AppendInt(dst, c.Thinking, 10)
	dst = append(dst, "}}"...)
	return append(dst, frameEnd+messageStop...)
}

// Fail implements hub.Writer.
func (w *writer) Fail(dst []byte, f hub.Failure) []byte {
	if w.answer.Ended {
		return dst
	}
	w.answer.Ended = true
	return appendFailure(dst, &f)
}

// appendFailure appends the error event that ends a broken stream.
func appendFailure(dst []byte, f *hub.Failure) []byte {
	if f.Type == "" {
		f.Type = "api_error"
	}
	dst = jsontext.AppendQuoted(append(dst, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"...), f.Type)
	dst = jsontext.AppendMember(dst, `,"message":`, f.Message)
	dst = jsontext.AppendMember(dst, `},"request_id":`, f.RequestID)
	return append(dst, frameEnd...)
}

// KeepAlive implements hub.Writer. It appends a ping event, or a comment line before message_start, since no ping may
// come earlier.
func (w *writer) KeepAlive(dst []byte) []byte {
	switch {
	case w.answer.Ended:
		return dst
	case w.answer.Started:
		return append(dst, ping...)
	default:
		return append(dst, wire.KeepAlive...)
	}
}
