package responses

import (
	"bytes"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// item is an item of the output. Its texts are the insides of JSON strings, as they came.
type item struct {
	id     string
	status status
	// Exactly one of these is set, and determines the kind: call, reasoning, or parts for a message.
	call      *call
	reasoning *reasoning
	parts     []part
}

type status uint8

const (
	running status = iota
	completed
	incomplete
)

func (s status) String() string { return [...]string{"in_progress", "completed", "incomplete"}[s] }

func (it *item) open() bool     { return it.status == running }
func (it *item) close(s status) { it.status = s }

type reasoning struct {
	text []byte
	// token is the state. If hidden is set it is kept but not shown to the client.
	token  string
	hidden bool
}

// part is a part of a message.
type part struct {
	refusal  bool
	text     []byte
	logprobs []byte // elements of an array
	// delta is the text of its delta events between their number and their text.
	delta []byte
}

// append appends the item.
func (it *item) append(dst []byte) []byte {
	if it.call != nil {
		return it.call.append(dst, it)
	}
	dst = jsontext.AppendMember(dst, `{"id":`, it.id)
	if it.reasoning != nil {
		return it.reasoning.append(dst, it.status)
	}
	dst = append(dst, `,"type":"message","status":"`...)
	dst = append(dst, it.status.String()...)
	dst = append(dst, `","role":"assistant","content":[`...)
	for i := range it.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = it.parts[i].append(dst)
	}
	return append(dst, "]}"...)
}

// append appends the members of a reasoning item after its id, and the end of the item.
func (r *reasoning) append(dst []byte, s status) []byte {
	dst = append(dst, `,"type":"reasoning"`...)
	if s == incomplete {
		dst = append(dst, `,"status":"incomplete"`...)
	}
	dst = append(dst, `,"summary":[`...)
	if len(r.text) > 0 {
		dst = r.appendPart(dst)
	}
	dst = append(dst, ']')
	if r.token != "" && !r.hidden {
		dst = jsontext.AppendMember(dst, `,"encrypted_content":`, r.token)
	}
	return append(dst, '}')
}

func (r *reasoning) appendPart(dst []byte) []byte {
	dst = append(append(dst, `{"type":"summary_text","text":"`...), r.text...)
	return append(dst, `"}`...)
}

func (p *part) append(dst []byte) []byte {
	if p.refusal {
		dst = append(append(dst, `{"type":"refusal","refusal":"`...), p.text...)
		return append(dst, `"}`...)
	}
	dst = append(dst, `{"type":"output_text","text":"`...)
	dst = append(dst, p.text...)
	dst = append(dst, `","annotations":[],"logprobs":[`...)
	dst = append(dst, p.logprobs...)
	return append(dst, "]}"...)
}

// keep keeps the items of the answer, including state of reasoning that the client is not shown.
func (w *writer) keep() {
	if w.reply.KeepItem == nil {
		return
	}
	for i := range w.items {
		it := &w.items[i]
		if it.open() {
			continue
		}
		kept := *it
		if it.reasoning != nil {
			r := *it.reasoning
			r.hidden = false
			kept.reasoning = &r
		}
		w.reply.KeepItem(it.id, kept.append(nil))
	}
}

// takesState reports whether the state of reasoning is kept, because the client returns it or because the gateway keeps
// the items of the answer.
func (w *writer) takesState() bool { return w.r.Answer.State || w.reply.KeepItem != nil }

// add opens an item and announces it.
func (w *writer) add(dst []byte, it item) []byte {
	w.items = append(w.items, it)
	dst = w.event(dst, "response.output_item.added")
	return w.appendItem(dst, len(w.items)-1)
}

// done announces that an item is complete, or will not become more complete.
func (w *writer) done(dst []byte, index int, s status) []byte {
	w.items[index].close(s)
	dst = w.event(dst, "response.output_item.done")
	return w.appendItem(dst, index)
}

// appendItem appends the index and the item, and ends the event.
func (w *writer) appendItem(dst []byte, index int) []byte {
	dst = append(dst, `,"output_index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"item":`...)
	return end(w.items[index].append(dst))
}

// about begins an event about an existing item.
func (w *writer) about(dst []byte, name string, index int) []byte {
	return w.place(w.event(dst, name), index)
}

// place appends the item that an event is about.
func (w *writer) place(dst []byte, index int) []byte {
	dst = jsontext.AppendAll(dst, `,"item_id":"`, w.items[index].id, `","output_index":`)
	return strconv.AppendInt(dst, int64(index), 10)
}

// appendText appends a text as the last member, and ends the event.
func appendText(dst []byte, name string, text []byte) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	dst = append(dst, text...)
	return end(append(dst, '"'))
}

// The beginnings of the most frequent events.
const (
	textDelta    = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":"
	refusalDelta = "event: response.refusal.delta\ndata: {\"type\":\"response.refusal.delta\",\"sequence_number\":"
)

// text writes a piece of an answer's text or of its refusal.
func (w *writer) text(dst []byte, d *hub.Delta, refusal bool) []byte {
	if w.current == none || w.items[w.current].reasoning != nil {
		dst = w.closeCurrent(dst)
		w.current = len(w.items)
		dst = w.add(dst, item{id: w.reply.ID("msg_")})
	}
	it := &w.items[w.current]
	if n := len(it.parts); n == 0 || it.parts[n-1].refusal != refusal {
		if n > 0 {
			dst = w.closePart(dst, w.current)
		}
		it.parts = append(it.parts, part{refusal: refusal})
		dst = w.aboutPart(dst, "response.content_part.added", w.current)
		dst = append(dst, `,"part":`...)
		dst = end(it.parts[n].append(dst))
		it.parts[n].delta = append(w.placePart(nil, w.current), `,"delta":"`...)
	}
	p := &it.parts[len(it.parts)-1]
	p.text = append(p.text, d.Text...)
	if refusal {
		dst = w.number(append(dst, refusalDelta...))
		dst = append(append(dst, p.delta...), d.Text...)
		return end(append(dst, '"'))
	}
	dst = w.number(append(dst, textDelta...))
	dst = append(append(append(dst, p.delta...), d.Text...), `","logprobs":[`...)
	if w.r.Answer.Logprobs {
		from := len(dst)
		dst = appendElements(dst, d.Logprobs)
		if added := dst[from:]; len(added) > 0 {
			if len(p.logprobs) > 0 {
				p.logprobs = append(p.logprobs, ',')
			}
			p.logprobs = append(p.logprobs, added...)
		}
	}
	return end(append(dst, ']'))
}

// appendElements appends the elements of a JSON array, on one line.
func appendElements(dst, array []byte) []byte {
	array = bytes.TrimSpace(array)
	if len(array) < 2 {
		return dst
	}
	from := len(dst)
	dst = append(dst, bytes.TrimSpace(array[1:len(array)-1])...)
	wire.OneLine(dst[from:])
	return dst
}

// aboutPart begins an event about the last part of an existing item, and appends the index of the part.
func (w *writer) aboutPart(dst []byte, name string, index int) []byte {
	return w.placePart(w.event(dst, name), index)
}

// placePart appends the item that an event is about, and the index of its last part.
func (w *writer) placePart(dst []byte, index int) []byte {
	dst = w.place(dst, index)
	dst = append(dst, `,"content_index":`...)
	return strconv.AppendInt(dst, int64(len(w.items[index].parts)-1), 10)
}

// closePart ends the last part of a message.
func (w *writer) closePart(dst []byte, index int) []byte {
	parts := w.items[index].parts
	p := &parts[len(parts)-1]
	if p.refusal {
		dst = w.aboutPart(dst, "response.refusal.done", index)
		dst = appendText(dst, "refusal", p.text)
	} else {
		dst = w.aboutPart(dst, "response.output_text.done", index)
		dst = append(append(append(dst, `,"text":"`...), p.text...), `","logprobs":[`...)
		dst = append(dst, p.logprobs...)
		dst = end(append(dst, ']'))
	}
	dst = w.aboutPart(dst, "response.content_part.done", index)
	dst = append(dst, `,"part":`...)
	return end(p.append(dst))
}

// reasoning writes a piece of the model's reasoning.
func (w *writer) reasoning(dst, text []byte) []byte {
	if !w.r.Answer.Reasoning {
		return dst
	}
	if w.current == none || w.items[w.current].reasoning == nil {
		dst = w.openReasoning(dst)
	}
	if w.r.Answer.HideReasoningText {
		return dst
	}
	r := w.items[w.current].reasoning
	if len(r.text) == 0 {
		dst = w.aboutSummary(dst, "response.reasoning_summary_part.added", w.current)
		dst = append(dst, `,"part":`...)
		dst = end(r.appendPart(dst))
	}
	r.text = append(r.text, text...)
	dst = w.aboutSummary(dst, "response.reasoning_summary_text.delta", w.current)
	return appendText(dst, "delta", text)
}

// openReasoning ends the open item and begins one of reasoning.
func (w *writer) openReasoning(dst []byte) []byte {
	dst = w.closeCurrent(dst)
	w.current = len(w.items)
	return w.add(dst, item{id: w.reply.ID("rs_"), reasoning: &reasoning{hidden: !w.r.Answer.State}})
}

// aboutSummary begins an event about the summary of a reasoning item.
func (w *writer) aboutSummary(dst []byte, name string, index int) []byte {
	dst = w.about(dst, name, index)
	return append(dst, `,"summary_index":0`...)
}

// state ends the reasoning that a state belongs to. State without reasoning becomes an item with an empty summary
// (specification 11.3).
func (w *writer) state(dst []byte, s hub.State) []byte {
	if w.current == none || w.items[w.current].reasoning == nil {
		if !w.takesState() {
			return dst
		}
		token := w.reply.Token(s)
		if token == "" {
			return dst
		}
		dst = w.openReasoning(dst)
		w.items[w.current].reasoning.token = token
		return w.closeCurrent(dst)
	}
	if w.takesState() {
		w.items[w.current].reasoning.token = w.reply.Token(s)
	}
	return w.closeCurrent(dst)
}

// closeCurrent ends the open item of text or reasoning, if there is one.
func (w *writer) closeCurrent(dst []byte) []byte {
	if w.current == none {
		return dst
	}
	return w.closeItem(dst, w.current, completed)
}

// closeItem ends an item of text or reasoning.
func (w *writer) closeItem(dst []byte, index int, s status) []byte {
	w.current = none
	r := w.items[index].reasoning
	if r == nil {
		dst = w.closePart(dst, index)
		return w.done(dst, index, s)
	}
	if r.token == "" && w.takesState() {
		// The token says at least that the reasoning is the gateway's.
		r.token = w.reply.Token(hub.State{Form: hub.FormContent})
	}
	if len(r.text) > 0 {
		dst = w.aboutSummary(dst, "response.reasoning_summary_text.done", index)
		dst = appendText(dst, "text", r.text)
		dst = w.aboutSummary(dst, "response.reasoning_summary_part.done", index)
		dst = append(dst, `,"part":`...)
		dst = end(r.appendPart(dst))
	}
	return w.done(dst, index, s)
}
