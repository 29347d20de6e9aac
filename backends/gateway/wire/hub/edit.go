package hub

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Editor changes the bytes of a client's request for an upstream of the same format, by
// the smallest changes (specification 1.2).
type Editor struct {
	Request *Request
	Target  *Target
	Edits   jsontext.Edits
	Dropped []string // members, by their path

	open Open
}

// NewEditor begins to change the body of a request. open opens a token of reasoning
// state; nil: none can be opened.
func NewEditor(r *Request, t *Target, open Open) Editor {
	return Editor{Request: r, Target: t, open: open}
}

// Written is the changed request.
func (e *Editor) Written() Written {
	e.Edits.Sort()
	body := e.Request.Body
	return Written{Body: e.Edits.Apply(make([]byte, 0, len(body)+256), body), Dropped: e.Dropped}
}

// Usual changes what every format has: the model, whose name is the candidate's, and the
// limit of tokens, which is no higher than the candidate's.
func (e *Editor) Usual(name, limit string, from, to int) {
	switch most := int64(e.Target.Model.MaxOutput); {
	case name == "model":
		e.Edits.Replace(from, to, string(jsontext.AppendQuoted(nil, e.Target.Model.ID)))
	case name == limit && most > 0 && e.Request.MaxTokens > most:
		e.Edits.Replace(from, to, strconv.FormatInt(most, 10))
	}
}

// Drop leaves a member out, if it is to be.
func (e *Editor) Drop(item *jsontext.Item, name string, drop bool) {
	if item.Drop = drop; drop {
		e.Dropped = append(e.Dropped, name)
	}
}

// Without passes the object that is a top-level member and leaves one of its members out,
// however often it is there.
func (e *Editor) Without(s *jsontext.Scanner, name, member string) error {
	items, err := s.ObjectItems(func(key []byte, item *jsontext.Item) error {
		e.Drop(item, name+"."+member, string(key) == member)
		return s.Skip()
	})
	e.Edits.Remove(items)
	return err
}

// State opens a token of reasoning state for the candidate. ours: it is a token; ok: the
// candidate can go on from what it holds.
func (e *Editor) State(token string, form Form) (s State, ours, ok bool) {
	if !strings.HasPrefix(token, TokenPrefix) {
		return s, false, false
	}
	if e.open == nil {
		return s, true, false
	}
	s, ok = e.open(token)
	return s, true, ok && s.Form == form && s.Fits(e.Target)
}
