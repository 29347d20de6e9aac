package responses

import (
	"bytes"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// item is an output item. Its texts are those between the quotes of JSON strings, still escaped as the upstream sent
// them.
type item struct {
	id     string
	status status
	// Exactly one of call, reasoning and parts is set. It determines the type of the item; parts belong to a message.
	call      *call
	reasoning *reasoning
	parts     []part
}

// status is the status of an output item.
type status uint8

const (
	running status = iota // not ended yet
	completed
	incomplete // cut off
)

// String returns the value of the item's field status.
func (s status) String() string { return [...]string{"in_progress", "completed", "incomplete"}[s] }

func (it *item) open() bool     { return it.status == running }
func (it *item) close(s status) { it.status = s }

// reasoning is the content of a reasoning item.
type reasoning struct {
	text []byte // summary, empty if the client gets no text
	// token is the token of the reasoning state, or empty. If hidden is set the token is stored but not shown to the
	// client.
	token  string
	hidden bool
}

// part is a content part of a message.
type part struct {
	refusal  bool
	text     []byte
	logprobs []byte // elements of an array
	// delta is the constant text of the part's delta events, between their sequence number and their text.
	delta []byte
}

// append appends the output item as a JSON object to dst.
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

// append appends the fields of a reasoning item that follow its id, and the closing brace.
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

// appendPart appends the only part of the summary as a JSON object.
func (r *reasoning) appendPart(dst []byte) []byte {
	dst = append(append(dst, `{"type":"summary_text","text":"`...), r.text...)
	return append(dst, `"}`...)
}

// append appends the content part as a JSON object.
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

// keep stores the items of the answer with reply.KeepItem, including reasoning state that is not shown to the client.
func (w *writer) keep() {
	if w.reply.KeepItem == nil {
		return
	}
	for i := range w.items {
		outputItem := &w.items[i]
		if outputItem.open() {
			continue
		}
		stored := *outputItem
		if outputItem.reasoning != nil {
			r := *outputItem.reasoning
			r.hidden = false
			stored.reasoning = &r
		}
		w.reply.KeepItem(outputItem.id, stored.append(nil))
	}
}

// takesState reports whether tokens of reasoning state are needed: the client returns them, or the gateway stores the
// items of the answer.
func (w *writer) takesState() bool { return w.r.Answer.State || w.reply.KeepItem != nil }

// add adds an output item and appends the item's event response.output_item.added.
func (w *writer) add(dst []byte, entry item) []byte {
	w.items = append(w.items, entry)
	dst = w.event(dst, "response.output_item.added")
	return w.appendItem(dst, len(w.items)-1)
}

// done gives the item with this index the status s and appends the item's event response.output_item.done.
func (w *writer) done(dst []byte, index int, s status) []byte {
	w.items[index].close(s)
	dst = w.event(dst, "response.output_item.done")
	return w.appendItem(dst, index)
}

// appendItem appends the last two fields of an event, which are the index and the JSON object of an item, and the end
// of the event.
func (w *writer) appendItem(dst []byte, index int) []byte {
	dst = append(dst, `,"output_index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"item":`...)
	return end(w.items[index].append(dst))
}

// beginItemEvent appends the beginning of an event about the item with this index: the event's name, and the item's id
// and index.
func (w *writer) beginItemEvent(dst []byte, name string, index int) []byte {
	return w.appendItemRef(w.event(dst, name), index)
}

// appendItemRef appends the JSON fields with the id and the index of the item to an event.
func (w *writer) appendItemRef(dst []byte, index int) []byte {
	dst = jsontext.AppendAll(dst, `,"item_id":"`, w.items[index].id, `","output_index":`)
	return strconv.AppendInt(dst, int64(index), 10)
}

// appendText appends a JSON field with the given name and text as the last field of an event, and the end of the event.
// The text is already escaped.
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

// openPart begins a content part for text, or for a refusal if refusal is set, unless the last part of the open item is
// such a part. If the open item is not a message, openPart first begins one.
func (w *writer) openPart(dst []byte, refusal bool) []byte {
	if w.current == noItem || w.items[w.current].reasoning != nil {
		dst = w.closeCurrent(dst)
		w.current = len(w.items)
		dst = w.add(dst, item{id: w.reply.ID("msg_")})
	}
	message := &w.items[w.current]
	n := len(message.parts)
	if n > 0 && message.parts[n-1].refusal == refusal {
		return dst
	}
	if n > 0 {
		dst = w.closePart(dst, w.current)
	}
	message.parts = append(message.parts, part{refusal: refusal})
	dst = w.beginPartEvent(dst, "response.content_part.added", w.current)
	dst = append(dst, `,"part":`...)
	dst = end(message.parts[n].append(dst))
	message.parts[n].delta = append(w.appendPartRef(nil, w.current), `,"delta":"`...)
	return dst
}

// text writes a piece of the answer's text, or of a refusal if refusal is set.
func (w *writer) text(dst []byte, d *hub.Delta, refusal bool) []byte {
	dst = w.openPart(dst, refusal)
	parts := w.items[w.current].parts
	p := &parts[len(parts)-1]
	p.text = append(p.text, d.Text...)
	if refusal {
		dst = w.number(append(dst, refusalDelta...))
		dst = append(append(dst, p.delta...), d.Text...)
		return end(append(dst, '"'))
	}
	dst = w.number(append(dst, textDelta...))
	dst = append(append(append(dst, p.delta...), d.Text...), `","logprobs":[`...)
	if w.r.Answer.Logprobs {
		start := len(dst)
		dst = appendElements(dst, d.Logprobs)
		if added := dst[start:]; len(added) > 0 {
			if len(p.logprobs) > 0 {
				p.logprobs = append(p.logprobs, ',')
			}
			p.logprobs = append(p.logprobs, added...)
		}
	}
	return end(append(dst, ']'))
}

// appendElements appends the elements of a JSON array without line ends.
func appendElements(dst, array []byte) []byte {
	array = bytes.TrimSpace(array)
	if len(array) < 2 {
		return dst
	}
	return wire.AppendLine(dst, bytes.TrimSpace(array[1:len(array)-1]))
}

// beginPartEvent appends the beginning of an event about the last content part of the item with this index.
func (w *writer) beginPartEvent(dst []byte, name string, index int) []byte {
	return w.appendPartRef(w.event(dst, name), index)
}

// appendPartRef appends JSON fields to an event: the id and the index of the item, and the index of the item's last
// content part.
func (w *writer) appendPartRef(dst []byte, index int) []byte {
	dst = w.appendItemRef(dst, index)
	dst = append(dst, `,"content_index":`...)
	return strconv.AppendInt(dst, int64(len(w.items[index].parts)-1), 10)
}

// closePart ends the last part of a message.
func (w *writer) closePart(dst []byte, index int) []byte {
	parts := w.items[index].parts
	p := &parts[len(parts)-1]
	if p.refusal {
		dst = w.beginPartEvent(dst, "response.refusal.done", index)
		dst = appendText(dst, "refusal", p.text)
	} else {
		dst = w.beginPartEvent(dst, "response.output_text.done", index)
		dst = append(append(append(dst, `,"text":"`...), p.text...), `","logprobs":[`...)
		dst = append(dst, p.logprobs...)
		dst = end(append(dst, ']'))
	}
	dst = w.beginPartEvent(dst, "response.content_part.done", index)
	dst = append(dst, `,"part":`...)
	return end(p.append(dst))
}

// reasoning writes a piece of the model's reasoning.
func (w *writer) reasoning(dst, text []byte) []byte {
	if !w.r.Answer.Reasoning {
		return dst
	}
	if w.current == noItem || w.items[w.current].reasoning == nil {
		dst = w.openReasoning(dst)
	}
	if w.r.Answer.HideReasoningText {
		return dst
	}
	r := w.items[w.current].reasoning
	if len(r.text) == 0 {
		dst = w.beginSummaryEvent(dst, "response.reasoning_summary_part.added", w.current)
		dst = append(dst, `,"part":`...)
		dst = end(r.appendPart(dst))
	}
	r.text = append(r.text, text...)
	dst = w.beginSummaryEvent(dst, "response.reasoning_summary_text.delta", w.current)
	return appendText(dst, "delta", text)
}

// openReasoning ends the open item and begins a reasoning item.
func (w *writer) openReasoning(dst []byte) []byte {
	dst = w.closeCurrent(dst)
	w.current = len(w.items)
	return w.add(dst, item{id: w.reply.ID("rs_"), reasoning: &reasoning{hidden: !w.r.Answer.State}})
}

// beginSummaryEvent begins an event about the summary of a reasoning item.
func (w *writer) beginSummaryEvent(dst []byte, name string, index int) []byte {
	dst = w.beginItemEvent(dst, name, index)
	return append(dst, `,"summary_index":0`...)
}

// state ends the open reasoning item, with a token of the reasoning state s. Without an open reasoning item it writes
// an item with an empty summary, unless there is no token.
func (w *writer) state(dst []byte, s hub.State) []byte {
	if w.current == noItem || w.items[w.current].reasoning == nil {
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

// closeCurrent ends the open text or reasoning item, if there is one.
func (w *writer) closeCurrent(dst []byte) []byte {
	if w.current == noItem {
		return dst
	}
	return w.closeItem(dst, w.current, completed)
}

// closeItem ends a text or reasoning item with the status s.
func (w *writer) closeItem(dst []byte, index int, s status) []byte {
	w.current = noItem
	r := w.items[index].reasoning
	if r == nil {
		dst = w.closePart(dst, index)
		return w.done(dst, index, s)
	}
	if r.token == "" && w.takesState() {
		// Even without state the token shows that the reasoning came through the gateway.
		r.token = w.reply.Token(hub.State{Form: hub.FormContent})
	}
	if len(r.text) > 0 {
		dst = w.beginSummaryEvent(dst, "response.reasoning_summary_text.done", index)
		dst = appendText(dst, "text", r.text)
		dst = w.beginSummaryEvent(dst, "response.reasoning_summary_part.done", index)
		dst = append(dst, `,"part":`...)
		dst = end(r.appendPart(dst))
	}
	return w.done(dst, index, s)
}
