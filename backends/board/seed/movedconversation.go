package seed

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// conversation imports the private conversation with this index.
func (l *movedLoader) conversation(c store.Conn, index *int) error {
	there, v, err := l.Conversation(*index)
	if err != nil {
		return err
	}
	v.Title = cmp.Or(MovedLine(v.Title, maxMovedTitle), "Private messages")
	for i := range v.Members {
		if err := l.memberHere(c, &v.Members[i].ID); err != nil {
			return err
		}
	}
	v.Members = slices.DeleteFunc(v.Members, func(m conversations.ImportedMember) bool { return m.ID == 0 })
	if len(v.Members) == 0 {
		err = errors.New("none of its members has an account")
	}
	for i := range v.Messages {
		m := &v.Messages[i]
		if err := l.memberHere(c, &m.Author); err != nil {
			return err
		}
		if err == nil {
			m.Text, err = checkMoved(m.Text)
		}
	}
	if err != nil {
		return &MovedError{content.MovedConversation, there, "", err} // no private title
	}
	id, err := conversations.Import(c, v)
	if err != nil {
		return err
	}
	return content.NoteMoved(c, l.program, content.MovedConversation, there, id)
}

// memberHere replaces *id, a member's id in the other program, with the member's new id. If the member has no account,
// the new value is 0.
func (l *movedLoader) memberHere(c store.Conn, id *int64) error {
	by, err := l.movedAuthor(c, SeedPost{MovedAuthor: *id})
	*id = by.id
	return err
}
