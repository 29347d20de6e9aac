package messages

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Edit returns a messages client's request for a messages upstream: the client's bytes with minimal changes.
//
// Edit calls open to open tokens of reasoning state. If open is nil, no token can be opened. If the candidate can
// continue from the state in a token, the state replaces the token; otherwise the token's block is removed.
// Signatures that are not tokens of the gateway are kept, since they may be the candidate's.
func (Format) Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error) {
	e := editor{Editor: hub.NewEditor(r, t, open)}
	if err := e.top(); err != nil {
		return hub.Written{}, err
	}
	return e.Written(), nil
}

// editor is the state of Edit.
type editor struct {
	hub.Editor
	last editTurn // the last assistant message
}

// editTurn records whether an assistant message has calls and thinking.
type editTurn struct {
	calls    bool // the message has tool_use blocks
	thinking bool // the message has thinking that is kept
	removed  bool // thinking was removed from the message
}

// editNever are the top-level fields that are never removed, even if an upstream refused them.
var editNever = [...]string{"model", "messages", "system", "max_tokens", "tools", "stream"}

// top scans the top-level fields of the request and records the edits that they need.
func (e *editor) top() error {
	s := jsontext.NewScanner(e.Request.Body)
	// The indexes of the current field, of thinking and of context_management; -1 means that there is no such field.
	index, thinkingIndex, contextIndex := -1, -1, -1
	var thinkingValue span // position of the value of thinking
	items, err := s.ObjectItems(func(key []byte, item *jsontext.Item) error {
		kind, start := s.Kind(), s.Offset()
		name := string(key)
		var err error
		param, inner := editInner(name)
		switch {
		case name == "messages" && kind == jsontext.Array:
			err = e.messages(&s)
		case inner != "" && kind == jsontext.Object && e.Target.Refuses(param):
			err = e.Without(&s, name, inner)
		default:
			err = s.Skip()
		}
		index++
		switch name {
		case "thinking":
			thinkingIndex, thinkingValue = index, span{start, s.Offset()}
		case "context_management":
			contextIndex = index
		}
		e.CommonEdit(name, "max_tokens", start, s.Offset())
		e.Drop(item, name, wire.Foreign(wire.APIMessages, key) || e.drops(name))
		return err
	})
	if err != nil {
		return err
	}
	if thinkingIndex >= 0 && !items[thinkingIndex].Drop &&
		e.mustNotThink(e.Request.Body[thinkingValue.from:thinkingValue.to]) {
		e.Edits.Replace(thinkingValue.from, thinkingValue.to, `{"type":"disabled"}`)
		// context_management may clear thinking, which is an error if thinking is disabled.
		if contextIndex >= 0 && !items[contextIndex].Drop {
			e.Drop(&items[contextIndex], "context_management", true)
		}
	}
	e.Edits.Remove(items)
	return nil
}

// drops reports whether the request's top-level field with this name is removed. The target's Drop lists parameters by
// their names in chat completions, so stop_sequences is looked up as stop.
func (e *editor) drops(name string) bool {
	if slices.Contains(editNever[:], name) {
		return false
	}
	if name == "stop_sequences" {
		name = "stop"
	}
	return e.Target.Refuses(name)
}

// editInner returns two names for a top-level field that contains a setting which is a separate parameter in chat
// completions. param is the name of that parameter, and inner is the name of the setting inside the field. Both are
// empty if name is the name of any other field.
func editInner(name string) (param, inner string) {
	switch name {
	case "output_config":
		return "reasoning_effort", "effort"
	case "tool_choice":
		return "parallel_tool_calls", "disable_parallel_tool_use"
	}
	return "", ""
}

// mustNotThink reports whether thinking must be switched off because the last assistant turn has calls but no thinking
// from which the model can continue. Adaptive thinking accepts such a turn, unless Edit has removed thinking from the
// turn. value is the JSON text of the request's field thinking.
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

// editType returns the string in the field "type" of value, a JSON object. It returns an empty string if value is not
// an object or has no such string.
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

// messages scans the messages and records the edits that they need. If the edits would leave a message without
// content, the message is removed.
func (e *editor) messages(s *jsontext.Scanner) error {
	items, err := s.ArrayItems(func(item *jsontext.Item) (err error) {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		editCount := len(e.Edits)
		item.Drop, err = e.message(s)
		if item.Drop { // no edits within a removed message
			e.Edits = e.Edits[:editCount]
		}
		return err
	})
	e.Edits.Remove(items)
	return err
}

// message scans a message and records the edits that it needs. empty is set if Edit removes all content of the message.
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

// content scans the blocks of a message and records the edits that they need. turn describes the blocks that are kept.
// empty is set if there were blocks and all of them are removed.
func (e *editor) content(s *jsontext.Scanner) (turn editTurn, empty bool, err error) {
	dropped, editCount := 0, len(e.Edits)
	items, err := s.ArrayItems(func(item *jsontext.Item) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		var b editBlock
		if err := b.scan(s); err != nil {
			return err
		}
		switch b.kind {
		case "tool_use":
			turn.calls = true
		case "thinking", "redacted_thinking":
			item.Drop = e.restoreState(&b)
			turn.thinking = turn.thinking || !item.Drop
			turn.removed = turn.removed || item.Drop
		}
		if item.Drop {
			dropped++
		}
		return nil
	})
	if dropped > 0 && dropped == len(items) {
		e.Edits = e.Edits[:editCount] // the whole message is removed
		return turn, true, err
	}
	e.Edits.Remove(items)
	return turn, false, err
}

// restoreState replaces the gateway's token in b, a thinking or redacted_thinking block, by the reasoning state in the
// token. drop is set if the block must be removed instead. A block without a token of the gateway stays unchanged.
func (e *editor) restoreState(b *editBlock) (drop bool) {
	value, position, form := b.signature, b.signatureAt, hub.FormSignature
	if b.kind == "redacted_thinking" {
		value, position, form = b.data, b.dataAt, hub.FormRedacted
	}
	state, isToken, ok := e.State(value, form)
	if ok {
		e.Edits.Replace(position.from, position.to, string(jsontext.AppendQuoted(nil, state.Data)))
	}
	return isToken && !ok
}

// editBlock holds the fields of a content block that Edit needs.
type editBlock struct {
	kind, signature, data string
	signatureAt, dataAt   span
}

// scan scans a content block and stores its fields in b.
func (b *editBlock) scan(s *jsontext.Scanner) error {
	return s.Object(func(key []byte) (err error) {
		if s.Kind() != jsontext.String {
			return s.Skip()
		}
		start := s.Offset()
		switch string(key) {
		case "type":
			b.kind, err = s.Unquoted()
		case "signature":
			b.signature, err = s.Unquoted()
			b.signatureAt = span{start, s.Offset()}
		case "data":
			b.data, err = s.Unquoted()
			b.dataAt = span{start, s.Offset()}
		default:
			return s.Skip()
		}
		return err
	})
}
