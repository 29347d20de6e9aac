package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// NewPass passes chat answers on to a chat client that asked for a model by the
// name asked; see wire.ChatStream. includeUsage: the client wants the usage chunk.
func NewPass(asked string, includeUsage bool) hub.Pass {
	return &pass{asked: asked, stream: wire.NewChatStream(asked, includeUsage)}
}

type pass struct {
	asked  string
	stream *wire.ChatStream
	whole  *wire.ChatReply
}

func (p *pass) Event(dst, _, data []byte) ([]byte, wire.Progress, error) {
	return p.stream.Event(dst, data)
}

func (p *pass) End(dst []byte) ([]byte, error) { return p.stream.End(dst) }

func (p *pass) Whole(body []byte) ([]byte, error) {
	var err error
	if p.whole, err = wire.ReadChatReply(body, p.asked); err != nil {
		return nil, err
	}
	return p.whole.Body, nil
}

func (p *pass) Fail(dst []byte, f hub.Failure) []byte { return AppendFailure(dst, f) }

func (p *pass) KeepAlive(dst []byte) []byte { return append(dst, keepAlive...) }

func (p *pass) Usage() wire.Usage {
	if p.whole != nil {
		return p.whole.Usage
	}
	return p.stream.Usage()
}

func (p *pass) TextBytes() int64 {
	if p.whole != nil {
		return p.whole.TextBytes
	}
	return p.stream.TextBytes()
}

const keepAlive = ": keep-alive\n\n"

// AppendFailure appends the end of a chat stream that broke: an error object and
// neither [DONE] nor a finish_reason, so that clients raise it (specification 12.4).
func AppendFailure(dst []byte, f hub.Failure) []byte {
	dst = append(dst, `data: {"error":{"message":`...)
	dst = wire.AppendQuoted(dst, f.Message)
	return append(dst, `,"type":"api_error","code":"upstream_stream_error","param":null}}`+"\n\n"...)
}
