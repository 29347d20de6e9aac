package posts

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
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

type reportEvent struct {
	ReportID       int64  `json:"reportId"`
	ForumID        int64  `json:"forumId"`
	ThreadID       int64  `json:"threadId"`
	PostID         int64  `json:"postId"`
	ReporterUserID int64  `json:"reporterUserId"`
	Reason         string `json:"reason"`
}

func eventOf(t *content.Thread, p *content.Post) postEvent {
	return postEvent{
		ForumID: t.Forum, ThreadID: t.ID, ThreadTitle: t.Title, PostID: p.ID, Number: p.Number,
		AuthorUserID: kernel.OrNull(p.Author), AuthorUsername: p.AuthorName, Visibility: rights.VisibilityNames[p.Visibility],
	}
}

// emitPosted tells of a new post, and of the thread that it starts.
func (s *Service) emitPosted(c store.Conn, t *content.Thread, p *content.Post, held string) error {
	e := eventOf(t, p)
	if p.Visibility != rights.Visible {
		e.Reason = &held
		return s.Hooks.Emit(c, TopicPostHeld, e)
	}
	if p.Number == 1 {
		if err := s.Hooks.Emit(c, TopicThreadCreated, e); err != nil {
			return err
		}
	}
	return s.Hooks.Emit(c, TopicPostCreated, e)
}

// emitSettled tells of a post that has gone from a visibility to another one.
func (s *Service) emitSettled(c store.Conn, t *content.Thread, p *content.Post, from int64, reason string) error {
	e := eventOf(t, p)
	e.PreviousVisibility = &rights.VisibilityNames[from]
	switch {
	case p.Visibility == rights.Visible:
		return s.Hooks.Emit(c, TopicPostApproved, e)
	case p.Visibility == rights.Unapproved:
		e.Reason = &reason
		return s.Hooks.Emit(c, TopicPostHeld, e)
	case from == rights.Unapproved:
		return s.Hooks.Emit(c, TopicPostRejected, e)
	}
	return s.Hooks.Emit(c, TopicPostDeleted, e)
}

// MaxWebhooks bounds what every change may have to write.
const MaxWebhooks = 20

// NewHooks are the webhooks of a board.
func NewHooks(b *kernel.Server) *webhook.Hooks {
	return webhook.New(webhook.Options{
		DB: b.DB, Prefix: "board", Headers: "X-Board", Agent: "Tollgate-Board", Topics: Topics, Most: MaxWebhooks,
		Keyring: func() (keyring.Keyring, error) { return keyringOf(b) }, Now: func() time.Time { return b.Now() },
	})
}

// keyringOf is what encrypts secrets; nil: there is none.
func keyringOf(b *kernel.Server) (keyring.Keyring, error) {
	if b.Options.Keyring == nil {
		return nil, nil //nolint:nilnil // a board need not have one
	}
	ring, err := b.Options.Keyring()
	if err != nil {
		return nil, apierror.Unavailable("the keyring", err)
	}
	return ring, nil
}
