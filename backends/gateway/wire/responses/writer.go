package responses

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewWriter returns a writer of one answer for a client.
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer {
	return &writer{
		r:       r,
		reply:   reply,
		id:      reply.ID("resp_"),
		model:   string(jsontext.AppendQuoted(nil, r.Model)),
		current: noItem,
	}
}

// writer converts deltas to output items and their events. It stores the items' text, since later events and the
// response object repeat the text.
type writer struct {
	r     *hub.Request
	reply hub.Reply
	id    string
	model string // JSON text

	sequence int64
	started  bool // response.created was sent
	ended    bool

	items []item
	// current is the index of the open text or reasoning item, or noItem. Calls may be open at the same time.
	current int
	// calls are the calls by their index (hub.Delta.Call). complete are the open calls whose arguments are complete.
	calls, complete []*call
	scratch         []byte // buffer of scratchEvents
	piece           []byte // buffer for an unescaped piece of arguments
	textBytes       int64  // bytes that the model wrote, for the estimate of the usage
}

// noItem is the index of an item that does not exist.
const noItem = -1

// result is the outcome of an answer, for the response object.
type result struct {
	status, reason string // reason is that in incomplete_details; empty means null
	failure        *hub.Failure
	usage          *wire.Usage // nil means null
}

// The outcomes of an answer that has not ended, and of one that is complete.
var (
	inProgress      = result{status: "in_progress"}
	completedResult = result{status: "completed"}
)

// outcome returns the result of an answer that ended as end describes. If the upstream stated no final usage, the
// result has an estimate.
func (w *writer) outcome(end *hub.End) result {
	r := result{status: "completed", usage: w.reply.Usage(w.r, &end.Usage, w.textBytes)}
	switch end.Finish {
	case hub.FinishLength, hub.FinishContext:
		r.status, r.reason = "incomplete", "max_output_tokens"
	case hub.FinishRefusal:
		r.status, r.reason = "incomplete", "content_filter"
	case hub.FinishStop, hub.FinishCalls: // completed
	}
	return r
}

// Stream implements hub.Writer.
func (w *writer) Stream(dst []byte, deltas []hub.Delta) []byte {
	if w.ended {
		return dst
	}
	if !w.started {
		w.started = true
		dst = w.begin(dst)
	}
	for i := range deltas {
		d := &deltas[i]
		if d.Kind == hub.DeltaEnd {
			w.ended = true
			end := w.outcome(&d.End)
			dst = w.finish(dst, end)
			w.keep()
			return w.lifecycle(dst, "response."+end.status, end)
		}
		dst = w.delta(dst, d)
	}
	return dst
}

// begin appends the first two events of a stream, which contain the same response object.
func (w *writer) begin(dst []byte) []byte {
	dst = append(w.event(dst, "response.created"), response...)
	objectStart := len(dst)
	dst = w.object(dst, inProgress)
	objectEnd := len(dst)
	dst = append(w.event(end(dst), "response.in_progress"), response...)
	return end(append(dst, dst[objectStart:objectEnd]...))
}

// Whole implements hub.Writer.
func (w *writer) Whole(deltas []hub.Delta) ([]byte, error) {
	end := completedResult
	for i := range deltas {
		d := &deltas[i]
		if d.Kind == hub.DeltaEnd {
			end = w.outcome(&d.End)
			break
		}
		w.scratchEvents(func(dst []byte) []byte { return w.delta(dst, d) })
	}
	if end.status == "completed" {
		for _, c := range w.calls {
			if !c.repair() {
				return nil, hub.ErrArguments
			}
		}
	}
	w.scratchEvents(func(dst []byte) []byte { return w.finish(dst, end) })
	w.keep()
	return w.object(nil, end), nil
}

// scratchEvents calls write and discards the events that write appends. An answer that is not streamed needs only the
// output items that write adds to w.
func (w *writer) scratchEvents(write func(dst []byte) []byte) {
	w.scratch = write(w.scratch[:0])
}

// Fail implements hub.Writer.
func (w *writer) Fail(dst []byte, f hub.Failure) []byte {
	if w.ended {
		return dst
	}
	w.ended = true
	if !w.started {
		return appendError(w.event(dst, "error"), &f)
	}
	for i := range w.items {
		if w.items[i].open() {
			w.items[i].close(incomplete)
		}
	}
	return w.lifecycle(dst, "response.failed", result{status: "failed", failure: &f})
}

// appendError appends the JSON fields of an error event that follow its sequence number.
func appendError(dst []byte, f *hub.Failure) []byte {
	dst = append(append(dst, `,"code":"`...), failureCode(f)...)
	dst = jsontext.AppendMember(dst, `","message":`, f.Message)
	return end(append(dst, `,"param":null`...))
}

// appendCause appends the JSON error object of a failed response.
func appendCause(dst []byte, f *hub.Failure) []byte {
	dst = append(append(dst, `{"code":"`...), failureCode(f)...)
	dst = jsontext.AppendMember(dst, `","message":`, f.Message)
	return append(dst, '}')
}

// failureCode returns the code in the error object for a failure. It is one of the codes that clients know.
func failureCode(f *hub.Failure) string {
	switch f.Code {
	case "rate_limit_exceeded", "context_length_exceeded", "insufficient_quota", "invalid_prompt":
		return f.Code
	}
	if f.Type == "rate_limit_error" {
		return "rate_limit_exceeded"
	}
	return "server_error"
}

// KeepAlive implements hub.Writer. It appends a comment line, which clients ignore.
func (w *writer) KeepAlive(dst []byte) []byte { return append(dst, wire.KeepAlive...) }

// delta appends the events for a delta other than DeltaEnd.
func (w *writer) delta(dst []byte, d *hub.Delta) []byte {
	w.textBytes += int64(len(d.Text))
	if len(w.complete) > 0 {
		dst = w.closeCompleted(dst, d)
	}
	switch d.Kind {
	case hub.DeltaText:
		return w.text(dst, d, false)
	case hub.DeltaRefusal:
		return w.text(dst, d, true)
	case hub.DeltaReasoning:
		return w.reasoning(dst, d.Text)
	case hub.DeltaState:
		return w.state(dst, d.State)
	case hub.DeltaCall:
		return w.call(dst, d)
	case hub.DeltaArguments:
		if d.Call >= len(w.calls) {
			return dst
		}
		return w.arguments(dst, w.calls[d.Call], d.Text)
	case hub.DeltaEnd: // see Stream and Whole
	}
	return dst
}

// finish closes all open items, in the order in which they were opened. If the answer was cut off, the last item stays
// incomplete.
func (w *writer) finish(dst []byte, r result) []byte {
	for i := range w.items {
		outputItem := &w.items[i]
		switch {
		case !outputItem.open(): // ended before
		case outputItem.call != nil:
			dst = w.closeCall(dst, outputItem.call, r)
		case r.status == "incomplete":
			dst = w.closeItem(dst, i, incomplete)
		default:
			dst = w.closeItem(dst, i, completed)
		}
	}
	for _, c := range w.calls {
		if c.isDelayed() {
			dst = w.delayedCall(dst, c, r)
		}
	}
	return dst
}

// event appends the beginning of an event with the given name. The caller appends the event's other JSON fields and its
// end.
func (w *writer) event(dst []byte, name string) []byte {
	dst = jsontext.AppendAll(dst, "event: ", name, "\ndata: {\"type\":\"", name)
	return w.number(append(dst, `","sequence_number":`...))
}

// number appends the next sequence number.
func (w *writer) number(dst []byte) []byte {
	dst = strconv.AppendInt(dst, w.sequence, 10)
	w.sequence++
	return dst
}

// end appends the end of an event.
func end(dst []byte) []byte { return append(dst, "}\n\n"...) }

// response is the name of the field with the response object in an event.
const response = `,"response":`

// lifecycle appends an event with the given name that contains the response object. r is the outcome of the answer so
// far.
func (w *writer) lifecycle(dst []byte, name string, r result) []byte {
	dst = append(w.event(dst, name), response...)
	return end(w.object(dst, r))
}

// object appends the response object as JSON. r is the outcome of the answer so far.
func (w *writer) object(dst []byte, r result) []byte {
	dst = jsontext.AppendMember(dst, `{"id":`, w.id)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, w.reply.Created.Unix(), 10)
	dst = jsontext.AppendAll(dst, `,"status":"`, r.status, `","background":false,"completed_at":`)
	if r.status == "completed" {
		dst = strconv.AppendInt(dst, max(w.reply.Time().Unix(), w.reply.Created.Unix()), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"error":`...)
	if r.failure != nil {
		dst = appendCause(dst, r.failure)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"incomplete_details":`...)
	if r.reason != "" {
		dst = jsontext.AppendAll(dst, `{"reason":"`, r.reason, `"}`)
	} else {
		dst = append(dst, "null"...)
	}
	dst = jsontext.AppendAll(dst, `,"model":`, w.model)
	for _, p := range w.r.Answer.Echo {
		dst = jsontext.AppendAll(dst, `,"`, p.Name, `":`, p.Value)
	}
	dst = append(dst, `,"output":[`...)
	for i := range w.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.items[i].append(dst)
	}
	dst = append(dst, `],"usage":`...)
	return append(appendUsage(dst, r.usage), '}')
}

// appendUsage appends the usage object. Clients need it at the end of an answer, even if the upstream stated no usage.
func appendUsage(dst []byte, u *wire.Usage) []byte {
	if u == nil {
		return append(dst, "null"...)
	}
	for _, count := range [...]struct {
		before string
		n      int64
	}{
		{`{"input_tokens":`, u.Prompt},
		{`,"input_tokens_details":{"cached_tokens":`, u.CacheRead},
		{`,"cache_write_tokens":`, u.CacheWrite},
		{`},"output_tokens":`, u.Completion},
		{`,"output_tokens_details":{"reasoning_tokens":`, u.Reasoning},
		{`},"total_tokens":`, u.Prompt + u.Completion},
	} {
		dst = append(dst, count.before...)
		dst = strconv.AppendInt(dst, count.n, 10)
	}
	return append(dst, '}')
}
