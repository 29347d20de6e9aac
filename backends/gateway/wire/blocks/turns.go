package blocks

import (
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Turns writes the messages of a request in a format whose messages consist of content blocks. A turn is such a
// message: user and assistant turns alternate, beginning with a user turn. The results of all calls of an assistant
// turn are in the user turn after it.
type Turns struct {
	Request *hub.Request
	Target  *hub.Target
	// Format is the name of the format in error messages.
	Format string
	// Dst is the JSON text of the request written so far.
	Dst   []byte
	role  hub.Role // role of the turn being written; 0 before the first
	turns int      // number of turns begun
}

// Contents writes the content blocks of one format. Each method appends JSON text to Turns.Dst.
type Contents interface {
	// Text writes a text block. mark is the JSON text of the client's cache_control mark, or empty.
	Text(text, mark string)
	// Reasoning writes a block with earlier reasoning, for which Restores returned true.
	Reasoning(x *hub.Reasoning)
	// Call writes a block with a tool call. input is the JSON text of an object, the arguments.
	Call(c *hub.Call, input string)
	// Result writes a block for message i of the request, which is a tool result. The error means that the format
	// cannot express the result.
	Result(i int) error
	// NoResult writes a result with a placeholder text, for the call with the given id that has no result.
	NoResult(id string)
	// Content writes the blocks of message i of the request, which is neither an assistant message nor a tool result.
	// Content must call Turns.Begin before each block. The error means that the format cannot express the message.
	Content(i int) error
	// EndTurn is called at the end of each turn. It may append a block that the format requires.
	EndTurn()
}

// Restores reports whether the candidate t can get back the earlier reasoning x, as a block with a signature or a
// redacted block. The state in x must come from a model of the same provider and family.
func Restores(x *hub.Reasoning, t *hub.Target) bool {
	return x.State.Fits(t) && (x.State.Form == hub.FormSignature || x.State.Form == hub.FormRedacted)
}

// Blank reports whether text is empty or only white space. The formats refuse blocks with such a text.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// System writes the system messages at the start of the request as a list of text blocks. If rule is not empty, it
// follows as another block. opening is the JSON text up to and including the bracket that opens the list. next is the
// index of the first message after the system messages. wrote is set if a block was written; the caller must then
// close the list. If no block was written, opening is not written either. The error means that a system message has a
// part that is not text.
func (w *Turns) System(c Contents, opening, rule string) (next int, wrote bool, err error) {
	oldLen := len(w.Dst)
	w.Dst = append(w.Dst, opening...)
	block := func(text, mark string) {
		if Blank(text) {
			return
		}
		if wrote {
			w.Dst = append(w.Dst, ',')
		}
		wrote = true
		c.Text(text, mark)
	}
	for ; next < len(w.Request.Messages); next++ {
		m := &w.Request.Messages[next]
		if m.Role != hub.System && m.Role != hub.Developer {
			break
		}
		for i := range m.Parts {
			if m.Parts[i].Kind != hub.PartText {
				return 0, false, fmt.Errorf(
					"messages[%d] is a system message with content other than text, which the %s format does not support",
					next, w.Format)
			}
			block(m.Parts[i].Text, m.Parts[i].Cache)
		}
	}
	block(rule, "")
	if !wrote {
		w.Dst = w.Dst[:oldLen]
	}
	return next, wrote, nil
}

// Messages writes the request's messages, beginning with the message at the index first. The caller writes the
// brackets around the list. The error means that the format cannot express one of the messages.
func (w *Turns) Messages(c Contents, first int) error {
	all := w.Request.Messages
	var openCalls []string          // ids of calls of the last assistant turn
	for i := first; i < len(all); { // all messages up to the next assistant message form one user turn
		if all[i].Role == hub.Assistant {
			if err := w.assistant(c, i); err != nil {
				return err
			}
			for _, call := range all[i].Calls {
				openCalls = append(openCalls, call.ID)
			}
			i++
			continue
		}
		end := i + 1
		for end < len(all) && all[end].Role != hub.Assistant {
			end++
		}
		if err := w.user(c, i, end, openCalls); err != nil {
			return err
		}
		openCalls = openCalls[:0]
		i = end
	}
	if w.turns == 0 {
		w.beginWithUser(c)
	}
	w.endTurn(c)
	return nil
}

// Begin prepares for a content block in a turn of the given role: it writes the comma after the previous block. If the
// current turn has another role, Begin ends this turn and writes the beginning of a new one.
func (w *Turns) Begin(c Contents, role hub.Role) {
	if w.role == role {
		w.Dst = append(w.Dst, ',')
		return
	}
	if w.turns == 0 && role == hub.Assistant { // the formats refuse such a beginning
		w.beginWithUser(c)
	}
	w.endTurn(c)
	if w.turns > 0 {
		w.Dst = append(w.Dst, ',')
	}
	w.turns++
	w.role = role
	w.Dst = jsontext.AppendAll(w.Dst, `{"role":"`, role.String(), `","content":[`)
}

// beginWithUser writes a user turn with the text "Continue.", for a conversation that does not begin with a user turn.
func (w *Turns) beginWithUser(c Contents) {
	w.Begin(c, hub.User)
	c.Text("Continue.", "")
}

// endTurn ends the current turn, if there is one.
func (w *Turns) endTurn(c Contents) {
	if w.role != 0 {
		c.EndTurn()
		w.Dst = append(w.Dst, "]}"...)
	}
	w.role = 0
}

// assistant writes message i of the request, an assistant message: first the reasoning that the candidate accepts, then
// the text, then the tool calls. The error means that the message has content other than text.
func (w *Turns) assistant(c Contents, i int) error {
	m := &w.Request.Messages[i]
	for j := range m.Reasoning {
		if x := &m.Reasoning[j]; Restores(x, w.Target) {
			w.Begin(c, hub.Assistant)
			c.Reasoning(x)
		}
	}
	last := i == len(w.Request.Messages)-1 && len(m.Calls) == 0
	for j := range m.Parts {
		p := &m.Parts[j]
		text := p.Text
		switch p.Kind {
		case hub.PartText, hub.PartRefusal:
		case hub.PartOther:
			continue // history in another format
		default:
			return fmt.Errorf(
				"messages[%d] is an assistant message with content other than text, which the %s format does not support",
				i, w.Format)
		}
		if last && j == len(m.Parts)-1 {
			text = strings.TrimRight(text, " \t\r\n") // a text to be continued must not end in white space
		}
		if !Blank(text) {
			w.Begin(c, hub.Assistant)
			c.Text(text, p.Cache)
		}
	}
	for j := range m.Calls {
		input := m.Calls[j].Arguments
		if !hub.IsObject([]byte(input)) {
			input = "{}"
		}
		w.Begin(c, hub.Assistant)
		c.Call(&m.Calls[j], input)
	}
	return nil
}

// user writes the messages with the indexes start <= i < end, which are not assistant messages. Tool results come
// first. openCalls holds the ids of the calls that need a result. A call without a result gets a placeholder, since the
// upstream would refuse the request otherwise. The errors are those of c.
func (w *Turns) user(c Contents, start, end int, openCalls []string) error {
	answered := make(map[string]struct{}) // ids of the calls whose results follow
	for i := start; i < end; i++ {
		m := &w.Request.Messages[i]
		if m.Role != hub.ToolResult {
			continue
		}
		answered[m.CallID] = struct{}{}
		w.Begin(c, hub.User)
		if err := c.Result(i); err != nil {
			return err
		}
	}
	for _, id := range openCalls {
		if _, ok := answered[id]; !ok {
			w.Begin(c, hub.User)
			c.NoResult(id)
		}
	}
	for i := start; i < end; i++ {
		if w.Request.Messages[i].Role != hub.ToolResult {
			if err := c.Content(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// ResultParts calls write to write the content blocks of m, a tool result. write must call beginBlock before each
// block; beginBlock writes the comma after the previous block. write gets a copy of m without the cache marks of its
// parts, since a mark belongs to the whole result. n is the number of blocks. mark is the last of the cache marks, or
// empty.
func (w *Turns) ResultParts(
	m *hub.Message, write func(unmarked *hub.Message, beginBlock func()) error,
) (n int, mark string, err error) {
	unmarked := *m
	unmarked.Parts = make([]hub.Part, len(m.Parts))
	for i, p := range m.Parts {
		if p.Cache != "" {
			mark = p.Cache
		}
		p.Cache = ""
		unmarked.Parts[i] = p
	}
	err = write(&unmarked, func() {
		if n++; n > 1 {
			w.Dst = append(w.Dst, ',')
		}
	})
	return n, mark, err
}
