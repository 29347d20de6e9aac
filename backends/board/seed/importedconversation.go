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
	oldID, v, err := l.Conversation(*index)
	if err != nil {
		return err
	}
	refuse := func(reason error) error {
		return &MovedError{content.MovedConversation, oldID, "", reason} // private titles are not reported
	}
	v.Title = cmp.Or(MovedLine(v.Title, maxMovedTitle), "Private messages")
	for i := range v.Members {
		if err := l.replaceMemberID(c, &v.Members[i].ID); err != nil {
			return err
		}
	}
	v.Members = slices.DeleteFunc(v.Members, func(m conversations.ImportedMember) bool { return m.ID == 0 })
	if len(v.Members) == 0 {
		return refuse(errors.New("none of its members has an account"))
	}
	for i := range v.Messages {
		m := &v.Messages[i]
		if err := l.replaceMemberID(c, &m.Author); err != nil {
			return err
		}
		if m.Text, err = checkMoved(m.Text); err != nil {
			return refuse(err)
		}
	}
	id, err := conversations.Import(c, v)
	if err != nil {
		return err
	}
	return content.RecordMoved(c, l.program, content.MovedConversation, oldID, id)
}

// replaceMemberID replaces *id, a member's id in the other program, with the member's new id. If the member has no
// account, the new value is 0.
func (l *movedLoader) replaceMemberID(c store.Conn, id *int64) error {
	author, err := l.movedAuthor(c, SeedPost{MovedAuthor: *id})
	*id = author.id
	return err
}
