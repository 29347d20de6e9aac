package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewPass returns a Pass between a chat upstream and a chat client; see native.Stream. asked is the name of the model
// that the client asked for, includeUsage reports that the client wants the usage chunk, and promptTokens is the
// estimate for an upstream that does not state the number.
func NewPass(asked string, includeUsage bool, promptTokens int64) hub.Pass {
	return &pass{asked: asked, includeUsage: includeUsage, promptTokens: promptTokens}
}

type pass struct {
	asked        string
	includeUsage bool
	promptTokens int64
	stream       *native.Stream // nil before the first event
	whole        native.Reply
}

func (p *pass) Event(dst, _, data []byte) ([]byte, wire.Progress, error) {
	return p.opened().Event(dst, data)
}

func (p *pass) End(dst []byte) ([]byte, error) { return p.opened().End(dst) }

// opened returns the stream, which is created for its first event. A whole answer needs none.
func (p *pass) opened() *native.Stream {
	if p.stream == nil {
		p.stream = native.NewStream(p.asked, p.includeUsage)
		p.stream.PromptTokens = p.promptTokens
	}
	return p.stream
}

func (p *pass) Whole(dst, body []byte) (_ []byte, err error) {
	dst, p.whole, err = native.ReadReply(dst, body, p.asked)
	return dst, err
}

func (p *pass) Fail(dst []byte, f hub.Failure) []byte { return AppendFailure(dst, f) }

func (p *pass) KeepAlive(dst []byte) []byte { return append(dst, keepAlive...) }

func (p *pass) Usage() wire.Usage {
	if p.stream == nil {
		return p.whole.Usage
	}
	return p.stream.Usage()
}

func (p *pass) TextBytes() int64 {
	if p.stream == nil {
		return p.whole.TextBytes
	}
	return p.stream.TextBytes()
}

const keepAlive = ": keep-alive\n\n"

// AppendFailure appends the end of a chat stream that broke: an error object, and neither [DONE] nor a finish_reason,
// so that clients raise the error (specification 12.4).
func AppendFailure(dst []byte, f hub.Failure) []byte {
	dst = jsontext.AppendMember(dst, `data: {"error":{"message":`, f.Message)
	return append(dst, `,"type":"api_error","code":"upstream_stream_error","param":null}}`+"\n\n"...)
}
