package responses

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Edit writes a request of a Responses client for a Responses upstream: the client's bytes
// but for the smallest changes (specification 1.2). Nothing is stored there.
//
// open opens a token of reasoning state; nil: none can be opened. A reasoning item with a
// token gives way to the item that it holds where the candidate can go on from it, else it
// is left out, and so is one without any state: the upstream could not find it. State that
// is no token of ours stays: it may be the candidate's.
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
}

func (e *editor) top() error {
	s := jsontext.NewScanner(e.body)
	var items []jsontext.Item
	stored := false
	err := s.Object(func(key []byte) error {
		kind, from := s.Kind(), s.Offset()
		name := string(key)
		item := jsontext.Item{From: jsontext.KeyAt(e.body, from), Drop: wire.Foreign(wire.APIResponses, key) || e.drops(name)}
		var err error
		switch {
		case name == "input" && kind == jsontext.Array:
			err = e.array(&s, e.reasoning)
		case name == "tools" && kind == jsontext.Array && !e.t.Provider.NativeTools:
			err = e.array(&s, editHosted)
		case name == "text" && kind == jsontext.Object && e.drops("verbosity"):
			err = e.leave(&s, name, "verbosity")
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
		case "store":
			stored = true
			if string(e.body[from:item.To]) != "false" {
				e.edits.Replace(from, item.To, "false")
			}
		case "max_output_tokens":
			if most := int64(e.t.Model.MaxOutput); most > 0 && e.r.MaxTokens > most {
				e.edits.Replace(from, item.To, strconv.FormatInt(most, 10))
			}
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
	e.edits.Remove(items)
	if !stored {
		// The model is never dropped, so there is a member to stand behind.
		end := items[len(items)-1].To
		e.edits.Replace(end, end, `,"store":false`)
	}
	return nil
}

// editNever are the members that no list of refused parameters may take away.
var editNever = [...]string{"model", "input", "instructions", "tools", "store", "stream"}

// drops reports whether a top-level member is left out. The names of the target are those
// of the chat format.
func (e *editor) drops(name string) bool {
	switch {
	case slices.Contains(editNever[:], name):
		return false
	case name == "reasoning":
		name = "reasoning_effort"
	}
	return slices.Contains(e.t.Drop, name)
}

// leave passes an object at a path and leaves one of its members out.
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

// array passes an array of objects and leaves out those for which drop says so.
func (e *editor) array(s *jsontext.Scanner, drop func(o *editObject) bool) error {
	var items []jsontext.Item
	err := s.Array(func(int) error {
		kind, from := s.Kind(), s.Offset()
		if kind != jsontext.Object {
			err := s.Skip()
			items = append(items, jsontext.Item{From: from, To: s.Offset()})
			return err
		}
		var o editObject
		err := o.scan(s)
		o.from, o.to = from, s.Offset()
		items = append(items, jsontext.Item{From: from, To: o.to, Drop: err == nil && drop(&o)})
		return err
	})
	e.edits.Remove(items)
	return err
}

// editObject is what Edit has to know of an item or a tool.
type editObject struct {
	kind, encrypted string
	from, to        int
}

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

// reasoning puts the item that a token holds in the place of the item with the token, and
// reports whether the item has to go instead.
func (e *editor) reasoning(o *editObject) (drop bool) {
	switch {
	case o.kind != "reasoning":
		return false
	case o.encrypted == "":
		return true
	case !strings.HasPrefix(o.encrypted, hub.TokenPrefix):
		return false
	case e.open == nil:
		return true
	}
	state, ok := e.open(o.encrypted)
	if !ok || state.Form != hub.FormItem || !state.Fits(e.t) {
		return true
	}
	e.edits.Replace(o.from, o.to, state.Data)
	return false
}

// editHosted: a provider that does not take every type of tool takes functions only.
func editHosted(o *editObject) bool { return o.kind != "function" }
