package responses

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// editToken is what a token of reasoning state begins with.
const editToken = "kcs1."

// Edit writes a request of a Responses client for a Responses upstream: the client's bytes
// but for the smallest changes (specification 1.2). Nothing is stored there.
//
// open opens a token of reasoning state; nil: none can be opened. A reasoning item with a
// token gives way to the item that it holds where the candidate can go on from it, else it
// is left out, and so is one without any state: the upstream could not find it. State that
// is no token of ours stays: it may be the candidate's.
func Edit(r *hub.Request, t *hub.Target, open func(token string) (hub.State, bool)) (hub.Written, error) {
	e := editor{r: r, t: t, body: r.Body, open: open}
	if err := e.top(); err != nil {
		return hub.Written{}, err
	}
	slices.SortFunc(e.edits, func(a, b wire.Edit) int { return cmp.Compare(a.From, b.From) })
	return hub.Written{Body: e.edits.Apply(make([]byte, 0, len(r.Body)+256), r.Body), Dropped: e.dropped}, nil
}

type editor struct {
	r       *hub.Request
	t       *hub.Target
	body    []byte
	open    func(string) (hub.State, bool)
	edits   wire.Edits
	dropped []string
}

// editItem is a member of an object or an element of an array.
type editItem struct {
	from, to int
	drop     bool
}

func (e *editor) top() error {
	s := wire.NewScanner(e.body)
	var items []editItem
	stored := false
	err := s.Object(func(key []byte) error {
		kind, from := s.Kind(), s.Offset()
		name := string(key)
		item := editItem{from: editKey(e.body, from), drop: e.drops(name)}
		var err error
		switch {
		case name == "input" && kind == wire.Array:
			err = e.array(&s, e.reasoning)
		case name == "tools" && kind == wire.Array && !e.t.Provider.NativeTools:
			err = e.array(&s, editHosted)
		default:
			err = s.Skip()
		}
		if err != nil {
			return err
		}
		item.to = s.Offset()
		switch name {
		case "model":
			e.edits.Replace(from, item.to, string(wire.AppendQuoted(nil, e.t.Model.ID)))
		case "store":
			stored = true
			if string(e.body[from:item.to]) != "false" {
				e.edits.Replace(from, item.to, "false")
			}
		case "max_output_tokens":
			if most := int64(e.t.Model.MaxOutput); most > 0 && e.r.MaxTokens > most {
				e.edits.Replace(from, item.to, strconv.FormatInt(most, 10))
			}
		}
		if item.drop {
			e.dropped = append(e.dropped, name)
		}
		items = append(items, item)
		return nil
	})
	if err != nil {
		return err
	}
	e.remove(items)
	if !stored {
		// The model is never dropped, so there is a member to stand behind.
		end := items[len(items)-1].to
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

// editKey is the offset of the opening quote of the key whose value stands at from.
func editKey(body []byte, from int) int {
	i := from - 1
	for body[i] != ':' {
		i--
	}
	for i--; body[i] != '"'; i-- { // the closing one
	}
	for {
		for i--; body[i] != '"'; i-- {
		}
		// A quote behind an odd number of backslashes is part of the key.
		n := 0
		for body[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i
		}
	}
}

// remove leaves out the items that are to be dropped, each with one comma.
func (e *editor) remove(items []editItem) {
	kept := false
	for i, item := range items {
		switch {
		case !item.drop:
			kept = true
		case kept:
			e.edits.Replace(items[i-1].to, item.to, "")
		case i+1 < len(items):
			e.edits.Replace(item.from, items[i+1].from, "")
		default:
			e.edits.Replace(item.from, item.to, "")
		}
	}
}

// array passes an array of objects and leaves out those for which drop says so.
func (e *editor) array(s *wire.Scanner, drop func(o *editObject) bool) error {
	var items []editItem
	err := s.Array(func(int) error {
		kind, from := s.Kind(), s.Offset()
		if kind != wire.Object {
			err := s.Skip()
			items = append(items, editItem{from: from, to: s.Offset()})
			return err
		}
		var o editObject
		err := o.scan(s)
		o.from, o.to = from, s.Offset()
		items = append(items, editItem{from: from, to: o.to, drop: err == nil && drop(&o)})
		return err
	})
	e.remove(items)
	return err
}

// editObject is what Edit has to know of an item or a tool.
type editObject struct {
	kind, encrypted string
	from, to        int
}

func (o *editObject) scan(s *wire.Scanner) error {
	return s.Object(func(key []byte) (err error) {
		switch {
		case s.Kind() != wire.String:
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
	case !strings.HasPrefix(o.encrypted, editToken):
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
