package responses

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewPass returns a Pass between a Responses upstream and a Responses client. It passes answers on byte for byte,
// except for the model, which becomes the requested name.
func (Format) NewPass(r *hub.Request, reply hub.Reply) hub.Pass {
	return &pass{model: string(jsontext.AppendQuoted(nil, r.Model)), reply: reply}
}

// pass is the hub.Pass that NewPass returns.
type pass struct {
	model  string // JSON text
	reply  hub.Reply
	answer upstreamAnswer
	bytes  int64 // bytes that the model wrote, for TextBytes
	edits  jsontext.Edits
	id     string // the response's id, as the inside of a JSON string
	next   int64  // sequence_number of the next event
	output []byte // the complete items, as elements of a JSON array
}

// Event implements hub.Pass.
func (p *pass) Event(dst, name, data []byte) ([]byte, wire.Progress, error) {
	if p.answer.done {
		return dst, wire.Progress{Done: true}, nil
	}
	ok, err := p.answer.read(name, data)
	if err != nil || !ok {
		return dst, wire.Progress{}, err
	}
	e := &p.answer.event
	p.next = max(p.next, e.sequence+1)
	if id := e.response.id; p.id == "" && len(id) <= maxPassID {
		p.id = string(id)
	}
	p.bytes += e.size()
	if string(e.kind) == "response.output_item.done" {
		p.recordOutput(e.item.raw)
		p.keepItem(e.item.raw)
	}
	if len(name) == 0 || e.renamed {
		name = e.kind
	}
	if len(name) == 0 {
		return dst, wire.Progress{}, nil // without a type clients could not handle the event
	}
	dst = append(append(append(dst, "event: "...), name...), "\ndata: "...)
	start := len(dst)
	dst = p.rename(dst, bytes.TrimSpace(data))
	wire.OneLine(dst[start:])
	return append(dst, "\n\n"...), wire.Progress{Proof: passProves(e), Thinks: e.thinks(), Done: p.answer.done}, nil
}

// maxPassID limits the length of a response's id, in bytes. A longer id is not stored.
const maxPassID = 256

// maxPassOutput limits the bytes of output that are stored.
const maxPassOutput = 1 << 20

// recordOutput appends a complete item to p.output. If the stream breaks later, Fail repeats the items.
func (p *pass) recordOutput(item []byte) {
	if len(item) == 0 || len(p.output)+len(item) > maxPassOutput {
		return
	}
	if len(p.output) > 0 {
		p.output = append(p.output, ',')
	}
	p.output = wire.AppendLine(p.output, item)
}

// keepItem calls reply.KeepItem for an item, so that later requests can refer to the item.
func (p *pass) keepItem(item []byte) {
	if p.reply.KeepItem != nil && len(item) > 0 {
		p.reply.KeepItem(gjson.GetBytes(item, "id").Str, item)
	}
}

// passProves reports whether an event proves that the candidate works: it has text of any kind, a call, a complete
// item, or the end.
func passProves(e *upstreamEvent) bool {
	switch string(e.kind) {
	case "response.completed", "response.incomplete", "response.output_item.done":
		return true
	case "response.output_item.added":
		return len(e.item.name) > 0 || bytes.HasSuffix(e.item.kind, []byte("_call"))
	}
	return len(e.text) > 0
}

// rename appends data, the JSON text of an event or a whole answer. In the appended text the name of the upstream's
// model is replaced by the model name that the client requested.
func (p *pass) rename(dst, data []byte) []byte {
	p.edits = p.edits[:0]
	e := &p.answer.event
	if span := e.response.model; span.to > 0 {
		p.edits.Replace(span.from, span.to, p.model)
	}
	if span := e.kindAt; e.renamed && span.to > 0 {
		p.edits.Replace(span.from, span.to, `"`+string(e.kind)+`"`)
	}
	p.edits.Sort()
	return p.edits.Apply(dst, data)
}

// End implements hub.Pass.
func (p *pass) End(dst []byte) ([]byte, error) {
	if !p.answer.done {
		return dst, wire.ErrNoFinish
	}
	return dst, nil
}

// Whole implements hub.Pass.
func (p *pass) Whole(dst, body []byte) ([]byte, error) {
	if err := p.answer.readWhole(body); err != nil {
		return nil, err
	}
	s := jsontext.NewScanner(p.answer.event.response.output)
	_ = s.Array(func(int) error { // readWhole has checked the array
		var item upstreamItem
		err := item.scan(&s, p.answer.event.response.output)
		p.keepItem(item.raw)
		p.bytes += int64(len(item.arguments) + len(item.input))
		count := func(_, text, _ []byte) { p.bytes += int64(len(text)) }
		upstreamParts(item.content, count)
		upstreamParts(item.summary, count)
		return err
	})
	return p.rename(dst, body), nil
}

// Fail implements hub.Pass. The response object repeats the complete output items. Clients have the pieces of the last
// item from earlier events.
func (p *pass) Fail(dst []byte, f hub.Failure) []byte {
	if !p.answer.started {
		dst = append(dst, "event: error\ndata: {\"type\":\"error\",\"sequence_number\":"...)
		return appendError(strconv.AppendInt(dst, p.next, 10), &f)
	}
	dst = append(dst, "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":"...)
	dst = strconv.AppendInt(dst, p.next, 10)
	dst = jsontext.AppendAll(dst, `,"response":{"id":"`, p.id, `","object":"response","created_at":`)
	dst = strconv.AppendInt(dst, p.reply.Created.Unix(), 10)
	dst = append(append(append(dst, `,"status":"failed","model":`...), p.model...), `,"output":[`...)
	dst = append(dst, p.output...)
	dst = appendCause(append(dst, `],"error":`...), &f)
	return append(dst, `,"incomplete_details":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,`+
		`"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"usage":null}}`+"\n\n"...)
}

// KeepAlive implements hub.Pass. It appends a comment line, which clients ignore.
func (p *pass) KeepAlive(dst []byte) []byte { return append(dst, wire.KeepAlive...) }

// Usage implements hub.Pass.
func (p *pass) Usage() wire.Usage { return p.answer.usage }

// TextBytes implements hub.Pass.
func (p *pass) TextBytes() int64 { return p.bytes }
