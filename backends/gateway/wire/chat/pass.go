package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewPass returns a Pass that corrects the answer of a chat upstream for a chat client, see native.Stream and
// native.ReadReply. model is the model's name that the client requested. includeUsage is set if the client wants a
// chunk with the usage at the end of a stream. promptTokens is an estimate, used for a stream whose upstream states no
// usage.
func NewPass(model string, includeUsage bool, promptTokens int64) hub.Pass {
	return &pass{model: model, includeUsage: includeUsage, promptTokens: promptTokens}
}

// pass is the hub.Pass that NewPass returns.
type pass struct {
	model        string
	includeUsage bool
	promptTokens int64
	stream       *native.Stream // nil before the first event
	reply        native.Reply
}

// Event implements hub.Pass.
func (p *pass) Event(dst, _, data []byte) ([]byte, wire.Progress, error) {
	return p.opened().Event(dst, data)
}

// End implements hub.Pass.
func (p *pass) End(dst []byte) ([]byte, error) { return p.opened().End(dst) }

// opened returns the stream and creates it on the first call. A whole answer needs no stream.
func (p *pass) opened() *native.Stream {
	if p.stream == nil {
		p.stream = native.NewStream(p.model, p.includeUsage)
		p.stream.PromptTokens = p.promptTokens
	}
	return p.stream
}

// Whole implements hub.Pass.
func (p *pass) Whole(dst, body []byte) (_ []byte, err error) {
	dst, p.reply, err = native.ReadReply(dst, body, p.model)
	return dst, err
}

// Fail implements hub.Pass.
func (p *pass) Fail(dst []byte, f hub.Failure) []byte { return AppendFailure(dst, f) }

// KeepAlive implements hub.Pass. It appends a comment line, which clients ignore.
func (p *pass) KeepAlive(dst []byte) []byte { return append(dst, wire.KeepAlive...) }

// Usage implements hub.Pass.
func (p *pass) Usage() wire.Usage {
	if p.stream == nil {
		return p.reply.Usage
	}
	return p.stream.Usage()
}

// TextBytes implements hub.Pass.
func (p *pass) TextBytes() int64 {
	if p.stream == nil {
		return p.reply.TextBytes
	}
	return p.stream.TextBytes()
}

// AppendFailure appends the event that ends a broken chat stream. It is an error object with f.Message. No
// finish_reason and no [DONE] follow, so that client libraries raise the error.
func AppendFailure(dst []byte, f hub.Failure) []byte {
	dst = jsontext.AppendMember(dst, `data: {"error":{"message":`, f.Message)
	return append(dst, `,"type":"api_error","code":"upstream_stream_error","param":null}}`+"\n\n"...)
}
