package chat

import (
	"bytes"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// thinkTags holds the state of the search for <think>…</think>, which some upstreams put at the very start of the
// content. The text between the tags is reasoning.
type thinkTags struct {
	phase thinkPhase
	held  []byte // a possible beginning of a tag, at most 7 bytes
}

// thinkPhase is the state of the search for think tags.
type thinkPhase uint8

const (
	noTags         thinkPhase = iota // tags are not searched for, or no longer
	beforeThinking                   // <think> may come
	thinking                         // after <think>, before </think>
)

var openTag, closeTag = []byte("<think>"), []byte("</think>")

// splitTags processes a piece of text while tags are searched for. It emits the piece as text or reasoning, without the
// tags. If the end of the piece may be the beginning of a tag, that end is held back until the next piece.
func (r *reader) splitTags(text []byte) {
	t := &r.tags
	text = slices.Concat(t.held, plainTags(text))
	t.held = nil
	if t.phase == beforeThinking {
		switch {
		case bytes.HasPrefix(text, openTag):
			t.phase = thinking
			text = text[len(openTag):]
		case bytes.HasPrefix(openTag, text):
			t.held = text
			return
		default:
			t.phase = noTags
			r.emit(hub.DeltaText, text)
			return
		}
	}
	if reasoning, answer, found := bytes.Cut(text, closeTag); found {
		t.phase = noTags
		r.emit(hub.DeltaReasoning, reasoning)
		r.emit(hub.DeltaText, answer)
		return
	}
	size := len(text) - partialTag(text, closeTag)
	r.emit(hub.DeltaReasoning, text[:size])
	t.held = text[size:]
}

// endTags emits the text that was held back, because no more text follows that could complete a tag.
func (r *reader) endTags() {
	t := &r.tags
	kind := hub.DeltaText
	if t.phase == thinking {
		kind = hub.DeltaReasoning
	}
	r.emit(kind, t.held)
	t.held = nil
}

// partialTag returns the length of the longest beginning of tag with which text ends, not counting the whole tag. It is
// 0 if text does not end with a beginning of tag.
func partialTag(text, tag []byte) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if bytes.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// plainTags returns text, the escaped text of a JSON string, without the unnecessary escapes that some encoders use for
// "<", ">" and "/". All other characters that need an escape stay escaped.
func plainTags(text []byte) []byte {
	if bytes.Contains(text, []byte(`\u003`)) || bytes.Contains(text, []byte(`\/`)) {
		return jsontext.AppendEscaped(nil, jsontext.AppendUnquoted(nil, text))
	}
	return text
}
