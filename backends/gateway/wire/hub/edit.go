package hub

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Editor edits the bytes of a client's request for an upstream of the same format with minimal changes.
type Editor struct {
	Request *Request
	Target  *Target
	Edits   jsontext.Edits
	Dropped []string // paths of removed members

	open Open
}

// NewEditor returns an editor for the body of r. The editor calls open to open tokens of reasoning state. If open is
// nil, no token can be opened.
func NewEditor(r *Request, t *Target, open Open) Editor {
	return Editor{Request: r, Target: t, open: open}
}

// Written returns the edited request.
func (e *Editor) Written() Written {
	e.Edits.Sort()
	body := e.Request.Body
	return Written{Body: e.Edits.Apply(make([]byte, 0, len(body)+256), body), Dropped: e.Dropped}
}

// CommonEdit makes those edits of a top-level field that are common to all formats. name is the field's name; its value
// is at [start, end) in the body. The value of model becomes the candidate's model. limitName is the name of the field
// with the token limit, whose value is lowered to the model's maximum.
func (e *Editor) CommonEdit(name, limitName string, start, end int) {
	switch tokens := e.Target.Limit(e.Request.MaxTokens); {
	case name == "model":
		e.Edits.Replace(start, end, string(jsontext.AppendQuoted(nil, e.Target.Model.ID)))
	case name == limitName && tokens < e.Request.MaxTokens:
		e.Edits.Replace(start, end, strconv.FormatInt(tokens, 10))
	}
}

// Drop sets item.Drop to drop. If drop is set it also adds name to Dropped.
func (e *Editor) Drop(item *jsontext.Item, name string, drop bool) {
	if item.Drop = drop; drop {
		e.Dropped = append(e.Dropped, name)
	}
}

// Without scans the object that is the value of the top-level field with the given name. It removes the field called
// member from this object, even if the field occurs several times.
func (e *Editor) Without(s *jsontext.Scanner, name, member string) error {
	items, err := s.ObjectItems(func(key []byte, item *jsontext.Item) error {
		e.Drop(item, name+"."+member, string(key) == member)
		return s.Skip()
	})
	e.Edits.Remove(items)
	return err
}

// State decrypts a token that holds the reasoning state of an earlier answer. form is the form of state that the
// candidate needs. isToken reports whether the text is a token of the gateway. ok reports whether the candidate can
// continue from the state s.
func (e *Editor) State(token string, form Form) (s State, isToken, ok bool) {
	if !strings.HasPrefix(token, TokenPrefix) {
		return s, false, false
	}
	if e.open == nil {
		return s, true, false
	}
	s, ok = e.open(token)
	return s, true, ok && s.Form == form && s.Fits(e.Target)
}
