package chat

import (
	"bytes"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// thinkTags finds <think>…</think> at the very start of the content.
type thinkTags struct {
	phase thinkPhase
	held  []byte // a possible beginning of a tag, at most 7 bytes
}

type thinkPhase uint8

const (
	noTags thinkPhase = iota // not searched for, or no longer
	beforeThinking
	thinking
)

var openTag, closeTag = []byte("<think>"), []byte("</think>")

// splitTags processes a piece of text in which a tag may occur. It emits text and reasoning without the tags, and holds
// back an end that may be the beginning of a tag.
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
	if before, after, found := bytes.Cut(text, closeTag); found {
		t.phase = noTags
		r.emit(hub.DeltaReasoning, before)
		r.emit(hub.DeltaText, after)
		return
	}
	whole := len(text) - begins(text, closeTag)
	r.emit(hub.DeltaReasoning, text[:whole])
	t.held = text[whole:]
}

// endTags emits the text that was held back, and ends the search for tags.
func (r *reader) endTags() {
	t := &r.tags
	kind := hub.DeltaText
	if t.phase == thinking {
		kind = hub.DeltaReasoning
	}
	r.emit(kind, t.held)
	t.held = nil
}

// begins returns the length of the longest suffix of text that is a proper prefix of tag.
func begins(text, tag []byte) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if bytes.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// plainTags removes the escapes that some encoders use for the characters of tags.
func plainTags(text []byte) []byte {
	if bytes.Contains(text, []byte(`\u003`)) || bytes.Contains(text, []byte(`\/`)) {
		return jsontext.AppendEscaped(nil, jsontext.AppendUnquoted(nil, text))
	}
	return text
}
