package converse

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewWriter returns a writer for the answer to r, a request that Read returned. A streamed answer is in Amazon's event
// stream encoding (see wire.BeginFrame).
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer {
	return &clientWriter{answer: blocks.Answer{Request: r, Reply: reply}}
}

// clientWriter implements hub.Writer and, for the events of content blocks, blocks.Frames.
type clientWriter struct{ answer blocks.Answer }

// Stream implements hub.Writer.
func (w *clientWriter) Stream(dst []byte, deltas []hub.Delta) []byte {
	return w.answer.Stream(dst, deltas, w)
}

// Start implements blocks.Frames. It appends the event messageStart.
func (w *clientWriter) Start(dst []byte) []byte {
	return frame(dst, "messageStart", `{"role":"assistant"}`)
}

// frame appends an event with the given name. text is its JSON text.
func frame(dst []byte, name, text string) []byte {
	start := len(dst)
	return wire.EndFrame(append(wire.BeginFrame(dst, "event", name), text...), start)
}

// begin appends the beginning of an event with the given name, up to the field contentBlockIndex with the value index.
// The caller appends the rest of the JSON and calls wire.EndFrame.
func begin(dst []byte, name string, index int) []byte {
	dst = append(wire.BeginFrame(dst, "event", name), `{"contentBlockIndex":`...)
	return strconv.AppendInt(dst, int64(index), 10)
}

// Begin implements blocks.Frames. It appends contentBlockStart for a tool call. In this format other blocks have no
// such event.
func (w *clientWriter) Begin(dst []byte, index int, b *blocks.Block) []byte {
	if b.Kind != blocks.Tool {
		return dst
	}
	frameStart := len(dst)
	dst = append(begin(dst, "contentBlockStart", index), `,"start":{"toolUse":{`...)
	return wire.EndFrame(append(appendToolUse(dst, b), "}}}"...), frameStart)
}

// appendToolUse appends the fields toolUseId and name of the tool call in b.
func appendToolUse(dst []byte, b *blocks.Block) []byte {
	dst = jsontext.AppendMember(dst, `"toolUseId":`, b.ID)
	return jsontext.AppendMember(dst, `,"name":`, b.Name)
}

// Delta implements blocks.Frames. It appends a contentBlockDelta event with the piece.
func (w *clientWriter) Delta(dst []byte, index int, b *blocks.Block, piece []byte) []byte {
	frameStart := len(dst)
	dst = append(begin(dst, "contentBlockDelta", index), `,"delta":{`...)
	end := `"}}`
	switch b.Kind {
	case blocks.Tool:
		dst, end = append(dst, `"toolUse":{"input":"`...), `"}}}`
	case blocks.Text:
		dst = append(dst, `"text":"`...)
	default:
		dst, end = append(dst, `"reasoningContent":{"text":"`...), `"}}}`
	}
	return wire.EndFrame(append(append(dst, piece...), end...), frameStart)
}

// End implements blocks.Frames. It appends contentBlockStop, and before it the signature of a thinking block or the
// data of a redacted block.
func (w *clientWriter) End(dst []byte, index int, b *blocks.Block) []byte {
	frameStart := len(dst)
	switch b.Kind {
	case blocks.Thinking:
		dst = append(begin(dst, "contentBlockDelta", index), `,"delta":{"reasoningContent":{"signature":`...)
		dst = wire.EndFrame(append(jsontext.AppendQuoted(dst, w.answer.Signature(b)), "}}}"...), frameStart)
	case blocks.Redacted:
		dst = append(begin(dst, "contentBlockDelta", index), `,"delta":{"reasoningContent":{"redactedContent":"`...)
		dst = wire.EndFrame(append(redacted(dst, b), `"}}}`...), frameStart)
	case blocks.Text, blocks.Tool:
	}
	frameStart = len(dst)
	return wire.EndFrame(append(begin(dst, "contentBlockStop", index), '}'), frameStart)
}

// redacted appends the token of b encoded in base64, which the format requires for redactedContent.
func redacted(dst []byte, b *blocks.Block) []byte {
	return base64.StdEncoding.AppendEncode(dst, []byte(b.Token))
}

// Finish implements blocks.Frames. It appends the events messageStop and metadata.
func (w *clientWriter) Finish(dst []byte, e *hub.End) []byte {
	frameStart := len(dst)
	dst = append(wire.BeginFrame(dst, "event", "messageStop"), '{')
	dst = wire.EndFrame(append(w.stop(dst, e), '}'), frameStart)
	frameStart = len(dst)
	dst = append(wire.BeginFrame(dst, "event", "metadata"), '{')
	return wire.EndFrame(append(w.usage(dst, e), '}'), frameStart)
}

// stop appends the field stopReason. If the answer ended at a stop sequence and the client requested it, stop also
// appends additionalModelResponseFields with the stop sequence.
func (w *clientWriter) stop(dst []byte, e *hub.End) []byte {
	reason, sequence := w.answer.Stopped(e)
	if reason == blocks.Refused {
		reason = "content_filtered"
	}
	dst = append(append(append(dst, `"stopReason":"`...), reason...), '"')
	if path := w.answer.Request.Answer.Echo; len(path) > 0 && sequence != "" {
		opening := stopPaths[path[0].Value]
		dst = append(append(dst, `,"additionalModelResponseFields":`...), opening...)
		dst = jsontext.AppendQuoted(dst, sequence)
		dst = append(dst, strings.Repeat("}", strings.Count(opening, "{"))...)
	}
	return dst
}

// usage appends the fields usage (token counts) and metrics (the time that the answer took).
func (w *clientWriter) usage(dst []byte, e *hub.End) []byte {
	c := w.answer.Counts(&e.Usage)
	latency := w.answer.Reply.Time().Sub(w.answer.Reply.Created)
	for _, m := range [...]struct {
		key   string
		count int64
	}{
		{`"usage":{"inputTokens":`, c.Input},
		{`,"outputTokens":`, c.Output},
		{`,"totalTokens":`, c.Input + c.Output + c.Read + c.Written},
		{`,"cacheReadInputTokens":`, c.Read},
		{`,"cacheWriteInputTokens":`, c.Written},
		{`},"metrics":{"latencyMs":`, max(0, latency.Milliseconds())},
	} {
		dst = strconv.AppendInt(append(dst, m.key...), m.count, 10)
	}
	return append(dst, '}')
}

// Whole implements hub.Writer. The error is hub.ErrArguments if the arguments of a tool call are not an object.
func (w *clientWriter) Whole(deltas []hub.Delta) ([]byte, error) {
	answerBlocks, end := w.answer.Whole(deltas)
	cut := blocks.CutOff(end.Finish)
	dst := append(make([]byte, 0, 512+w.answer.TextBytes()), `{"output":{"message":{"role":"assistant","content":[`...)
	for i := range answerBlocks {
		b := &answerBlocks[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		switch b.Kind {
		case blocks.Text:
			dst = append(append(append(dst, `{"text":"`...), b.Text...), '"')
		case blocks.Thinking:
			dst = append(append(append(dst, `{"reasoningContent":{"reasoningText":{"text":"`...), b.Text...), `","signature":`...)
			dst = append(jsontext.AppendQuoted(dst, w.answer.Signature(b)), "}}"...)
		case blocks.Redacted:
			dst = append(dst, `{"reasoningContent":{"redactedContent":"`...)
			dst = append(redacted(dst, b), `"}`...)
		case blocks.Tool:
			input, ok := b.Input(cut)
			if !ok {
				return nil, hub.ErrArguments
			}
			dst = append(appendToolUse(append(dst, `{"toolUse":{`...), b), `,"input":`...)
			dst = append(append(dst, input...), '}')
		}
		dst = append(dst, '}')
	}
	dst = w.stop(append(dst, "]}},"...), &end)
	return append(w.usage(append(dst, ','), &end), '}'), nil
}

// Fail implements hub.Writer. It appends an exception, whose name depends on f, such as throttlingException.
func (w *clientWriter) Fail(dst []byte, f hub.Failure) []byte {
	if w.answer.Ended {
		return dst
	}
	w.answer.Ended = true
	name := "modelStreamErrorException"
	switch {
	case f.Code == "insufficient_quota" || f.Code == "context_length_exceeded":
		name = "validationException"
	case f.Type == "rate_limit_error":
		name = "throttlingException"
	case f.Type == "overloaded_error":
		name = "serviceUnavailableException"
	}
	frameStart := len(dst)
	dst = append(wire.BeginFrame(dst, "exception", name), `{"message":`...)
	return wire.EndFrame(append(jsontext.AppendQuoted(dst, f.Message), '}'), frameStart)
}

// KeepAlive implements hub.Writer. It appends an event with the name ping and an empty object, or nothing after the end
// of the answer. The encoding has no comments, and the API has no ping, but clients ignore events with unknown names.
func (w *clientWriter) KeepAlive(dst []byte) []byte {
	if w.answer.Ended {
		return dst
	}
	return frame(dst, "ping", "{}")
}
