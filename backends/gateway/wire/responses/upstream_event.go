package responses

import (
	"bytes"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// upstreamAnswer is the state of reading an answer in the Responses format, event by event or as a whole. It serves
// both upstreamReader and pass.
type upstreamAnswer struct {
	event upstreamEvent
	usage wire.Usage
	// status is the response's status. reason is the reason in its incomplete_details.
	status, reason string
	started        bool // response.created was seen
	done           bool // the last event was seen
}

// upstreamEvent is the content of one event, or of a response that is not streamed. Its texts are those between the
// quotes of JSON strings, still escaped.
type upstreamEvent struct {
	kind       []byte // type, or the name set by finish
	kindAt     upstreamSpan
	renamed    bool   // kind differs from the type in the event
	sequence   int64  // sequence_number
	output     int64  // output_index
	summary    int64  // summary_index, or content_index of reasoning text
	text       []byte // delta
	final      []byte // arguments or input: the complete text of a call
	logprobs   []byte // JSON array with at least one element, or nil
	item       upstreamItem
	response   upstreamResponse
	failed     bool // the field error is an object
	isResponse bool // the event is a response itself
}

// size returns the number of bytes in the event that the model wrote. The number is 0 for done events, which only
// repeat text.
func (e *upstreamEvent) size() int64 {
	if bytes.HasSuffix(e.kind, []byte(".delta")) {
		return int64(len(e.text))
	}
	return 0
}

// thinks reports whether the event shows that the model is thinking. Such an event need not have text.
func (e *upstreamEvent) thinks() bool {
	return string(e.item.kind) == "reasoning" || bytes.HasPrefix(e.kind, []byte("response.reasoning_"))
}

// upstreamItem is an output item.
type upstreamItem struct {
	raw              []byte // JSON text
	kind             []byte
	callID, name     []byte
	arguments, input []byte
	encrypted        []byte
	action           []byte // type of the action
	content, summary []byte // JSON arrays
}

// upstreamResponse is the response object of an event.
type upstreamResponse struct {
	raw    []byte // JSON text
	id     []byte
	model  upstreamSpan // position of the value
	output []byte       // JSON array
	failed bool         // its error is not null
}

// upstreamSpan is the position [from, to) of a value in an event's JSON text. It is zero if there is no such value.
type upstreamSpan struct{ from, to int }

// read reads one event of a stream into a. name is the event's name, data its JSON text. ok is false for an event
// without content. For an error event or a failed response it returns the error that the upstream stated.
func (a *upstreamAnswer) read(name, data []byte) (ok bool, err error) {
	a.event = upstreamEvent{}
	data, end := wire.EventData(data)
	if len(data) == 0 || end {
		return false, nil
	}
	if err := a.scan(data); err != nil {
		return false, err
	}
	e := &a.event
	if len(e.kind) == 0 {
		e.kind = name
	}
	if string(e.kind) == "response.done" {
		a.finish() // replaces e.kind by the event for the status
	}
	switch string(e.kind) {
	case "error":
		return false, wire.ParseUpstreamError(200, data)
	case "response.created":
		a.started = true
	case "response.failed", "response.cancelled":
		return false, a.failure()
	case "response.completed", "response.incomplete":
		if e.response.failed {
			return false, a.failure()
		}
		a.done = true
		if a.status == "" {
			a.status = string(e.kind[len("response."):])
		}
		a.countCalls()
	case "response.output_item.done":
		a.countCall(&e.item)
	default:
		if e.failed {
			return false, wire.ParseUpstreamError(200, data)
		}
	}
	return true, nil
}

// finish handles the event response.done, with which some upstreams end every response. It replaces this event by the
// standard event for the response's status.
func (a *upstreamAnswer) finish() {
	e := &a.event
	switch a.status {
	case "failed", "incomplete", "cancelled":
		e.kind = []byte("response." + a.status)
	default:
		a.status, e.kind = "completed", upstreamCompleted
	}
	e.renamed = true
}

var upstreamCompleted = []byte("response.completed")

// failure returns the error of a failed response.
func (a *upstreamAnswer) failure() error {
	if a.event.response.failed {
		return wire.ParseUpstreamError(200, a.event.response.raw)
	}
	return &wire.UpstreamError{
		Status: 200, Code: "server_error", Message: "the upstream could not complete the response and stated no reason",
	}
}

// readWhole reads body, a response that is not streamed, into a. It returns the error that the upstream stated,
// wire.ErrNoChoices for a response without output, or wire.ErrNoFinish for an unfinished response.
func (a *upstreamAnswer) readWhole(body []byte) error {
	a.event = upstreamEvent{isResponse: true}
	if err := a.scan(body); err != nil {
		return err
	}
	e := &a.event
	e.response.raw = body
	switch {
	case e.response.failed || a.status == "failed" || a.status == "cancelled":
		return a.failure()
	case string(e.kind) == "error":
		return wire.ParseUpstreamError(200, body)
	case len(e.response.output) == 0, a.status == "" && upstreamIsEmpty(e.response.output):
		return wire.ErrNoChoices
	case a.status == "queued" || a.status == "in_progress":
		return wire.ErrNoFinish
	}
	a.countCalls()
	return nil
}

// upstreamIsEmpty reports whether array, the JSON text of an array, has no elements.
func upstreamIsEmpty(array []byte) bool { return len(bytes.TrimSpace(array[1:])) == 1 }

// countCalls counts the calls of tools that the provider ran. It uses the output of the complete response, which is
// more complete than the events before, and discards the counts from these events.
func (a *upstreamAnswer) countCalls() {
	output := a.event.response.output
	if len(output) == 0 || upstreamIsEmpty(output) {
		return
	}
	if a.usage.Served != nil {
		a.usage.Served.Calls = nil
	}
	s := jsontext.NewScanner(output)
	_ = s.Array(func(int) error { // scan has checked the array
		var item upstreamItem
		err := item.scan(&s, output)
		a.countCall(&item)
		return err
	})
}

// countCall counts an item if it is a call of a tool that the provider ran. Of the steps of a web search only the
// searches are billed, not the opened pages.
func (a *upstreamAnswer) countCall(i *upstreamItem) {
	tool, hosted := bytes.CutSuffix(i.kind, []byte("_call"))
	switch string(tool) {
	case "function", "custom_tool", "computer", "shell", "local_shell", "apply_patch", "tool_search":
		// The client runs these tools.
		return
	case "web_search":
		hosted = hosted && (len(i.action) == 0 || string(i.action) == "search")
	}
	if hosted {
		wire.AddServedCall(&a.usage.Served, tool)
	}
}

// scan scans data, the JSON text of one event or of a response that is not streamed, and stores its values in a.
func (a *upstreamAnswer) scan(data []byte) error {
	s := jsontext.NewScanner(data)
	return wire.ScanAnswer(&s, func(key []byte) error {
		if a.event.isResponse && string(key) != "type" {
			return a.response(&s, data, key)
		}
		return a.member(&s, data, key)
	})
}

// member scans the value of the field key of an event and stores the value in a.event. data is the JSON text that s
// scans.
func (a *upstreamAnswer) member(s *jsontext.Scanner, data, key []byte) (err error) {
	e := &a.event
	switch string(key) {
	case "type":
		start := s.Start()
		e.kind, err = s.Inside()
		e.kindAt = upstreamSpan{start, s.Offset()}
	case "delta":
		e.text, err = s.Inside()
	case "arguments", "input":
		e.final, err = s.Inside()
	case "sequence_number":
		err = s.Count(&e.sequence)
	case "output_index":
		err = s.Count(&e.output)
	case "summary_index", "content_index":
		err = s.Count(&e.summary)
	case "logprobs":
		e.logprobs, err = upstreamArray(s, data)
		if len(e.logprobs) > 0 && upstreamIsEmpty(e.logprobs) {
			e.logprobs = nil
		}
	case "item":
		return e.item.scan(s, data)
	case "response":
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		start := s.Offset()
		err = s.Object(func(key []byte) error { return a.response(s, data, key) })
		e.response.raw = data[start:s.Offset()]
	case "error":
		e.failed = s.Kind() == jsontext.Object
		return s.Skip()
	default:
		return s.Skip()
	}
	return err
}

// response scans the value of the field key of a response object and stores the value in a. data is the JSON text that
// s scans.
func (a *upstreamAnswer) response(s *jsontext.Scanner, data, key []byte) (err error) {
	r := &a.event.response
	switch string(key) {
	case "id":
		r.id, err = s.Inside()
	case "status":
		raw, err := s.Inside()
		a.status = jsontext.Known(raw, upstreamStates...)
		return err
	case "model":
		if s.Kind() == jsontext.Invalid {
			return s.Skip()
		}
		start := s.Offset()
		err = s.Skip()
		r.model = upstreamSpan{start, s.Offset()}
	case "output":
		r.output, err = upstreamArray(s, data)
	case "error":
		r.failed = s.Kind() != jsontext.Null
		return s.Skip()
	case "incomplete_details":
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		return s.Object(func(key []byte) error {
			if string(key) != "reason" {
				return s.Skip()
			}
			raw, err := s.Inside()
			a.reason = string(raw)
			return err
		})
	case "usage":
		return upstreamUsage(s, &a.usage)
	case "service_tier":
		return wire.ScanTerm(s, &a.usage.Served, wire.TermTier)
	default:
		return s.Skip()
	}
	return err
}

// upstreamStates are the usual values of a response's status.
var upstreamStates = []string{"in_progress", "completed", "incomplete", "failed", "queued"}

// scan scans an output item into i. A value that is not an object leaves i unchanged. data is the JSON text that s
// scans.
func (i *upstreamItem) scan(s *jsontext.Scanner, data []byte) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	*i = upstreamItem{}
	start := s.Offset()
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			i.kind, err = s.Inside()
		case "call_id":
			i.callID, err = s.Inside()
		case "name":
			i.name, err = s.Inside()
		case "arguments":
			i.arguments, err = s.Inside()
		case "input":
			i.input, err = s.Inside()
		case "encrypted_content":
			i.encrypted, err = s.Inside()
		case "action":
			if s.Kind() != jsontext.Object {
				return s.Skip()
			}
			return s.Object(func(key []byte) (err error) {
				if string(key) != "type" {
					return s.Skip()
				}
				i.action, err = s.Inside()
				return err
			})
		case "content":
			i.content, err = upstreamArray(s, data)
		case "summary":
			i.summary, err = upstreamArray(s, data)
		default:
			return s.Skip()
		}
		return err
	})
	i.raw = data[start:s.Offset()]
	return err
}

// call reports whether the item is a call of a tool that the client runs.
func (i *upstreamItem) call() bool {
	return string(i.kind) == "function_call" || string(i.kind) == "custom_tool_call"
}

// upstreamParts calls fn for every part of an item's content or summary. array is the JSON text of the content or
// summary, which must be valid, or nil. The arguments of fn are the part's type, its text or refusal, which is still
// escaped, and its logprobs, which are nil if absent.
func upstreamParts(array []byte, fn func(kind, text, logprobs []byte)) {
	if len(array) == 0 {
		return
	}
	s := jsontext.NewScanner(array)
	_ = s.Array(func(int) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		var kind, text, logprobs []byte
		err := s.Object(func(key []byte) (err error) {
			switch string(key) {
			case "type":
				kind, err = s.Inside()
			case "text", "refusal":
				text, err = s.Inside()
			case "logprobs":
				logprobs, err = upstreamArray(&s, array)
				if len(logprobs) > 0 && upstreamIsEmpty(logprobs) {
					logprobs = nil
				}
			default:
				return s.Skip()
			}
			return err
		})
		fn(kind, text, logprobs)
		return err
	})
}

// upstreamArray scans a value. It returns the JSON text of the value if the value is an array, and nil otherwise. data
// is the JSON text that s scans.
func upstreamArray(s *jsontext.Scanner, data []byte) ([]byte, error) {
	kind, start := s.Kind(), s.Offset()
	err := s.Skip()
	if kind != jsontext.Array || err != nil {
		return nil, err
	}
	return data[start:s.Offset()], nil
}

// upstreamUsage scans a usage object and stores it in usage, unless the object counts no tokens.
func upstreamUsage(s *jsontext.Scanner, usage *wire.Usage) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	u := wire.Usage{Known: true, Served: usage.Served}
	var total int64
	err := s.Object(func(key []byte) error {
		switch string(key) {
		case "input_tokens":
			return s.Count(&u.Prompt)
		case "output_tokens":
			return s.Count(&u.Completion)
		case "total_tokens":
			return s.Count(&total)
		case "input_tokens_details", "output_tokens_details":
			return u.ScanDetails(s)
		}
		return s.Skip()
	})
	u.Keep(total, usage)
	return err
}
