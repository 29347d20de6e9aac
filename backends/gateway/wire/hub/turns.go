package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Turns collects the messages of a conversation in formats where the results of tools are in user messages. It moves
// each result behind the message with its call.
type Turns struct {
	list []turn
	// calls maps a client's call id to the last call with this id.
	calls map[string]callIndex
}

// turn is a message and the results of its tool calls. A removed message has the Role 0.
type turn struct {
	message Message
	// results are the results of the message's calls, in the order of the calls. A zero Role means that the result is
	// missing.
	results []Message
	// attached are the images and files of the results, which most upstreams accept only in a user message.
	attached []Part
}

// callIndex locates a call: the index of its turn, and its index in the turn's message.
type callIndex struct{ turn, call int }

// Len returns the number of messages that were added.
func (t *Turns) Len() int { return len(t.list) }

// Add adds a message.
func (t *Turns) Add(m Message) {
	t.list = append(t.list, turn{message: m, results: make([]Message, len(m.Calls))})
}

// Remove removes the message with the index i. The indexes of the other messages do not change.
func (t *Turns) Remove(i int) { t.list[i] = turn{} }

// Call adds the tool call c to m, a message that will be added next. id is the client's call id. Call returns false if
// m already has a call with this id.
func (t *Turns) Call(m *Message, id string, c Call) bool {
	index := callIndex{len(t.list), len(m.Calls)}
	if previous, known := t.calls[id]; known && previous.turn == index.turn {
		return false
	}
	if t.calls == nil {
		t.calls = make(map[string]callIndex)
	}
	t.calls[id] = index
	c.ID = CallID(id)
	m.Calls = append(m.Calls, c)
	return true
}

// Waits reports whether there is a call with the client's call id (known), and whether the result of that call is
// missing (waits).
func (t *Turns) Waits(id string) (known, waits bool) {
	index, known := t.calls[id]
	return known, known && t.list[index.turn].results[index.call].Role == 0
}

// Result adds the result of a call that has no result yet. id is the client's call id. If failed is set, the text
// gets the prefix "Error: ". attachments are the result's images and files. Result returns the result's parts.
func (t *Turns) Result(id string, parts []Part, failed bool, attachments []Part) []Part {
	const failure = "Error: "
	if failed && (len(parts) == 0 || !strings.HasPrefix(parts[0].Text, failure)) {
		if len(parts) == 0 {
			parts = []Part{{Kind: PartText}}
		}
		parts[0].Text = failure + parts[0].Text
	}
	index := t.calls[id]
	turn := &t.list[index.turn]
	turn.results[index.call] = Message{Role: ToolResult, CallID: CallID(id), Parts: parts, Failed: failed}
	turn.attached = append(turn.attached, attachments...)
	return parts
}

// Messages returns all messages. hasUser reports whether there is a user message or a tool result.
func (t *Turns) Messages() (messages []Message, hasUser bool) {
	messages = make([]Message, 0, len(t.list)+len(t.calls)+1)
	for i := range t.list {
		turn := &t.list[i]
		if turn.message.Role == 0 { // removed
			continue
		}
		messages = append(messages, turn.message)
		hasUser = hasUser || turn.message.Role == User
		for _, result := range turn.results {
			if result.Role != 0 {
				messages = append(messages, result)
				hasUser = true
			}
		}
		if len(turn.attached) > 0 {
			messages = append(messages, Message{Role: User, Parts: turn.attached})
		}
	}
	return messages, hasUser
}

// CallID returns the tool call id that upstreams get for the client's id. All upstreams accept it. The result depends
// only on id, so it is the same in a call and in the call's result.
func CallID(id string) string {
	if wire.LegalID(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Joiner joins texts with a separator into as few parts as possible. A cache mark marks a position, so a part must end
// at each mark. Joiner puts no separator between parts; writers choose the text there.
type Joiner struct {
	Separator string
	parts     []Part
	current   strings.Builder
	hasText   bool
}

// Add adds a text. cache is the JSON text of the cache_control mark behind the text, or empty. A mark ends the part
// that contains the text.
func (j *Joiner) Add(text, cache string) {
	if text == "" {
		return
	}
	if j.hasText {
		j.current.WriteString(j.Separator)
	}
	j.hasText = true
	j.current.WriteString(text)
	if cache != "" {
		j.End(cache)
	}
}

// End ends the current part and returns all parts. If cache is not empty the part gets this cache mark.
func (j *Joiner) End(cache string) []Part {
	j.parts = AppendText(j.parts, j.current.String(), cache)
	j.current, j.hasText = strings.Builder{}, false
	return j.parts
}

// AppendText appends a text part with the given cache_control mark to parts. It returns parts unchanged if the text is
// empty.
func AppendText(parts []Part, text, cache string) []Part {
	if text == "" {
		return parts
	}
	return append(parts, Part{Kind: PartText, Text: text, Cache: cache})
}
