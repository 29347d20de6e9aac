package responses

import (
	"bytes"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Edit returns a Responses client's request for a Responses upstream: the client's bytes with minimal changes. The
// upstream is asked to store nothing.
//
// Edit calls open to open tokens of reasoning state. If open is nil, no token can be opened. If the candidate can
// continue from the item in a token, that item replaces the reasoning item; otherwise the reasoning item is removed.
// A reasoning item without state is removed too, since the upstream could not find its state. State that is not a
// token of the gateway is kept, since it may be the candidate's.
func (Format) Edit(r *hub.Request, t *hub.Target, open hub.Open) (hub.Written, error) {
	e := editor{hub.NewEditor(r, t, open)}
	if err := e.top(); err != nil {
		return hub.Written{}, err
	}
	return e.Written(), nil
}

// editor is the state of Edit.
type editor struct{ hub.Editor }

// top scans the top-level fields of the request and records the edits that they need.
func (e *editor) top() error {
	s := jsontext.NewScanner(e.Request.Body)
	hasStore := false
	// hasState is set if the field include need not be changed, because the request already asks for reasoning state or
	// must not ask for it.
	hasState := !e.Target.State || e.Request.Answer.State || e.drops("include")
	items, err := s.ObjectItems(func(key []byte, item *jsontext.Item) error {
		kind, start := s.Kind(), s.Offset()
		name := string(key)
		var err error
		switch {
		case name == "input" && kind == jsontext.Array:
			err = e.array(&s, e.reasoning)
		case name == "tools" && kind == jsontext.Array && !e.Target.Provider.NativeTools:
			err = e.array(&s, editHosted)
		case name == "text" && kind == jsontext.Object && e.drops("verbosity"):
			err = e.Without(&s, name, "verbosity")
		default:
			err = s.Skip()
		}
		e.CommonEdit(name, "max_output_tokens", start, s.Offset())
		if name == "store" {
			hasStore = true
			if string(s.Since(start)) != "false" {
				e.Edits.Replace(start, s.Offset(), "false")
			}
		}
		if name == "include" && !hasState {
			hasState = true
			e.include(kind, start, s.Offset())
		}
		e.Drop(item, name, wire.Foreign(wire.APIResponses, key) || e.drops(name))
		return err
	})
	if err != nil {
		return err
	}
	e.Edits.Remove(items)
	added := ""
	if !hasStore {
		added = `,"store":false`
	}
	if !hasState {
		added += `,"include":[` + encryptedContent + `]`
	}
	if added != "" {
		// The field model is never removed, so items is not empty.
		end := items[len(items)-1].To
		e.Edits.Replace(end, end, added)
	}
	return nil
}

// encryptedContent is the value of include that requests reasoning state, as JSON text.
const encryptedContent = `"reasoning.encrypted_content"`

// include adds "reasoning.encrypted_content" to the list in the request's field include, so that the upstream returns
// reasoning state. The field's value is Body[start:end], a value of the given kind.
func (e *editor) include(kind jsontext.Kind, start, end int) {
	switch text := e.Request.Body[start:end]; {
	case kind != jsontext.Array:
		e.Edits.Replace(start, end, `[`+encryptedContent+`]`)
	case len(bytes.TrimSpace(text[1:len(text)-1])) == 0:
		e.Edits.Replace(start+1, start+1, encryptedContent)
	default:
		e.Edits.Replace(start+1, start+1, encryptedContent+",")
	}
}

// editNever are the top-level fields that are never removed, even if an upstream refused them.
var editNever = [...]string{"model", "input", "instructions", "tools", "store", "stream"}

// drops reports whether the request's top-level field with this name is removed. The target's Drop lists parameters by
// their names in chat completions, so reasoning is looked up as reasoning_effort.
func (e *editor) drops(name string) bool {
	switch {
	case slices.Contains(editNever[:], name):
		return false
	case name == "reasoning":
		name = "reasoning_effort"
	}
	return slices.Contains(e.Target.Drop, name)
}

// array scans an array and removes the objects for which drop returns true. Other elements are kept.
func (e *editor) array(s *jsontext.Scanner, drop func(o *editObject) bool) error {
	items, err := s.ArrayItems(func(item *jsontext.Item) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		var o editObject
		err := o.scan(s)
		o.from, o.to = item.From, s.Offset()
		item.Drop = err == nil && drop(&o)
		return err
	})
	e.Edits.Remove(items)
	return err
}

// editObject holds the fields of an input item or tool that Edit needs.
type editObject struct {
	kind, encrypted string // type, encrypted_content
	from, to        int    // position in the body
}

// scan scans an object and stores its fields in o.
func (o *editObject) scan(s *jsontext.Scanner) error {
	return s.Object(func(key []byte) (err error) {
		switch {
		case s.Kind() != jsontext.String:
			return s.Skip()
		case string(key) == "type":
			o.kind, err = s.Unquoted()
		case string(key) == "encrypted_content":
			o.encrypted, err = s.Unquoted()
		default:
			return s.Skip()
		}
		return err
	})
}

// reasoning replaces a reasoning item that contains a token of the gateway by the item that is sealed in the token.
// drop is set if the reasoning item must be removed instead. An item of another type is not changed.
func (e *editor) reasoning(o *editObject) (drop bool) {
	switch {
	case o.kind != "reasoning":
		return false
	case o.encrypted == "":
		return true
	}
	state, isToken, ok := e.State(o.encrypted, hub.FormItem)
	if ok {
		e.Edits.Replace(o.from, o.to, state.Data)
	}
	return isToken && !ok
}

// editHosted reports whether the tool o must be removed for a provider that accepts only functions.
func editHosted(o *editObject) bool { return o.kind != "function" }
