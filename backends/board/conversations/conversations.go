// Package conversations implements private conversations. A member starts one with other members. Only these
// participants can read it and reply, until they leave. A participant who ignores another participant, or is ignored by
// one, cannot reply. Nobody else can read a conversation, whatever their rights; for them it does not exist. If a
// participant reports a message, the moderators of the board see a copy of it and of a few messages before it.
package conversations

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// These are the limits of conversations.
const (
	MaxRecipients = 10 // of a new conversation
	newPerDay     = 3  // conversations that a new member may start in a day
)

// DeletedName replaces the name of a deleted member.
const DeletedName = "deleted member"

// Service reads and writes the private conversations of a board.
type Service struct {
	*kernel.Server
	rights *rights.Service
}

// New returns the Service of a board.
func New(board *kernel.Server, actors *rights.Service) *Service {
	return &Service{Server: board, rights: actors}
}

// Person is a member in the views of other members.
type Person = following.Person

// EveryListing returns all list queries by name, for the test of their query plans.
func EveryListing() map[string]content.Listing {
	return map[string]content.Listing{
		"conversations": listing(), "messages": messages(),
		"reports": openReports(), "reported messages": reportedMessages(),
	}
}

// mayWrite returns an error if the actor may not write private messages now. It refuses guests, members who are
// blocked or suspended, and members who may not reply in any forum. It also refuses members whose posts all need
// approval, since nobody approves private messages.
func (s *Service) mayWrite(a *rights.Actor) error {
	switch {
	case a.User == nil:
		return kernel.NotFound()
	case a.User.NeedsApproval(s.Moment()):
		return kernel.Forbidden("author", "author_moderated",
			"your posts need approval, so you may not write private messages")
	case !a.MayAnywhere(rights.ReplyPost):
		return kernel.Forbidden("author", "no_permission", "you may not write private messages")
	}
	if err := a.CheckBlocked(s.Moment()); err != nil {
		return err
	}
	return a.CheckSuspended(s.Moment())
}

// participates checks that the actor participates in a conversation, and returns NotFound if not. last is the id of
// the last message, and lastRead is the id of the last message that the actor has read.
func participates(c store.Conn, a *rights.Actor, id int64) (last, lastRead int64, err error) {
	err = c.Row("SELECT last_id, read_id FROM board_conversation_members WHERE conversation_id = ? AND user_id = ?",
		id, a.ID()).Scan(&last, &lastRead)
	return last, lastRead, kernel.OrNotFound(err)
}

// participants returns the participants of the conversations with these ids, by conversation, sorted by name.
func participants(c store.Conn, ids ...any) (map[int64][]Person, error) {
	all := make(map[int64][]Person, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	err := c.All("SELECT m.conversation_id, u.id, u.username FROM board_conversation_members m"+
		" JOIN board_users u ON u.id = m.user_id WHERE m.conversation_id IN ("+kernel.Marks(len(ids))+")", ids,
		func(r store.Row) error {
			var id int64
			var p Person
			err := r.Scan(&id, &p.ID, &p.Name)
			all[id] = append(all[id], p)
			return err
		})
	for _, list := range all {
		slices.SortFunc(list, func(x, y Person) int { return compareNames(x.Name, y.Name) })
	}
	return all, err
}
