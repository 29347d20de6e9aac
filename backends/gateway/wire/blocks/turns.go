package blocks

import (
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Turns writes the messages of a request in a format whose turns consist of content blocks. User and assistant turns
// alternate, beginning with the user's. The results of an assistant turn's calls are all in the next turn.
type Turns struct {
	Request *hub.Request
	Target  *hub.Target
	// Format is the name of the format in error messages.
	Format string
	// Dst is the text written so far.
	Dst   []byte
	role  hub.Role // of the turn being written; 0 if there is none
	turns int      // turns written
}

// Contents writes the content blocks of one format. Its methods append a block to Turns.Dst.
type Contents interface {
	// Text writes a text. mark is the client's cache mark, or empty.
	Text(text, mark string)
	// Reasoning writes earlier reasoning that the candidate accepts (see Restores).
	Reasoning(x *hub.Reasoning)
	// Call writes a tool call. input is a JSON object.
	Call(c *hub.Call, input string)
	// Result writes message i, which is a tool result.
	Result(i int) error
	// NoResult writes a placeholder for a call without a result.
	NoResult(id string)
	// Content writes message i, which is neither an assistant message nor a tool result. It calls Turns.Begin itself.
	Content(i int) error
	// EndTurn writes what the format requires at the end of a turn.
	EndTurn()
}

// Restores reports whether earlier reasoning can be returned to a candidate with its signature or as redacted data. The
// state must come from a model of the same provider and family.
func Restores(x *hub.Reasoning, t *hub.Target) bool {
	return x.State.Fits(t) && (x.State.Form == hub.FormSignature || x.State.Form == hub.FormRedacted)
}

// Blank reports whether a text is only white space. The formats refuse blocks with such a text.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// System writes the leading system messages, and rule if it is not empty, as a list of text blocks. open is the text
// before the list. System returns the index of the next message. If wrote is set, the caller must close the list.
func (w *Turns) System(c Contents, open, rule string) (rest int, wrote bool, err error) {
	from := len(w.Dst)
	w.Dst = append(w.Dst, open...)
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
	for ; rest < len(w.Request.Messages); rest++ {
		m := &w.Request.Messages[rest]
		if m.Role != hub.System && m.Role != hub.Developer {
			break
		}
		for i := range m.Parts {
			if m.Parts[i].Kind != hub.PartText {
				return 0, false, fmt.Errorf(
					"messages[%d] is a system message with more than text, which the %s format does not carry", rest, w.Format)
			}
			block(m.Parts[i].Text, m.Parts[i].Cache)
		}
	}
	if block(rule, ""); !wrote {
		w.Dst = w.Dst[:from]
	}
	return rest, wrote, nil
}

// Messages writes the turns of the messages from index rest on.
func (w *Turns) Messages(c Contents, rest int) error {
	all := w.Request.Messages
	var open []string // ids of calls of the last assistant turn
	for i := rest; i < len(all); {
		if all[i].Role == hub.Assistant {
			if err := w.assistant(c, i); err != nil {
				return err
			}
			for _, c := range all[i].Calls {
				open = append(open, c.ID)
			}
			i++
			continue
		}
		to := i + 1
		for to < len(all) && all[to].Role != hub.Assistant {
			to++
		}
		if err := w.user(c, i, to, open); err != nil {
			return err
		}
		open = open[:0]
		i = to
	}
	if w.turns == 0 {
		w.opening(c)
	}
	w.endTurn(c)
	return nil
}

// Begin begins a content block in a turn of the given role. If the current turn has another role, Begin ends it and
// begins a new turn.
func (w *Turns) Begin(c Contents, role hub.Role) {
	if w.role == role {
		w.Dst = append(w.Dst, ',')
		return
	}
	if w.turns == 0 && role == hub.Assistant {
		w.opening(c)
	}
	w.endTurn(c)
	if w.turns > 0 {
		w.Dst = append(w.Dst, ',')
	}
	w.turns++
	w.role = role
	w.Dst = jsontext.AppendAll(w.Dst, `{"role":"`, role.String(), `","content":[`)
}

// opening writes a user turn for a conversation that does not begin with one.
func (w *Turns) opening(c Contents) {
	w.Begin(c, hub.User)
	c.Text("Continue.", "")
}

func (w *Turns) endTurn(c Contents) {
	if w.role != 0 {
		c.EndTurn()
		w.Dst = append(w.Dst, "]}"...)
	}
	w.role = 0
}

// assistant writes message i: first the reasoning, then the text, then the calls.
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
			continue // it belongs to another format, and is history
		default:
			return fmt.Errorf("messages[%d] is of the assistant and holds more than text, which the %s format does not carry",
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

// user writes messages [from, to), none of which is an assistant message. open are the ids of the calls that need a
// result. A call without a result gets a placeholder, since the upstream would refuse the request otherwise.
func (w *Turns) user(c Contents, from, to int, open []string) error {
	var answered map[string]struct{}
	if len(open) > 0 {
		answered = make(map[string]struct{}, len(open))
	}
	for i := from; i < to; i++ {
		m := &w.Request.Messages[i]
		if m.Role != hub.ToolResult {
			continue
		}
		if answered != nil {
			answered[m.CallID] = struct{}{}
		}
		w.Begin(c, hub.User)
		if err := c.Result(i); err != nil {
			return err
		}
	}
	for _, id := range open {
		if _, ok := answered[id]; !ok {
			w.Begin(c, hub.User)
			c.NoResult(id)
		}
	}
	for i := from; i < to; i++ {
		if w.Request.Messages[i].Role != hub.ToolResult {
			if err := c.Content(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// Unmarked returns a tool result without cache marks on its parts. mark is the last of these marks, which applies to
// the whole result.
func Unmarked(m *hub.Message) (bare hub.Message, mark string) {
	bare = *m
	bare.Parts = make([]hub.Part, len(m.Parts))
	for i, p := range m.Parts {
		if p.Cache != "" {
			mark = p.Cache
		}
		p.Cache = ""
		bare.Parts[i] = p
	}
	return bare, mark
}
