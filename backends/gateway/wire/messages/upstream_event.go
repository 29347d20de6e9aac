package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// upstreamAnswer is the state of reading an answer in the messages format, event by event or as a whole. It serves both
// upstreamReader and pass.
type upstreamAnswer struct {
	event upstreamEvent
	usage upstreamUsage
	// counted is set if the usage is the final one. The usage in message_start has the prompt tokens, but its output
	// tokens still grow.
	counted bool
	// stop is the stop_reason, or empty before it was read.
	stop     string
	sequence string // stop_sequence
	// refusal is the explanation of a refusal: the text between the quotes of the JSON string, still escaped.
	refusal []byte
	started bool // message_start was seen
	done    bool // message_stop was seen
}

// upstreamEvent is the content of one event. Its texts are those between the quotes of JSON strings, still escaped.
type upstreamEvent struct {
	kind      []byte // type
	index     int64
	block     upstreamBlock // content_block or delta
	model     span          // position of the value of the field model
	isMessage bool          // the event is a whole message, which is not streamed
	failed    bool          // the field error is not null
}

// upstreamBlock is a content block, or a delta of a content block.
type upstreamBlock struct {
	kind                            []byte // type
	text, thinking, signature, data []byte
	summary                         []byte // the summary of a compaction
	partial                         []byte // partial_json
	id, name                        []byte
	input                           []byte // JSON text
}

// span is the position [from, to) of a value in the JSON text. It is zero if there is no such value.
type span struct{ from, to int }

// size returns the number of bytes in the block that the model wrote.
func (b *upstreamBlock) size() int64 {
	return int64(len(b.text) + len(b.thinking) + len(b.partial) + len(b.summary))
}

// proves reports whether a block has content, which proves that the candidate works.
func (b *upstreamBlock) proves() bool {
	return len(b.text)+len(b.thinking)+len(b.signature)+len(b.data)+len(b.partial)+len(b.name)+len(b.summary) > 0
}

// thinks reports whether the event shows that the model is thinking. Such an event need not have text.
func (e *upstreamEvent) thinks() bool {
	switch string(e.block.kind) {
	case "thinking", "redacted_thinking", "thinking_delta", "signature_delta":
		return true
	}
	return false
}

// read reads one event of a stream into a. name is the event's name, data its JSON text. ok is false for an event to
// ignore: an event without data, or with "[DONE]", the end mark of another format, which some servers send. For an
// error event it returns the error that the upstream stated.
func (a *upstreamAnswer) read(name, data []byte) (ok bool, err error) {
	a.event = upstreamEvent{}
	data, end := wire.EventData(data)
	if len(data) == 0 || end {
		return false, nil
	}
	if err := a.scan(data, nil); err != nil {
		return false, err
	}
	e := &a.event
	if len(e.kind) == 0 {
		e.kind = name
	}
	switch {
	case e.failed, string(e.kind) == "error":
		return false, wire.ParseUpstreamError(200, data)
	case string(e.kind) == "message_start":
		a.started = true
	case string(e.kind) == "message_stop":
		a.done = true
	}
	return true, nil
}

// readWhole reads body, an answer that is not streamed, into a. It calls block for each content block. It returns the
// error that the upstream stated, or wire.ErrNoChoices for an answer without content and stop_reason.
func (a *upstreamAnswer) readWhole(body []byte, block func(*upstreamBlock)) error {
	a.event = upstreamEvent{isMessage: true}
	proof := false
	err := a.scan(body, func(b *upstreamBlock) {
		proof = proof || b.proves()
		block(b)
	})
	switch {
	case err != nil:
		return err
	case a.event.failed, string(a.event.kind) == "error":
		return wire.ParseUpstreamError(200, body)
	case !proof && a.stop == "":
		return wire.ErrNoChoices
	}
	return nil
}

// scan scans data, the JSON text of one event or of an answer that is not streamed, and stores its values in a. For
// such an answer it calls eachBlock for each content block; for an event eachBlock is nil.
func (a *upstreamAnswer) scan(data []byte, eachBlock func(*upstreamBlock)) error {
	s := jsontext.NewScanner(data)
	e := &a.event
	hasUsage := false
	err := wire.ScanAnswer(&s, func(key []byte) (err error) {
		switch string(key) {
		case "type":
			e.kind, err = s.Inside()
			return err
		case "index":
			if s.Kind() == jsontext.Number {
				e.index, _, err = s.Int()
				return err
			}
		case "delta", "content_block":
			if s.Kind() == jsontext.Object {
				return a.block(&s, data)
			}
		case "message":
			if s.Kind() == jsontext.Object {
				return s.Object(func(key []byte) error { return a.member(&s, key) })
			}
		case "error":
			e.failed = s.Kind() != jsontext.Null
		case "content":
			if eachBlock != nil && s.Kind() == jsontext.Array {
				return a.blocks(&s, data, eachBlock)
			}
		case "usage":
			hasUsage = s.Kind() == jsontext.Object
			return a.usage.scan(&s)
		default:
			if e.isMessage {
				return a.member(&s, key)
			}
		}
		return s.Skip()
	})
	// The usage in message_start is not the final one. Later events contain the final usage, either together with the
	// stop_reason or after it.
	a.counted = a.counted || err == nil && hasUsage && (e.isMessage || a.stop != "")
	return err
}

// blocks scans the content array of an answer that is not streamed. It calls fn for every block.
func (a *upstreamAnswer) blocks(s *jsontext.Scanner, data []byte, fn func(*upstreamBlock)) error {
	return s.Array(func(int) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		a.event.block = upstreamBlock{}
		err := a.block(s, data)
		if err == nil {
			fn(&a.event.block)
		}
		return err
	})
}

// member scans the value of one field of a message object, the field named key, and stores it in the answer. The caller
// scans the fields content and type itself. Unknown fields are skipped.
func (a *upstreamAnswer) member(s *jsontext.Scanner, key []byte) error {
	switch string(key) {
	case "model":
		if s.Kind() == jsontext.Invalid {
			break
		}
		start := s.Offset()
		err := s.Skip()
		a.event.model = span{start, s.Offset()}
		return err
	case "usage":
		return a.usage.scan(s)
	case "stop_reason", "stop_sequence", "stop_details":
		return a.endMember(s, key)
	}
	return s.Skip()
}

// endMember scans the value of stop_reason, stop_sequence or stop_details and stores the value in a. key is the field's
// name.
func (a *upstreamAnswer) endMember(s *jsontext.Scanner, key []byte) error {
	if string(key) == "stop_details" && s.Kind() == jsontext.Object {
		return s.Object(func(key []byte) error {
			if string(key) != "explanation" {
				return s.Skip()
			}
			raw, err := s.Inside()
			if len(raw) <= blocks.MaxRefusal {
				a.refusal = append(a.refusal[:0], raw...)
			}
			return err
		})
	}
	if s.Kind() != jsontext.String {
		return s.Skip()
	}
	if string(key) == "stop_reason" {
		raw, _, err := s.Text()
		a.stop = jsontext.Known(raw, upstreamStops...)
		return err
	}
	text, err := s.Unquoted()
	a.sequence = text
	return err
}

// upstreamStops are the usual values of stop_reason.
var upstreamStops = []string{"end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal"}

// block scans a content block or a delta into a.event.block. data is the JSON text that s scans.
func (a *upstreamAnswer) block(s *jsontext.Scanner, data []byte) error {
	b := &a.event.block
	return s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			b.kind, err = s.Inside()
		case "text":
			b.text, err = s.Inside()
		case "content": // the summary of a compaction; results of tools have a list here
			if s.Kind() != jsontext.String {
				return s.Skip()
			}
			b.summary, err = s.Inside()
		case "thinking":
			b.thinking, err = s.Inside()
		case "signature":
			b.signature, err = s.Inside()
		case "data":
			b.data, err = s.Inside()
		case "partial_json":
			b.partial, err = s.Inside()
		case "id":
			b.id, err = s.Inside()
		case "name":
			b.name, err = s.Inside()
		case "input":
			kind, start := s.Kind(), s.Offset()
			if err = s.Skip(); err == nil && kind == jsontext.Object {
				b.input = data[start:s.Offset()]
			}
		case "stop_reason", "stop_sequence", "stop_details":
			return a.endMember(s, key)
		default:
			return s.Skip()
		}
		return err
	})
}

// upstreamCounts are token counts as in the messages format: input does not include tokens read from and written to the
// cache. Counts are cumulative, so a later count replaces an earlier one.
//
// read and written count the tokens read from and written to the cache. hour is the part of written that the cache
// keeps for an hour. thinking is a part of output.
type upstreamCounts struct{ input, read, written, hour, output, thinking int64 }

// upstreamUsage is the usage of an answer. compacted counts the tokens of compactions, which are billed but not
// included in the other counts.
type upstreamUsage struct {
	upstreamCounts
	compacted upstreamCounts
	served    *wire.Served
}

// scan scans a usage object and updates the counts in u.
func (u *upstreamUsage) scan(s *jsontext.Scanner) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "iterations":
			if s.Kind() == jsontext.Array {
				return u.iterations(s)
			}
		case "service_tier":
			return wire.ScanTerm(s, &u.served, wire.TermTier)
		case "speed":
			return wire.ScanTerm(s, &u.served, wire.TermSpeed)
		case "inference_geo":
			return wire.ScanTerm(s, &u.served, wire.TermPlace)
		case "server_tool_use":
			return wire.ScanServedCalls(s, &u.served)
		}
		return u.upstreamCounts.member(s, key)
	})
}

// iterations scans the list with the usage of each sampling step of an answer, and sets u.compacted to the sum of the
// steps that were compactions.
func (u *upstreamUsage) iterations(s *jsontext.Scanner) error {
	u.compacted = upstreamCounts{}
	return s.Array(func(int) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		var c upstreamCounts
		compaction := false
		err := s.Object(func(key []byte) error {
			if string(key) != "type" {
				return c.member(s, key)
			}
			kind, err := s.Inside()
			compaction = string(kind) == "compaction"
			return err
		})
		if compaction {
			u.compacted.add(&c)
		}
		return err
	})
}

// add adds the counts in o to c.
func (c *upstreamCounts) add(o *upstreamCounts) {
	c.input += o.input
	c.read += o.read
	c.written += o.written
	c.hour += o.hour
	c.output += o.output
	c.thinking += o.thinking
}

// member scans the value of the field key of a usage object and stores the count in c. Fields that are not counts are
// skipped.
func (c *upstreamCounts) member(s *jsontext.Scanner, key []byte) error {
	switch string(key) {
	case "input_tokens":
		return s.Count(&c.input)
	case "cache_read_input_tokens":
		return s.Count(&c.read)
	case "cache_creation_input_tokens":
		return s.Count(&c.written)
	case "output_tokens":
		return s.Count(&c.output)
	case "cache_creation":
		return upstreamDetail(s, "ephemeral_1h_input_tokens", &c.hour)
	case "output_tokens_details":
		return upstreamDetail(s, "thinking_tokens", &c.thinking)
	}
	return s.Skip()
}

// upstreamDetail scans an object. It stores in *count the count that the object's field with the given name states.
func upstreamDetail(s *jsontext.Scanner, name string, count *int64) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		if string(key) == name {
			return s.Count(count)
		}
		return s.Skip()
	})
}

// tokens returns the usage of the answer, counted as in chat completions (see wire.Usage).
func (a *upstreamAnswer) tokens() wire.Usage {
	u := a.usage.upstreamCounts
	u.add(&a.usage.compacted)
	prompt := u.input + u.read + u.written
	return wire.Usage{
		Prompt: prompt, Completion: u.output, CacheRead: u.read, CacheWrite: u.written,
		CacheWriteHour: min(u.hour, u.written),
		Reasoning:      u.thinking, Known: a.counted && (prompt > 0 || u.output > 0), Served: a.usage.served,
	}
}
