package messages

import (
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

func (w *writer) Whole(deltas []hub.Delta) ([]byte, error) {
	var end hub.End
	for i := range deltas {
		w.take(&deltas[i])
		if deltas[i].Kind == hub.DeltaEnd {
			end = deltas[i].End
		}
	}
	dst := w.head(append(make([]byte, 0, 1024+w.textBytes), `{"id":`...))
	dst, err := w.content(append(dst, `,"content":[`...), end.Finish)
	if err != nil {
		return nil, err
	}
	s := w.stopped(&end)
	dst = s.append(append(dst, "],"...))
	dst = append(dst, ',')
	if s.reason == refusal {
		dst = w.details(dst)
	} else {
		dst = append(dst, `"stop_details":null`...)
	}
	dst = append(dst, `,"container":null,"usage":{`...)
	return append(w.counts(&end.Usage).append(dst), "}}"...), nil
}

// content appends the blocks.
func (w *writer) content(dst []byte, finish hub.Finish) ([]byte, error) {
	if len(w.blocks) == 0 {
		w.add(textBlock)
	}
	for i := range w.blocks {
		b := &w.blocks[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":`...)
		switch b.kind {
		case textBlock:
			dst = append(append(append(dst, `"text","text":"`...), b.text...), `","citations":null`...)
		case thinkingBlock:
			dst = append(append(append(dst, `"thinking","thinking":"`...), b.text...), `","signature":`...)
			dst = jsontext.AppendQuoted(dst, w.signature(b))
		case redactedBlock:
			dst = jsontext.AppendQuoted(append(dst, `"redacted_thinking","data":`...), b.token)
		case toolBlock:
			input, ok := b.input(cutOff(finish))
			if !ok {
				return nil, hub.ErrArguments
			}
			dst = append(b.tool(dst), input...)
		}
		dst = append(dst, '}')
	}
	return dst, nil
}

// cutOff reports whether the answer was cut off, so that the rest of the last call's arguments will not come.
func cutOff(f hub.Finish) bool { return f == hub.FinishLength || f == hub.FinishContext }

const refusal = "refusal"

// stop is the reason why an answer ended, in the form for clients.
type stop struct {
	reason   string
	sequence string // empty means null
}

// stopped chooses the stop_reason (specification 5). FinishCalls without a call counts as a plain end, since with
// tool_use the client would look for a block to run.
func (a *answer) stopped(e *hub.End) stop {
	switch {
	case a.refused || e.Finish == hub.FinishRefusal:
		return stop{reason: refusal}
	case e.Finish == hub.FinishLength:
		return stop{reason: "max_tokens"}
	case e.Finish == hub.FinishContext:
		return stop{reason: "model_context_window_exceeded"}
	case a.called:
		return stop{reason: "tool_use"}
	case e.StopSequence != "" && slices.Contains(a.request.Stop, e.StopSequence):
		return stop{"stop_sequence", e.StopSequence}
	default:
		return stop{reason: "end_turn"}
	}
}

// append appends the members stop_reason and stop_sequence.
func (s stop) append(dst []byte) []byte {
	dst = append(append(dst, `"stop_reason":"`...), s.reason...)
	dst = append(dst, `","stop_sequence":`...)
	if s.sequence == "" {
		return append(dst, "null"...)
	}
	return jsontext.AppendQuoted(dst, s.sequence)
}

// details appends the stop_details of a refusal.
func (a *answer) details(dst []byte) []byte {
	dst = append(dst, `"stop_details":{"type":"refusal","category":null,"explanation":`...)
	if len(a.refusal) == 0 {
		return append(dst, "null}"...)
	}
	return append(append(append(dst, '"'), a.refusal...), `"}`...)
}

// counts is a usage in the way of messages: cached tokens are not included in the input.
type counts struct{ input, read, written, output, thinking int64 }

// counts converts a usage (specification 5.1).
func (a *answer) counts(u *wire.Usage) counts {
	if !u.Known {
		estimate := a.reply.Estimate(a.request, u, a.textBytes)
		u = &estimate
	}
	return counts{
		input:    max(0, u.Prompt-u.CacheRead-u.CacheWrite),
		read:     u.CacheRead,
		written:  u.CacheWrite,
		output:   u.Completion,
		thinking: u.Reasoning,
	}
}

// append appends the members of a whole answer's usage.
func (c counts) append(dst []byte) []byte {
	for _, m := range [...]struct {
		key   string
		count int64
	}{
		{`"input_tokens":`, c.input},
		{`,"cache_creation_input_tokens":`, c.written},
		{`,"cache_read_input_tokens":`, c.read},
		{`,"cache_creation":{"ephemeral_5m_input_tokens":`, c.written},
		{`,"ephemeral_1h_input_tokens":0},"output_tokens":`, c.output},
		{`,"output_tokens_details":{"thinking_tokens":`, c.thinking},
	} {
		dst = strconv.AppendInt(append(dst, m.key...), m.count, 10)
	}
	return append(dst, `},"server_tool_use":null,"service_tier":"standard","inference_geo":null,"speed":null`...)
}
