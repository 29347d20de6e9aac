package messages

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Edit writes a request of a messages client for a messages upstream: the client's
// bytes but for the smallest changes (specification 1.2).
//
// open opens a token of reasoning state; nil: none can be opened. A token gives way to
// the state that it holds where the candidate can go on from it, else its block is
// left out. Signatures that are no tokens of ours stay: they may be the candidate's.
func Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error) {
	e := editor{r: r, t: t, body: r.Body, open: open}
	if err := e.top(); err != nil {
		return hub.Written{}, err
	}
	e.edits.Sort()
	return hub.Written{Body: e.edits.Apply(make([]byte, 0, len(r.Body)+256), r.Body), Dropped: e.dropped}, nil
}

type editor struct {
	r       *hub.Request
	t       *hub.Target
	body    []byte
	open    func(string) (hub.State, bool)
	edits   jsontext.Edits
	dropped []string
	last    editTurn // the last message of the assistant
}

// editTurn is what thinking asks of an assistant message.
type editTurn struct {
	calls    bool // it holds tool_use
	thinking bool // it holds thinking that is sent
	removed  bool // it held thinking that is not sent
}

// editNever are the members that no list of refused parameters may take away.
var editNever = [...]string{"model", "messages", "system", "max_tokens", "tools", "stream"}

func (e *editor) top() error {
	s := jsontext.NewScanner(e.body)
	var items []jsontext.Item
	var thinking, contexts int // places in items; 0: none
	var thinkingValue editSpan
	err := s.Object(func(key []byte) error {
		kind, from := s.Kind(), s.Offset()
		name := string(key)
		item := jsontext.Item{From: jsontext.KeyAt(e.body, from), Drop: wire.Foreign(wire.APIMessages, key) || e.drops(name)}
		var err error
		param, inner := editInner(name)
		switch {
		case name == "messages" && kind == jsontext.Array:
			err = e.messages(&s)
		case inner != "" && kind == jsontext.Object && upstreamDrops(e.t, param):
			err = e.leave(&s, name, inner)
		default:
			err = s.Skip()
		}
		if err != nil {
			return err
		}
		item.To = s.Offset()
		switch name {
		case "model":
			e.edits.Replace(from, item.To, string(jsontext.AppendQuoted(nil, e.t.Model.ID)))
		case "max_tokens":
			if most := int64(e.t.Model.MaxOutput); most > 0 && e.r.MaxTokens > most {
				e.edits.Replace(from, item.To, strconv.FormatInt(most, 10))
			}
		case "thinking":
			thinking, thinkingValue = len(items)+1, editSpan{from, item.To}
		case "context_management":
			contexts = len(items) + 1
		}
		if item.Drop {
			e.dropped = append(e.dropped, name)
		}
		items = append(items, item)
		return nil
	})
	if err != nil {
		return err
	}
	if thinking > 0 && !items[thinking-1].Drop && e.mustNotThink(e.body[thinkingValue.from:thinkingValue.to]) {
		e.edits.Replace(thinkingValue.from, thinkingValue.to, `{"type":"disabled"}`)
		if contexts > 0 && !items[contexts-1].Drop { // it may clear thinking, which is an error without any
			items[contexts-1].Drop = true
			e.dropped = append(e.dropped, "context_management")
		}
	}
	e.edits.Remove(items)
	return nil
}

type editSpan struct{ from, to int }

// drops reports whether a top-level member is left out. The names of the target are
// those of the chat format.
func (e *editor) drops(name string) bool {
	if slices.Contains(editNever[:], name) {
		return false
	}
	if name == "stop_sequences" {
		name = "stop"
	}
	return upstreamDrops(e.t, name)
}

// editInner is a member within a top-level one that is a parameter of its own in the
// chat format, and the parameter's name there; empty: there is none.
func editInner(name string) (param, inner string) {
	switch name {
	case "output_config":
		return "reasoning_effort", "effort"
	case "tool_choice":
		return "parallel_tool_calls", "disable_parallel_tool_use"
	}
	return "", ""
}

// leave passes an object and leaves one of its members out.
func (e *editor) leave(s *jsontext.Scanner, at, refused string) error {
	var items []jsontext.Item
	err := s.Object(func(key []byte) error {
		_ = s.Kind() // the value begins behind white space
		item := jsontext.Item{From: jsontext.KeyAt(e.body, s.Offset()), Drop: string(key) == refused}
		if item.Drop {
			e.dropped = append(e.dropped, at+"."+refused)
		}
		err := s.Skip()
		item.To = s.Offset()
		items = append(items, item)
		return err
	})
	e.edits.Remove(items)
	return err
}

// mustNotThink reports whether thinking has to be off: the last turn of the assistant has
// calls and no thinking to go on from (specification 11.2). Adaptive thinking
// allows a turn without, so there it is off only when one was taken away.
func (e *editor) mustNotThink(value []byte) bool {
	if !e.last.calls || e.last.thinking {
		return false
	}
	switch kind := editType(value); kind {
	case "enabled":
		return true
	case "adaptive", "between_tools":
		return e.last.removed
	}
	return false
}

// editType is the type of an object; empty: there is none.
func editType(value []byte) (kind string) {
	s := jsontext.NewScanner(value)
	if s.Kind() != jsontext.Object {
		return ""
	}
	_ = s.Object(func(key []byte) (err error) { // the whole body is valid
		if string(key) == "type" && s.Kind() == jsontext.String {
			kind, err = s.Unquoted()
			return err
		}
		return s.Skip()
	})
	return kind
}

func (e *editor) messages(s *jsontext.Scanner) error {
	var items []jsontext.Item
	err := s.Array(func(int) error {
		kind := s.Kind()
		item := jsontext.Item{From: s.Offset()}
		mark := len(e.edits)
		var err error
		if kind == jsontext.Object {
			item.Drop, err = e.message(s)
		} else {
			err = s.Skip()
		}
		item.To = s.Offset()
		if item.Drop {
			e.edits = e.edits[:mark]
		}
		items = append(items, item)
		return err
	})
	e.edits.Remove(items)
	return err
}

// message passes a message and reports whether nothing of it is left.
func (e *editor) message(s *jsontext.Scanner) (empty bool, err error) {
	var turn editTurn
	assistant := false
	err = s.Object(func(key []byte) error {
		switch {
		case string(key) == "role" && s.Kind() == jsontext.String:
			role, _, err := s.Text()
			assistant = string(role) == "assistant"
			return err
		case string(key) == "content" && s.Kind() == jsontext.Array:
			var err error
			turn, empty, err = e.content(s)
			return err
		}
		return s.Skip()
	})
	if assistant && !empty {
		e.last = turn
	}
	return empty, err
}

// content passes the blocks of a message. empty: there were some, and none is left.
func (e *editor) content(s *jsontext.Scanner) (turn editTurn, empty bool, err error) {
	var items []jsontext.Item
	dropped := 0
	mark := len(e.edits)
	err = s.Array(func(int) error {
		kind := s.Kind()
		item := jsontext.Item{From: s.Offset()}
		b := editBlock{}
		var err error
		if kind == jsontext.Object {
			err = b.scan(s)
		} else {
			err = s.Skip()
		}
		if err != nil {
			return err
		}
		item.To = s.Offset()
		switch b.kind {
		case "tool_use":
			turn.calls = true
		case "thinking", "redacted_thinking":
			item.Drop = e.token(&b)
			turn.thinking = turn.thinking || !item.Drop
			turn.removed = turn.removed || item.Drop
		}
		if item.Drop {
			dropped++
		}
		items = append(items, item)
		return nil
	})
	if dropped > 0 && dropped == len(items) {
		e.edits = e.edits[:mark]
		return turn, true, err
	}
	e.edits.Remove(items)
	return turn, false, err
}

// token puts the state that a token holds in the token's place, and reports whether
// the block has to go instead. A block whose place for state holds something else is
// left as it is.
func (e *editor) token(b *editBlock) (drop bool) {
	value, at, form := b.signature, b.signatureAt, hub.FormSignature
	if b.kind == "redacted_thinking" {
		value, at, form = b.data, b.dataAt, hub.FormRedacted
	}
	if !strings.HasPrefix(value, hub.TokenPrefix) {
		return false
	}
	if e.open == nil {
		return true
	}
	state, ok := e.open(value)
	if !ok || state.Form != form || !state.Fits(e.t) {
		return true
	}
	e.edits.Replace(at.from, at.to, string(jsontext.AppendQuoted(nil, state.Data)))
	return false
}

// editBlock is what Edit has to know of a content block.
type editBlock struct {
	kind, signature, data string
	signatureAt, dataAt   editSpan
}

func (b *editBlock) scan(s *jsontext.Scanner) error {
	return s.Object(func(key []byte) (err error) {
		if s.Kind() != jsontext.String {
			return s.Skip()
		}
		from := s.Offset()
		switch string(key) {
		case "type":
			b.kind, err = s.Unquoted()
		case "signature":
			b.signature, err = s.Unquoted()
			b.signatureAt = editSpan{from, s.Offset()}
		case "data":
			b.data, err = s.Unquoted()
			b.dataAt = editSpan{from, s.Offset()}
		default:
			return s.Skip()
		}
		return err
	})
}
