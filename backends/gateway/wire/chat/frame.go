package chat

import (
	"bytes"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// frame holds the bytes around the text of the previous chunk. While an upstream sends text, successive chunks differ
// only in the text (and in OpenAI's padding). In a chunk with the same bytes around the text, only the text must be
// scanned.
type frame struct {
	kind   hub.DeltaKind // kind of the text; 0 if no frame is known
	padded bool          // the chunk has padding
	head   []byte        // up to and including the opening quote of the text
	middle []byte        // between text and padding, including the quotes
	tail   []byte        // from the last closing quote on
}

// maxFrame limits the size in bytes of a frame, which is the chunk without text and padding. Usual frames have a few
// hundred bytes.
const maxFrame = 4 << 10

// learn stores the frame of a chunk that contains one text and nothing else. After any other chunk no frame is
// stored, so that match fails. data is the chunk's JSON, and c is its scanned content. phase is the state of the
// search for think tags. During the search no frame is stored, since each text must be inspected.
func (f *frame) learn(data []byte, c *chunk, phase thinkPhase) {
	f.kind = 0 // no frame
	kind, text := c.singleText()
	padded := len(c.padding) > 0
	if kind == 0 || phase != noTags || len(data)-len(text)-len(c.padding) > maxFrame {
		return
	}
	// text and c.padding are subslices of data, so their offsets in data follow from the capacities.
	textStart := cap(data) - cap(text)
	tailStart := textStart + len(text)
	f.head = append(f.head[:0], data[:textStart]...)
	f.middle = f.middle[:0]
	if padded {
		paddingStart := cap(data) - cap(c.padding)
		if paddingStart < tailStart { // padding before the text
			return
		}
		f.middle = append(f.middle, data[tailStart:paddingStart]...)
		tailStart = paddingStart + len(c.padding)
	}
	f.tail = append(f.tail[:0], data[tailStart:]...)
	f.kind, f.padded = kind, padded
}

// match compares a chunk with the stored frame. For a chunk that differs only in its text and padding, ok is set, text
// is the chunk's text, still escaped, and kind says whether it is text or reasoning. For any other chunk ok is false.
func (f *frame) match(data []byte) (kind hub.DeltaKind, text []byte, ok bool) {
	if f.kind == 0 || !bytes.HasPrefix(data, f.head) {
		return 0, nil, false
	}
	text, rest, ok := quoted(data[len(f.head)-1:]) // head ends with the opening quote
	if ok && f.padded {
		if !bytes.HasPrefix(rest, f.middle) {
			return 0, nil, false
		}
		_, rest, ok = quoted(rest[len(f.middle)-1:]) // and so does middle
	}
	return f.kind, text, ok && bytes.Equal(rest, f.tail)
}

// quoted scans the JSON string at the beginning of data. text is the text between the quotes, still escaped. rest is
// the part of data that begins with the closing quote. ok is false if data does not begin with a valid string.
func quoted(data []byte) (text, rest []byte, ok bool) {
	s := jsontext.NewScanner(data)
	text, _, err := s.Text()
	if err != nil {
		return nil, nil, false
	}
	return text, data[s.Offset()-1:], true
}

// singleText returns the text of a chunk that contains one text or piece of reasoning and nothing else, and its kind.
// For any other chunk the kind is 0.
func (c *chunk) singleText() (kind hub.DeltaKind, text []byte) {
	// Any other content means that the chunk is no example for the next ones.
	if c.usage || len(c.calls)+len(c.refusal)+len(c.details)+len(c.logprobs)+len(c.signature)+len(c.finish.reason) > 0 {
		return 0, nil
	}
	hasReasoningContent, hasReasoning := len(c.reasoningContent) > 0, len(c.reasoning) > 0
	switch {
	case len(c.pieces) == 1 && !hasReasoningContent && !hasReasoning && !c.pieces[0].thinking:
		return hub.DeltaText, c.pieces[0].text
	case len(c.pieces) == 0 && hasReasoningContent && !hasReasoning:
		return hub.DeltaReasoning, c.reasoningContent
	case len(c.pieces) == 0 && hasReasoning && !hasReasoningContent:
		return hub.DeltaReasoning, c.reasoning
	}
	return 0, nil
}
