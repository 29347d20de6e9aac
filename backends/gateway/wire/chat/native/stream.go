package native

import (
	"bytes"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Stream passes chat completion chunks on to a chat client, with corrections. Its memory is constant except for the ids
// of tool calls.
type Stream struct {
	form         form
	includeUsage bool
	last         template
	usage        []byte // the chunk with the last usage, for the end of the stream
	// PromptTokens is the estimated number of prompt tokens, for an upstream that states no usage.
	PromptTokens int64
}

// NewStream returns a stream for a client. model is the name of the requested model. includeUsage is set if the client
// wants the usage chunk.
func NewStream(model string, includeUsage bool) *Stream {
	return &Stream{
		form: form{
			object: "chat.completion.chunk",
			delta:  "delta",
			model:  string(jsontext.AppendQuoted(nil, model)),
		},
		includeUsage: includeUsage,
	}
}

// Finish returns the last finish_reason, or an empty string before the first one.
func (c *Stream) Finish() string { return c.form.Finish }

// Usage returns the last stated usage.
func (c *Stream) Usage() wire.Usage { return c.form.Usage }

// TextBytes returns the size of the text, reasoning and tool arguments so far.
func (c *Stream) TextBytes() int64 { return c.form.TextBytes }

var done = []byte("[DONE]")

// Event converts the data of one upstream event and appends the resulting events for the client to dst. The errors are
// a *wire.UpstreamError for an error object, wire.ErrNoFinish, and errors that wrap wire.ErrBroken. With an error
// nothing is appended.
func (c *Stream) Event(dst, data []byte) ([]byte, wire.Progress, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return dst, wire.Progress{}, nil
	}
	if out, size, ok := c.last.apply(dst, data); ok {
		c.form.TextBytes += int64(size)
		return out, wire.Progress{Proof: true}, nil
	}
	if bytes.Equal(data, done) {
		out, err := c.End(dst)
		return out, wire.Progress{Done: err == nil}, err
	}
	got, err := c.form.scan(data)
	switch {
	case err != nil:
		return dst, wire.Progress{}, err
	case got.failure != nil:
		return dst, wire.Progress{}, wire.ParseUpstreamError(200, got.failure)
	case got.proof && c.form.Finish == "error":
		return dst, wire.Progress{}, &wire.UpstreamError{Status: 200, Code: "error", Message: "the model ended with an error"}
	case got.empty:
		return dst, wire.Progress{Proof: got.proof, Thinks: got.thinks}, nil
	case got.sawUsage:
		if c.includeUsage && got.counts {
			c.keepUsage(data, &got)
		}
		if got.choices == 0 {
			return dst, wire.Progress{Proof: got.proof, Thinks: got.thinks}, nil
		}
		if c.includeUsage {
			c.form.insertSorted(got.usageValue, got.usage.to, "null")
		} else {
			c.dropUsage(&got)
		}
	}
	if frame := len(data) - (got.text.to - got.text.from); got.onlyText() && frame <= maxFrame &&
		bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		c.last.learn(data, got.text, got.padding, c.form.edits)
	} else {
		c.last.forget()
	}
	return c.appendChunk(c.form.appendBare(dst), data), wire.Progress{Proof: got.proof, Thinks: got.thinks}, nil
}

// appendChunk appends the scanned chunk as one event, with the edits applied.
func (c *Stream) appendChunk(dst, data []byte) []byte {
	dst = append(dst, "data: "...)
	from := len(dst)
	dst = c.form.edits.Apply(dst, data)
	wire.OneLine(dst[from:])
	return append(dst, "\n\n"...)
}

// keepUsage stores the usage of the scanned chunk. The client gets it once at the end of the stream, in a separate
// chunk, although some upstreams send a usage with every chunk.
func (c *Stream) keepUsage(data []byte, got *seen) {
	if got.choices == 0 {
		c.usage = c.appendChunk(c.usage[:0], data)
		return
	}
	c.usage = append(c.form.appendHead(c.usage[:0]), `],"usage":`...)
	from := len(c.usage)
	c.usage = append(c.usage, data[got.usageValue:got.usage.to]...)
	wire.OneLine(c.usage[from:])
	c.usage = append(c.usage, "}\n\n"...)
}

// appendHead appends the beginning of a new chunk, up to the list of choices.
func (f *form) appendHead(dst []byte) []byte {
	dst = jsontext.AppendAll(dst, `data: {"id":"`, f.identity(), `","object":"`, f.object)
	dst = strconv.AppendInt(append(dst, `","created":`...), f.now(), 10)
	return append(append(append(dst, `,"model":`...), f.model...), `,"choices":[`...)
}

// dropUsage removes the usage member, with the comma before it, from a chunk for the client. If usage is the first
// member its value becomes null instead.
func (c *Stream) dropUsage(got *seen) {
	if got.usage.from == got.afterBrace {
		c.form.insertSorted(got.usageValue, got.usage.to, "null")
		return
	}
	c.form.insertSorted(got.usage.from, got.usage.to, "")
}

// End appends the last events, or returns an error if the stream is not complete. It is called for [DONE] and at the
// end of the body.
func (c *Stream) End(dst []byte) ([]byte, error) {
	if !c.form.complete() {
		return dst, wire.ErrNoFinish
	}
	switch {
	case !c.includeUsage:
	case c.form.Usage.Known:
		dst = append(dst, c.usage...)
	default:
		dst = append(c.form.appendHead(dst), `],"usage":`...)
		dst = append(wire.AppendUsage(dst,
			&wire.Usage{Prompt: c.PromptTokens, Completion: wire.EstimateTokens(c.form.TextBytes)}), "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...), nil
}
