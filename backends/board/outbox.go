package board

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

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

	// topicTest is of the deliveries that an administrator asks for.
	topicTest = "webhook.test"
)

// Topics are all that a webhook can be told of.
var Topics = []string{
	TopicThreadCreated, TopicPostCreated, TopicPostHeld, TopicPostApproved, TopicPostRejected, TopicPostEdited, TopicPostDeleted,
	TopicUserRegistered, TopicReportCreated,
}

// event is the body of a delivery. It names things and leaves their text away:
// who may read that asks the API for it.
type event struct {
	Event     string `json:"event"` // the same for every webhook
	Topic     string `json:"topic"`
	CreatedAt string `json:"createdAt"`
	Data      any    `json:"data"`
}

// postEvent tells of a post. A held or deleted one is told of too.
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

// emit writes a delivery for each webhook that has the topic, with the change
// that it tells of: one is not there without the other. Where no webhook has
// it, nothing is written.
func (s *Service) emit(c store.Conn, topic string, data any) error {
	return s.deliverTo(c, topic, data, "enabled = 1 AND topics LIKE ?", "% "+topic+" %")
}

// deliverTo writes a delivery for the webhooks of a condition.
func (s *Service) deliverTo(c store.Conn, topic string, data any, where string, args ...any) error {
	now := s.Micros()
	e := event{Event: "evt_" + rand.Text(), Topic: topic, CreatedAt: kernel.WireTime(now), Data: data}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return c.Later("INSERT INTO board_webhook_deliveries (webhook_id, event, topic, body, next_at, created_at)"+
		" SELECT id, ?, ?, ?, CAST(? AS BIGINT), CAST(? AS BIGINT) FROM board_webhooks WHERE "+where, append([]any{e.Event, topic, string(body), now, now}, args...)...)
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
		return s.emit(c, TopicPostHeld, e)
	}
	if p.number == 1 {
		if err := s.emit(c, TopicThreadCreated, e); err != nil {
			return err
		}
	}
	return s.emit(c, TopicPostCreated, e)
}

// emitSettled tells of a post that has gone from a visibility to another one.
func (s *Service) emitSettled(c store.Conn, t *thread, p *post, from int64, reason string) error {
	e := eventOf(t, p)
	e.PreviousVisibility = &rights.VisibilityNames[from]
	switch {
	case p.visibility == rights.Visible:
		return s.emit(c, TopicPostApproved, e)
	case p.visibility == rights.Unapproved:
		e.Reason = &reason
		return s.emit(c, TopicPostHeld, e)
	case from == rights.Unapproved:
		return s.emit(c, TopicPostRejected, e)
	}
	return s.emit(c, TopicPostDeleted, e)
}

// emitRegistered tells of a new member.
func (s *Service) emitRegistered(c store.Conn, user int64) error {
	var e userEvent
	err := c.Row("SELECT id, username, state FROM board_users WHERE id = ?", user).Scan(&e.UserID, &e.Username, &e.State)
	if err != nil {
		return err
	}
	return s.emit(c, TopicUserRegistered, e)
}

// topicList is topics as they are stored: each between spaces.
func topicList(topics []string) (string, error) {
	var kept []string
	for _, topic := range topics {
		if !slices.Contains(Topics, topic) {
			return "", kernel.Invalid("topics", "unknown", "there is no topic "+kernel.Brief(topic))
		}
		if !slices.Contains(kept, topic) {
			kept = append(kept, topic)
		}
	}
	if len(kept) == 0 {
		return "", kernel.Invalid("topics", "required", "choose at least one topic")
	}
	slices.Sort(kept)
	return " " + strings.Join(kept, " ") + " ", nil
}
