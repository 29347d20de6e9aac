package native

import (
	"bytes"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// template holds the bytes around the text of the previous chunk. While an upstream sends text, successive chunks
// differ only in the text (and in OpenAI's padding). In a chunk with the same bytes around the text, only the text must
// be scanned, which is an order of magnitude less work than parsing the whole chunk.
type template struct {
	known   bool   // a template is stored
	padded  bool   // the chunk has padding after the text
	head    []byte // the upstream's bytes before the text
	middle  []byte // between text and padding; unused if not padded
	tail    []byte // after text and padding
	outHead []byte // the same three parts in the client's form
	outMid  []byte
	outTail []byte
}

// maxFrame is the largest size in bytes of a chunk without its text for which a template is stored. Usual chunks have a
// few hundred bytes around the text.
const maxFrame = 4 << 10

// learn stores the bytes around the text of data, a parsed chunk with one text and no other content. textPos is the
// position of the text without its quotes. paddingPos is the position of OpenAI's padding after the text, or empty.
// changes are the edits that convert the chunk for the client.
func (t *template) learn(data []byte, textPos, paddingPos span, changes jsontext.Edits) {
	t.known, t.padded = true, paddingPos.to > 0
	t.head = append(t.head[:0], data[:textPos.from]...)
	t.outHead = changes.Part(append(t.outHead[:0], "data: "...), data, 0, textPos.from)
	restStart := textPos.to
	if t.padded {
		t.middle = append(t.middle[:0], data[restStart:paddingPos.from]...)
		t.outMid = changes.Part(t.outMid[:0], data, restStart, paddingPos.from)
		restStart = paddingPos.to
	}
	t.tail = append(t.tail[:0], data[restStart:]...)
	t.outTail = append(changes.Part(t.outTail[:0], data, restStart, len(data)), "\n\n"...)
}

// forget discards the template, so that apply fails for the next chunk.
func (t *template) forget() { t.known = false }

// apply converts data, a chunk that matches the template, and appends the event for the client to dst. size is the
// length of the chunk's text in bytes. If data does not match, ok is false and nothing is appended.
func (t *template) apply(dst, data []byte) (out []byte, size int, ok bool) {
	if !t.known || !bytes.HasPrefix(data, t.head) || !bytes.HasSuffix(data, t.tail) {
		return dst, 0, false
	}
	s := jsontext.NewScanner(data)
	s.From(len(t.head) - 1) // head ends in the opening quote
	text, _, err := s.Text()
	if err != nil || len(text) == 0 {
		return dst, 0, false
	}
	var padding []byte
	if t.padded {
		if !bytes.HasPrefix(data[s.Offset()-1:], t.middle) { // it begins with the closing quote of the text
			return dst, 0, false
		}
		s.From(s.Offset() + len(t.middle) - 2) // middle ends in the opening quote of the padding
		if padding, _, err = s.Text(); err != nil {
			return dst, 0, false
		}
	}
	if len(data)-(s.Offset()-1) != len(t.tail) { // tail begins with the closing quote
		return dst, 0, false
	}
	out = append(append(dst, t.outHead...), text...)
	if t.padded {
		out = append(append(out, t.outMid...), padding...)
	}
	return append(out, t.outTail...), len(text), true
}
