package native

import (
	"bytes"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Stream corrects the chunks of an upstream's stream for a chat client. It stores little: the ids of tool calls, and
// the bytes around the text of the last chunk.
type Stream struct {
	corrector    corrector
	includeUsage bool
	last         template // the bytes around the text of the last chunk
	usage        []byte   // the event with the last usage, for the end of the stream
	// PromptTokens is the estimated number of prompt tokens, for an upstream that states no usage.
	PromptTokens int64
}

// NewStream returns a Stream for one answer. model is the model's name that the client requested. includeUsage is set
// if the client wants a chunk with the usage at the end of the stream.
func NewStream(model string, includeUsage bool) *Stream {
	return &Stream{
		corrector: corrector{
			object: "chat.completion.chunk",
			delta:  "delta",
			model:  string(jsontext.AppendQuoted(nil, model)),
		},
		includeUsage: includeUsage,
	}
}

// Finish returns the last finish_reason so far, or an empty string if none has arrived.
func (c *Stream) Finish() string { return c.corrector.Finish }

// Usage returns the last usage that the upstream stated.
func (c *Stream) Usage() wire.Usage { return c.corrector.Usage }

// TextBytes returns the number of bytes of text, reasoning and tool arguments so far.
func (c *Stream) TextBytes() int64 { return c.corrector.TextBytes }

// done is the data of the event that ends a stream.
var done = []byte("[DONE]")

// Event converts data, the data of one event of the upstream's stream, and appends the resulting events for the client
// to dst. The errors are a *wire.UpstreamError for an error object, wire.ErrNoFinish for a stream that ends too early,
// and errors that wrap wire.ErrBroken. With an error nothing is appended.
func (c *Stream) Event(dst, data []byte) ([]byte, wire.Progress, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return dst, wire.Progress{}, nil
	}
	if out, size, ok := c.last.apply(dst, data); ok {
		c.corrector.TextBytes += int64(size)
		return out, wire.Progress{Proof: true}, nil
	}
	if bytes.Equal(data, done) {
		out, err := c.End(dst)
		return out, wire.Progress{Done: err == nil}, err
	}
	facts, err := c.corrector.scan(data)
	switch {
	case err != nil:
		return dst, wire.Progress{}, err
	case facts.failure != nil:
		return dst, wire.Progress{}, wire.ParseUpstreamError(200, facts.failure)
	case facts.proof && c.corrector.Finish == "error":
		return dst, wire.Progress{}, &wire.UpstreamError{Status: 200, Code: "error", Message: "the model ended with an error"}
	case facts.empty:
		return dst, wire.Progress{Proof: facts.proof, Thinks: facts.thinks}, nil
	case facts.sawUsage:
		if c.includeUsage && facts.hasTokens {
			c.keepUsage(data, &facts)
		}
		if facts.choices == 0 {
			return dst, wire.Progress{Proof: facts.proof, Thinks: facts.thinks}, nil
		}
		if c.includeUsage {
			c.corrector.addEdit(facts.usageValue, facts.usage.to, "null") // the usage is sent at the end
		} else {
			c.dropUsage(&facts)
		}
	}
	frameSize := len(data) - (facts.text.to - facts.text.from) // bytes around the text
	// A template keeps line breaks, which would end the data of the client's event. appendChunk replaces them.
	if facts.onlyText() && frameSize <= maxFrame && bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		c.last.learn(data, facts.text, facts.padding, c.corrector.edits)
	} else {
		c.last.forget()
	}
	dst = c.appendChunk(c.corrector.appendEmptyCalls(dst), data)
	return dst, wire.Progress{Proof: facts.proof, Thinks: facts.thinks}, nil
}

// appendChunk appends an event with data, the JSON of the chunk that was just scanned, after applying the edits in
// c.corrector.edits.
func (c *Stream) appendChunk(dst, data []byte) []byte {
	dst = append(dst, "data: "...)
	start := len(dst)
	dst = c.corrector.edits.Apply(dst, data)
	wire.OneLine(dst[start:])
	return append(dst, "\n\n"...)
}

// keepUsage stores the usage of data, the chunk that was just scanned, as a chunk for the end of the stream. There
// the client gets the usage once, in this separate chunk, although some upstreams send a usage with every chunk.
// facts are the facts about data.
func (c *Stream) keepUsage(data []byte, facts *bodyFacts) {
	if facts.choices == 0 {
		c.usage = c.appendChunk(c.usage[:0], data)
		return
	}
	c.usage = append(c.corrector.appendHead(c.usage[:0]), `],"usage":`...)
	c.usage = wire.AppendLine(c.usage, data[facts.usageValue:facts.usage.to])
	c.usage = append(c.usage, "}\n\n"...)
}

// appendHead appends the beginning of an event with a new chunk, including the bracket that opens the list of choices.
func (f *corrector) appendHead(dst []byte) []byte {
	dst = jsontext.AppendAll(dst, `data: {"id":"`, f.identity(), `","object":"`, f.object)
	dst = strconv.AppendInt(append(dst, `","created":`...), f.now(), 10)
	return append(append(append(dst, `,"model":`...), f.model...), `,"choices":[`...)
}

// dropUsage adds an edit that removes the field usage and the comma before it from the chunk. If usage is the first
// field, the edit sets its value to null instead, since there is no comma before it.
func (c *Stream) dropUsage(facts *bodyFacts) {
	if facts.usage.from == facts.afterBrace {
		c.corrector.addEdit(facts.usageValue, facts.usage.to, "null")
		return
	}
	c.corrector.addEdit(facts.usage.from, facts.usage.to, "")
}

// End appends the events at the end of the stream: the usage if the client wants it, and [DONE]. It is called for the
// upstream's [DONE], and at the end of the upstream's body if no [DONE] came. If a finish_reason is missing, it returns
// wire.ErrNoFinish and appends nothing.
func (c *Stream) End(dst []byte) ([]byte, error) {
	if !c.corrector.complete() {
		return dst, wire.ErrNoFinish
	}
	switch {
	case !c.includeUsage:
	case c.corrector.Usage.Known:
		dst = append(dst, c.usage...)
	default:
		dst = append(c.corrector.appendHead(dst), `],"usage":`...)
		dst = append(wire.AppendUsage(dst,
			&wire.Usage{Prompt: c.PromptTokens, Completion: wire.EstimateTokens(c.corrector.TextBytes)}), "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...), nil
}
