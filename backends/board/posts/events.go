package posts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// postEvent describes a post to webhooks; the post may be held or deleted. Events identify posts without quoting them:
// a receiver that may read the text gets it from the API.
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
	Reason             *string `json:"reason"` // why the post is held
}

// reportEvent describes a report of a post to webhooks.
type reportEvent struct {
	ReportID       int64  `json:"reportId"`
	ForumID        int64  `json:"forumId"`
	ThreadID       int64  `json:"threadId"`
	PostID         int64  `json:"postId"`
	ReporterUserID int64  `json:"reporterUserId"`
	Reason         string `json:"reason"`
}

// eventOf returns the event of a post, without PreviousVisibility and Reason.
func eventOf(t *content.Thread, p *content.Post) postEvent {
	return postEvent{
		ForumID: t.Forum, ThreadID: t.ID, ThreadTitle: t.Title, PostID: p.ID, Number: p.Number,
		AuthorUserID: kernel.NilIfZero(p.Author), AuthorUsername: p.AuthorName,
		Visibility: rights.VisibilityNames[p.Visibility],
	}
}

// emitPosted emits the events of a new post and, if the post starts a thread, of the thread. reason is the reason for
// which the post is held, or empty.
func (s *Service) emitPosted(c store.Conn, t *content.Thread, p *content.Post, reason string) error {
	e := eventOf(t, p)
	if p.Visibility != rights.Visible {
		e.Reason = &reason
		return s.Hooks.Emit(c, kernel.TopicPostHeld, e)
	}
	if p.Number == 1 {
		if err := s.Hooks.Emit(c, kernel.TopicThreadCreated, e); err != nil {
			return err
		}
	}
	return s.Hooks.Emit(c, kernel.TopicPostCreated, e)
}

// emitSettled emits the event of a post whose visibility has changed. oldVisibility is the former visibility. If the
// post is now held, reason says why.
func (s *Service) emitSettled(
	c store.Conn, t *content.Thread, p *content.Post, oldVisibility int64, reason string,
) error {
	e := eventOf(t, p)
	e.PreviousVisibility = &rights.VisibilityNames[oldVisibility]
	switch {
	case p.Visibility == rights.Visible:
		return s.Hooks.Emit(c, kernel.TopicPostApproved, e)
	case p.Visibility == rights.Unapproved:
		e.Reason = &reason
		return s.Hooks.Emit(c, kernel.TopicPostHeld, e)
	case oldVisibility == rights.Unapproved:
		return s.Hooks.Emit(c, kernel.TopicPostRejected, e)
	}
	return s.Hooks.Emit(c, kernel.TopicPostDeleted, e)
}
