package board

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The topics of webhooks.
const (
	TopicThreadCreated  = "thread.created"
	TopicPostCreated    = "post.created"
	TopicPostHeld       = "post.held"
	TopicPostApproved   = "post.approved"
	TopicPostRejected   = "post.rejected"
	TopicPostEdited     = "post.edited"
	TopicPostDeleted    = "post.deleted"
	TopicUserRegistered = "user.registered"
	TopicReportCreated  = "report.created"
)

// Topics are all that a webhook can be told of.
var Topics = []string{
	TopicThreadCreated, TopicPostCreated, TopicPostHeld, TopicPostApproved, TopicPostRejected, TopicPostEdited, TopicPostDeleted,
	TopicUserRegistered, TopicReportCreated,
}

// postEvent tells of a post. A held or deleted one is told of too. Events name things
// and leave their text away: who may read that asks the API for it.
type postEvent struct {
	ForumID            int64   `json:"forumId"`
	ThreadID           int64   `json:"threadId"`
	ThreadTitle        string  `json:"threadTitle"`
	PostID             int64   `json:"postId"`
	Number             int64   `json:"number"`
	AuthorUserID       *int64  `json:"authorUserId"`
	AuthorUsername     string  `json:"authorUsername"`
	Visibility         string  `json:"visibility"`
	PreviousVisibility *string `json:"previousVisibility"`
	Reason             *string `json:"reason"` // why it is held
}

type userEvent struct {
	UserID   int64  `json:"userId"`
	Username string `json:"username"`
	State    string `json:"state"`
}

type reportEvent struct {
	ReportID       int64  `json:"reportId"`
	ForumID        int64  `json:"forumId"`
	ThreadID       int64  `json:"threadId"`
	PostID         int64  `json:"postId"`
	ReporterUserID int64  `json:"reporterUserId"`
	Reason         string `json:"reason"`
}

func eventOf(t *thread, p *post) postEvent {
	return postEvent{
		ForumID: t.forum, ThreadID: t.id, ThreadTitle: t.title, PostID: p.id, Number: p.number,
		AuthorUserID: kernel.OrNull(p.author), AuthorUsername: p.authorName, Visibility: rights.VisibilityNames[p.visibility],
	}
}

// emitPosted tells of a new post, and of the thread that it starts.
func (s *Service) emitPosted(c store.Conn, t *thread, p *post, held string) error {
	e := eventOf(t, p)
	if p.visibility != rights.Visible {
		e.Reason = &held
		return s.hooks.Emit(c, TopicPostHeld, e)
	}
	if p.number == 1 {
		if err := s.hooks.Emit(c, TopicThreadCreated, e); err != nil {
			return err
		}
	}
	return s.hooks.Emit(c, TopicPostCreated, e)
}

// emitSettled tells of a post that has gone from a visibility to another one.
func (s *Service) emitSettled(c store.Conn, t *thread, p *post, from int64, reason string) error {
	e := eventOf(t, p)
	e.PreviousVisibility = &rights.VisibilityNames[from]
	switch {
	case p.visibility == rights.Visible:
		return s.hooks.Emit(c, TopicPostApproved, e)
	case p.visibility == rights.Unapproved:
		e.Reason = &reason
		return s.hooks.Emit(c, TopicPostHeld, e)
	case from == rights.Unapproved:
		return s.hooks.Emit(c, TopicPostRejected, e)
	}
	return s.hooks.Emit(c, TopicPostDeleted, e)
}

// emitRegistered tells of a new member.
func (s *Service) emitRegistered(c store.Conn, user int64) error {
	var e userEvent
	err := c.Row("SELECT id, username, state FROM board_users WHERE id = ?", user).Scan(&e.UserID, &e.Username, &e.State)
	if err != nil {
		return err
	}
	return s.hooks.Emit(c, TopicUserRegistered, e)
}
