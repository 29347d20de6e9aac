package wire

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ErrNoFinish is the error of a stream that ended without a finish_reason.
var ErrNoFinish = errors.New("stream ended without a finish reason")

// Progress tells what one event of a stream meant.
type Progress struct {
	// Proof: the candidate has proved itself (specification 13.2).
	Proof bool
	// Done: the stream is complete, what follows is not read.
	Done bool
}

// ChatStream passes chat-completion chunks on to a chat client, repaired
// (specification 16). Memory is constant but for the ids of tool calls.
type ChatStream struct {
	form         chatForm
	includeUsage bool
	last         template
	// PromptTokens is the estimate for an upstream that tells no usage.
	PromptTokens int64
}

// NewChatStream makes the stream for a client that asked for a model by the
// name asked. includeUsage: the client wants the usage chunk.
func NewChatStream(asked string, includeUsage bool) *ChatStream {
	return &ChatStream{
		form: chatForm{
			object: "chat.completion.chunk",
			delta:  "delta",
			model:  string(jsontext.AppendQuoted(nil, asked)),
		},
		includeUsage: includeUsage,
	}
}

// Finish is the finish_reason; empty: not seen yet.
func (c *ChatStream) Finish() string { return c.form.Finish }

// Usage is the last usage seen.
func (c *ChatStream) Usage() Usage { return c.form.Usage }

// TextBytes is the size of the text, reasoning and tool arguments so far.
func (c *ChatStream) TextBytes() int64 { return c.form.TextBytes }

var done = []byte("[DONE]")

// Event takes the data of one upstream event and appends what the client gets
// for it to dst. Errors: *UpstreamError for an error object, ErrNoFinish, or
// one that wraps ErrBroken; nothing is appended then.
func (c *ChatStream) Event(dst, data []byte) ([]byte, Progress, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return dst, Progress{}, nil
	}
	if out, size, ok := c.last.apply(dst, data); ok {
		c.form.TextBytes += int64(size)
		return out, Progress{Proof: true}, nil
	}
	if bytes.Equal(data, done) {
		out, err := c.End(dst)
		return out, Progress{Done: err == nil}, err
	}
	got, err := c.form.scan(data)
	switch {
	case err != nil:
		return dst, Progress{}, err
	case got.failure != nil:
		return dst, Progress{}, ParseUpstreamError(200, got.failure)
	case got.proof && c.form.Finish == "error":
		return dst, Progress{}, &UpstreamError{Status: 200, Code: "error", Message: "the model ended with an error"}
	case got.empty || (got.sawUsage && !c.includeUsage && got.choices == 0):
		return dst, Progress{Proof: got.proof}, nil
	case got.sawUsage && !c.includeUsage:
		c.dropUsage(&got)
	}
	if frame := len(data) - (got.text.to - got.text.from); got.onlyText() && frame <= maxFrame && bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		c.last.learn(data, got.text, got.padding, c.form.edits)
	} else {
		c.last.forget()
	}
	dst = append(c.form.appendBare(dst), "data: "...)
	from := len(dst)
	dst = c.form.edits.Apply(dst, data)
	OneLine(dst[from:])
	return append(dst, "\n\n"...), Progress{Proof: got.proof}, nil
}

// OneLine puts spaces in place of line ends: an event with several data lines
// becomes one with a single line. In JSON line ends stand only between tokens.
func OneLine(text []byte) {
	for _, end := range [...]byte{'\n', '\r'} {
		rest := text
		for at := bytes.IndexByte(rest, end); at >= 0; at = bytes.IndexByte(rest, end) {
			rest[at] = ' '
			rest = rest[at+1:]
		}
	}
}

// appendHead appends the beginning of a chunk that the upstream did not send, up to
// the list of its choices.
func (f *chatForm) appendHead(dst []byte) []byte {
	dst = append(append(dst, `data: {"id":"`...), f.identity()...)
	dst = append(append(dst, `","object":"`...), f.object...)
	dst = strconv.AppendInt(append(dst, `","created":`...), f.now(), 10)
	return append(append(append(dst, `,"model":`...), f.model...), `,"choices":[`...)
}

// dropUsage takes the usage member out of a chunk that must stay, with the
// comma before it; as the first member it leaves null behind instead.
func (c *ChatStream) dropUsage(got *seen) {
	if got.usage.from == got.afterBrace {
		c.form.insertSorted(got.usageValue, got.usage.to, "null")
		return
	}
	c.form.insertSorted(got.usage.from, got.usage.to, "")
}

// End is the end of the body, or [DONE]: it appends the last line, or fails
// when the stream is not complete.
func (c *ChatStream) End(dst []byte) ([]byte, error) {
	if !c.form.complete() {
		return dst, ErrNoFinish
	}
	if c.includeUsage && !c.form.Usage.Known {
		dst = append(c.form.appendHead(dst), `],"usage":`...)
		dst = append(AppendUsage(dst, &Usage{Prompt: c.PromptTokens, Completion: EstimateTokens(c.form.TextBytes)}), "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...), nil
}
