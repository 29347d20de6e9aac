package wire

import "bytes"

// template is what a chunk of a stream has in common with the chunk before it.
// In a run of text chunks an upstream repeats every byte but the text, so a
// chunk that begins and ends like the last one needs a look at its text only:
// an order of magnitude less work than to read it all.
type template struct {
	head, tail       []byte // the upstream's bytes around the text
	outHead, outTail []byte // the client's
}

// maxFrame bounds what a stream keeps of a chunk, in bytes; usual frames have a
// few hundred.
const maxFrame = 4 << 10

// learn keeps the frame of a chunk that was read in full and whose only content
// is the text at the given place, quotes excluded. changes are those for the client.
func (t *template) learn(data []byte, text span, changes edits) {
	t.head = append(t.head[:0], data[:text.from]...)
	t.tail = append(t.tail[:0], data[text.to:]...)
	t.outHead = append(t.outHead[:0], "data: "...)
	at, i := 0, 0
	for ; i < len(changes) && changes[i].to <= text.from; i++ {
		t.outHead = append(t.outHead, data[at:changes[i].from]...)
		t.outHead = append(t.outHead, changes[i].text...)
		at = changes[i].to
	}
	t.outHead = append(t.outHead, data[at:text.from]...)
	t.outTail = t.outTail[:0]
	at = text.to
	for ; i < len(changes); i++ {
		t.outTail = append(t.outTail, data[at:changes[i].from]...)
		t.outTail = append(t.outTail, changes[i].text...)
		at = changes[i].to
	}
	t.outTail = append(append(t.outTail, data[at:]...), "\n\n"...)
}

// forget makes nothing match.
func (t *template) forget() { t.head = t.head[:0] }

// match returns the text of a chunk that has the frame of the last one.
func (t *template) match(data []byte) (text []byte, ok bool) {
	if len(t.head) == 0 || !bytes.HasPrefix(data, t.head) || !bytes.HasSuffix(data, t.tail) {
		return nil, false
	}
	s := Scanner{b: data, i: len(t.head) - 1} // head ends in the opening quote
	text, _, err := s.string()
	if err != nil || len(text) == 0 || len(data)-(s.i-1) != len(t.tail) {
		return nil, false // tail begins with the closing quote
	}
	return text, true
}
