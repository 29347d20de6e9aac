package messages

import (
	"bytes"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewPass returns a Pass between a messages upstream and a messages client. It passes answers on byte for byte, except
// for the model, which becomes the requested name.
func (Format) NewPass(r *hub.Request, _ hub.Reply) hub.Pass {
	return &pass{model: string(jsontext.AppendQuoted(nil, r.Model))}
}

// pass is the hub.Pass that NewPass returns.
type pass struct {
	model  string // JSON text
	answer upstreamAnswer
	bytes  int64 // bytes that the model wrote, for TextBytes
	edits  jsontext.Edits
}

// Event implements hub.Pass.
func (p *pass) Event(dst, name, data []byte) ([]byte, wire.Progress, error) {
	if p.answer.done {
		return dst, wire.Progress{Done: true}, nil
	}
	ok, err := p.answer.read(name, data)
	switch {
	case err != nil:
		return dst, wire.Progress{}, err
	case !ok && len(bytes.TrimSpace(data)) > 0: // [DONE], after which no message_stop comes
		dst, err = p.End(dst)
		return dst, wire.Progress{Done: err == nil}, err
	case !ok:
		return dst, wire.Progress{}, nil
	}
	e := &p.answer.event
	done := string(e.kind) == "message_stop"
	if done && p.answer.stop == "" {
		p.answer.done = false // so that End reports the missing end too
		return dst, wire.Progress{}, wire.ErrNoFinish
	}
	if len(name) == 0 {
		name = e.kind
	}
	if len(name) == 0 {
		return dst, wire.Progress{}, nil // without a type clients could not handle the event
	}
	p.bytes += e.block.size()
	proof := done
	switch string(e.kind) {
	case "content_block_start", "content_block_delta":
		proof = e.block.proves()
	case "message_delta":
		proof = p.answer.stop != ""
	}
	dst = append(append(append(dst, "event: "...), name...), "\ndata: "...)
	start := len(dst)
	dst = p.rename(dst, bytes.TrimSpace(data))
	wire.OneLine(dst[start:])
	return append(dst, "\n\n"...), wire.Progress{Proof: proof, Thinks: e.thinks(), Done: done}, nil
}

// rename appends data, the JSON text of an event or a whole answer. In the appended text the name of the upstream's
// model is replaced by the model name that the client requested.
func (p *pass) rename(dst, data []byte) []byte {
	p.edits = p.edits[:0]
	if span := p.answer.event.model; span.to > 0 {
		p.edits.Replace(span.from, span.to, p.model)
	}
	return p.edits.Apply(dst, data)
}

// End implements hub.Pass. An answer with a stop_reason is complete even without the event message_stop. In that case
// End appends message_stop, because clients wait for this event.
func (p *pass) End(dst []byte) ([]byte, error) {
	switch {
	case p.answer.done:
		return dst, nil
	case p.answer.stop == "":
		return dst, wire.ErrNoFinish
	}
	p.answer.done = true
	return append(dst, messageStop...), nil
}

// Whole implements hub.Pass.
func (p *pass) Whole(dst, body []byte) ([]byte, error) {
	err := p.answer.readWhole(body, func(b *upstreamBlock) { p.bytes += b.size() + int64(len(b.input)) })
	if err != nil {
		return nil, err
	}
	return p.rename(dst, body), nil
}

// Fail implements hub.Pass.
func (p *pass) Fail(dst []byte, f hub.Failure) []byte { return appendFailure(dst, &f) }

// KeepAlive implements hub.Pass. It appends a ping event, or a comment line before message_start, since no ping may
// come earlier.
func (p *pass) KeepAlive(dst []byte) []byte {
	if !p.answer.started {
		return append(dst, wire.KeepAlive...)
	}
	return append(dst, ping...)
}

// Usage implements hub.Pass.
func (p *pass) Usage() wire.Usage { return p.answer.tokens() }

// TextBytes implements hub.Pass.
func (p *pass) TextBytes() int64 { return p.bytes }
