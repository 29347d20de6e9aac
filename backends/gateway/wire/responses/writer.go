package responses

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewWriter returns a writer of one answer for a client (specification 8 and 9).
func (Format) NewWriter(r *hub.Request, reply hub.Reply) hub.Writer {
	return &writer{
		r:       r,
		reply:   reply,
		id:      reply.ID("resp_"),
		model:   string(jsontext.AppendQuoted(nil, r.Model)),
		current: none,
	}
}

// writer turns deltas into items and the events about them. It keeps the text of the items, since events and the final
// object repeat it.
type writer struct {
	r     *hub.Request
	reply hub.Reply
	id    string
	model string // JSON text

	sequence int64
	started  bool // response.created was sent
	ended    bool

	items []item
	// current is the index of the open item of text or reasoning, or none. Calls may be open at the same time.
	current int
	// calls are the calls by their number. whole are those whose arguments are complete but which are still open.
	calls, whole []*call
	scratch      []byte
	// piece is an unescaped piece of arguments.
	piece     []byte
	textBytes int64
}

const none = -1

// result is the outcome of an answer.
type result struct {
	status, reason string // reason of incomplete_details; empty means null
	failure        *hub.Failure
	usage          *wire.Usage // nil means null
}

var (
	inProgress = result{status: "in_progress"}
	whole      = result{status: "completed"}
)

// outcome returns the result of an answer (specification 5).
func (w *writer) outcome(end *hub.End) result {
	r := result{status: "completed", usage: &end.Usage}
	if !end.Usage.Known {
		estimate := w.reply.Estimate(w.r, r.usage, w.textBytes)
		r.usage = &estimate
	}
	switch end.Finish {
	case hub.FinishLength, hub.FinishContext:
		r.status, r.reason = "incomplete", "max_output_tokens"
	case hub.FinishRefusal:
		r.status, r.reason = "incomplete", "content_filter"
	case hub.FinishStop, hub.FinishCalls:
	}
	return r
}

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

// begin writes the first two events, whose objects are the same.
func (w *writer) begin(dst []byte) []byte {
	dst = append(w.event(dst, "response.created"), response...)
	from := len(dst)
	dst = w.object(dst, inProgress)
	to := len(dst)
	dst = append(w.event(end(dst), "response.in_progress"), response...)
	return end(append(dst, dst[from:to]...))
}

func (w *writer) Whole(deltas []hub.Delta) ([]byte, error) {
	end := whole
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
			if !c.mend() {
				return nil, hub.ErrArguments
			}
		}
	}
	w.scratchEvents(func(dst []byte) []byte { return w.finish(dst, end) })
	w.keep()
	return w.object(nil, end), nil
}

// scratchEvents runs write for the items that it makes. The events that it writes are discarded.
func (w *writer) scratchEvents(write func(dst []byte) []byte) {
	w.scratch = write(w.scratch[:0])
}

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

// appendError appends what follows the number of an error event.
func appendError(dst []byte, f *hub.Failure) []byte {
	dst = append(append(dst, `,"code":"`...), failureCode(f)...)
	dst = jsontext.AppendMember(dst, `","message":`, f.Message)
	return end(append(dst, `,"param":null`...))
}

// appendCause appends the error of a response that failed.
func appendCause(dst []byte, f *hub.Failure) []byte {
	dst = append(append(dst, `{"code":"`...), failureCode(f)...)
	dst = jsontext.AppendMember(dst, `","message":`, f.Message)
	return append(dst, '}')
}

// failureCode returns one of the codes that clients know (specification 8).
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

func (w *writer) KeepAlive(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }

// delta writes the events of a delta other than the end.
func (w *writer) delta(dst []byte, d *hub.Delta) []byte {
	w.textBytes += int64(len(d.Text))
	if len(w.whole) > 0 {
		dst = w.settle(dst, d)
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
	case hub.DeltaEnd:
	}
	return dst
}

// finish closes what is open, in the order in which it was opened. If the answer was cut off its last item stays
// incomplete.
func (w *writer) finish(dst []byte, r result) []byte {
	for i := range w.items {
		it := &w.items[i]
		switch {
		case !it.open():
		case it.call != nil:
			dst = w.closeCall(dst, it.call, r)
		case r.status == "incomplete":
			dst = w.closeItem(dst, i, incomplete)
		default:
			dst = w.closeItem(dst, i, completed)
		}
	}
	for _, c := range w.calls {
		if c.late() {
			dst = w.lateCall(dst, c, r)
		}
	}
	return dst
}

// event begins an event. Its other members and its end follow.
func (w *writer) event(dst []byte, name string) []byte {
	dst = jsontext.AppendAll(dst, "event: ", name, "\ndata: {\"type\":\"", name)
	return w.number(append(dst, `","sequence_number":`...))
}

// number appends the number of an event.
func (w *writer) number(dst []byte) []byte {
	dst = strconv.AppendInt(dst, w.sequence, 10)
	w.sequence++
	return dst
}

func end(dst []byte) []byte { return append(dst, "}\n\n"...) }

const response = `,"response":`

// lifecycle writes an event with the response object.
func (w *writer) lifecycle(dst []byte, name string, r result) []byte {
	dst = append(w.event(dst, name), response...)
	return end(w.object(dst, r))
}

// object appends the response object (specification 8).
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

// appendUsage appends the counts (specification 5.1). Clients need the object at the end of an answer, even if the
// upstream did not count.
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
