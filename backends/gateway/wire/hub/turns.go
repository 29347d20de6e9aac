package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Turns gathers the messages of a conversation in formats where users send the results of tools in their own messages,
// and puts each result behind the message with its call (specification 3, rule 3).
type Turns struct {
	list []turn
	// calls maps a client's id to the last call with it.
	calls map[string]place
}

// turn is a message with the results of its calls.
type turn struct {
	message Message
	// results of the message's calls, in the order of the calls. A zero Role means that there is none yet.
	results []Message
	// attached are the images and files of the results, which most upstreams accept from a user only.
	attached []Part
}

// place identifies a call by the index of its turn and its index in the message.
type place struct{ turn, call int }

// Len returns the number of messages that were added.
func (t *Turns) Len() int { return len(t.list) }

// Add adds a message.
func (t *Turns) Add(m Message) {
	t.list = append(t.list, turn{message: m, results: make([]Message, len(m.Calls))})
}

// Remove removes message i. The numbers of the others do not change.
func (t *Turns) Remove(i int) { t.list[i] = turn{} }

// Call adds a call to a message that is to be added next. The id is the client's. It returns false if the message has a
// call with this id already.
func (t *Turns) Call(m *Message, id string, c Call) bool {
	here := place{len(t.list), len(m.Calls)}
	if previous, known := t.calls[id]; known && previous.turn == here.turn {
		return false
	}
	if t.calls == nil {
		t.calls = make(map[string]place)
	}
	t.calls[id] = here
	c.ID = CallID(id)
	m.Calls = append(m.Calls, c)
	return true
}

// Waits reports whether a call has the client's id, and whether its result is still to come.
func (t *Turns) Waits(id string) (known, waits bool) {
	p, known := t.calls[id]
	return known, known && t.list[p.turn].results[p.call].Role == 0
}

// Result adds the result of the call with the client's id, which waits for it. A failed result says so in its text.
// Result returns the parts of the result.
func (t *Turns) Result(id string, parts []Part, failed bool, attached []Part) []Part {
	const failure = "Error: "
	if failed && (len(parts) == 0 || !strings.HasPrefix(parts[0].Text, failure)) {
		if len(parts) == 0 {
			parts = []Part{{Kind: PartText}}
		}
		parts[0].Text = failure + parts[0].Text
	}
	p := t.calls[id]
	at := &t.list[p.turn]
	at.results[p.call] = Message{Role: ToolResult, CallID: CallID(id), Parts: parts, Failed: failed}
	at.attached = append(at.attached, attached...)
	return parts
}

// Messages returns all messages. asked reports whether a user has said something or answered a call.
func (t *Turns) Messages() (all []Message, asked bool) {
	all = make([]Message, 0, len(t.list)+len(t.calls)+1)
	for i := range t.list {
		t := &t.list[i]
		if t.message.Role == 0 {
			continue
		}
		all = append(all, t.message)
		asked = asked || t.message.Role == User
		for _, result := range t.results {
			if result.Role != 0 {
				all = append(all, result)
				asked = true
			}
		}
		if len(t.attached) > 0 {
			all = append(all, Message{Role: User, Parts: t.attached})
		}
	}
	return all, asked
}

// CallID returns an id of a call that all upstreams accept. It depends only on the client's id, so that a call and its
// result agree.
func CallID(id string) string {
	if LegalID(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Joiner joins texts with a separator into as few parts as cache marks allow: a mark is a position, so a part ends with
// it. Writers choose what to put between parts.
type Joiner struct {
	Separator string
	parts     []Part
	run       strings.Builder
	began     bool
}

// Add adds a text. A cache mark ends the part that contains the text.
func (j *Joiner) Add(text, cache string) {
	if text == "" {
		return
	}
	if j.began {
		j.run.WriteString(j.Separator)
	}
	j.began = true
	j.run.WriteString(text)
	if cache != "" {
		j.End(cache)
	}
}

// End ends the part that is being joined, with a cache mark unless that is empty, and returns all parts.
func (j *Joiner) End(cache string) []Part {
	j.parts = AppendText(j.parts, j.run.String(), cache)
	j.run, j.began = strings.Builder{}, false
	return j.parts
}

// AppendText adds a text. Empty texts are dropped (specification 3, rule 4).
func AppendText(parts []Part, text, cache string) []Part {
	if text == "" {
		return parts
	}
	return append(parts, Part{Kind: PartText, Text: text, Cache: cache})
}
