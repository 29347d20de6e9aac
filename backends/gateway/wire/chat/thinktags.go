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
	held  []byte // may begin a tag, at most 7 bytes
}

type thinkPhase uint8

const (
	noTags thinkPhase = iota // not looked for, or over
	beforeThinking
	thinking
)

var openTag, closeTag = []byte("<think>"), []byte("</think>")

// tagged takes a text while tags are looked for.
func (r *reader) tagged(text []byte) {
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

// untag gives out what was held back: no tag comes any more.
func (r *reader) untag() {
	t := &r.tags
	kind := hub.DeltaText
	if t.phase == thinking {
		kind = hub.DeltaReasoning
	}
	r.emit(kind, t.held)
	t.held = nil
}

// begins is the length of the longest end of text that begins tag.
func begins(text, tag []byte) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if bytes.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// plainTags undoes the escapes that some encoders use for the bytes of tags.
func plainTags(text []byte) []byte {
	if bytes.Contains(text, []byte(`\u003`)) || bytes.Contains(text, []byte(`\/`)) {
		return jsontext.AppendEscaped(nil, jsontext.AppendUnquoted(nil, text))
	}
	return text
}
