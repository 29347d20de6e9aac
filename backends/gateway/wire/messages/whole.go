package messages

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Whole implements hub.Writer.
func (w *writer) Whole(deltas []hub.Delta) ([]byte, error) {
	answerBlocks, end := w.answer.Whole(deltas)
	dst := w.head(append(make([]byte, 0, 1024+w.answer.TextBytes()), `{"id":`...))
	dst, err := w.content(append(dst, `,"content":[`...), answerBlocks, blocks.CutOff(end.Finish))
	if err != nil {
		return nil, err
	}
	dst, reason := w.stop(append(dst, "],"...), &end)
	dst = append(dst, ',')
	if reason == blocks.Refused {
		dst = w.details(dst)
	} else {
		dst = append(dst, `"stop_details":null`...)
	}
	c := w.answer.Counts(&end.Usage)
	dst = append(dst, `,"container":null,"usage":{`...)
	return append(appendCounts(dst, &c), "}}"...), nil
}

// content appends answerBlocks, the content blocks of the answer, as the elements of a JSON array. cut is set if the
// answer was cut off. content returns hub.ErrArguments for a tool call whose arguments are no JSON object and cannot
// be repaired.
func (w *writer) content(dst []byte, answerBlocks []blocks.Block, cut bool) ([]byte, error) {
	for i := range answerBlocks {
		b := &answerBlocks[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":`...)
		switch b.Kind {
		case blocks.Text:
			dst = append(append(append(dst, `"text","text":"`...), b.Text...), `","citations":null`...)
		case blocks.Thinking:
			dst = append(append(append(dst, `"thinking","thinking":"`...), b.Text...), `","signature":`...)
			dst = jsontext.AppendQuoted(dst, w.answer.Signature(b))
		case blocks.Redacted:
			dst = jsontext.AppendMember(dst, `"redacted_thinking","data":`, b.Token)
		case blocks.Tool:
			input, ok := b.Input(cut)
			if !ok {
				return nil, hub.ErrArguments
			}
			dst = append(tool(dst, b), input...)
		}
		dst = append(dst, '}')
	}
	return dst, nil
}

// stop appends the JSON fields stop_reason and stop_sequence for the end e. It returns the extended dst and the stop
// reason.
func (w *writer) stop(dst []byte, e *hub.End) ([]byte, blocks.Stop) {
	reason, sequence := w.answer.Stopped(e)
	dst = append(append(append(dst, `"stop_reason":"`...), reason...), `","stop_sequence":`...)
	if sequence == "" {
		return append(dst, "null"...), reason
	}
	return jsontext.AppendQuoted(dst, sequence), reason
}

// details appends the JSON field stop_details of a refusal.
func (w *writer) details(dst []byte) []byte {
	dst = append(dst, `"stop_details":{"type":"refusal","category":null,"explanation":`...)
	if len(w.answer.Refusal()) == 0 {
		return append(dst, "null}"...)
	}
	return append(append(append(dst, '"'), w.answer.Refusal()...), `"}`...)
}

// appendCounts appends the fields of the usage object of an answer that is not streamed.
func appendCounts(dst []byte, c *blocks.Counts) []byte {
	for _, m := range [...]struct {
		key   string
		count int64
	}{
		{`"input_tokens":`, c.Input},
		{`,"cache_creation_input_tokens":`, c.Written},
		{`,"cache_read_input_tokens":`, c.Read},
		{`,"cache_creation":{"ephemeral_5m_input_tokens":`, c.Written},
		{`,"ephemeral_1h_input_tokens":0},"output_tokens":`, c.Output},
		{`,"output_tokens_details":{"thinking_tokens":`, c.Thinking},
	} {
		dst = strconv.AppendInt(append(dst, m.key...), m.count, 10)
	}
	return append(dst, `},"server_tool_use":null,"service_tier":"standard","inference_geo":null,"speed":null`...)
}
