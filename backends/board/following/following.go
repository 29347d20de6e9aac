// Package following manages subscriptions of members to threads and forums, notifications of new posts there, the queue
// of mails about these posts, and how far each member has read each thread.
package following

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Service manages subscriptions, notifications and reading positions of a board's members.
type Service struct {
	*kernel.Server
	rights *rights.Service
}

// New returns the Service of a board.
func New(board *kernel.Server, actors *rights.Service) *Service {
	return &Service{Server: board, rights: actors}
}

// These are the targets of subscriptions.
const (
	Thread = "thread"
	Forum  = "forum"
)

// Modes lists the modes of a subscription.
var Modes = []string{"instant", "daily", "weekly", "none"}

// Follow subscribes the actor to the thread or forum with this id, or changes the mode of the subscription. target is
// "thread" or "forum". Mails that are waiting move to the new mode.
func (s *Service) Follow(c store.Conn, a *rights.Actor, target string, id int64, mode string) error {
	previous, err := Subscribed(c, a.ID(), target, id)
	if err != nil {
		return err
	}
	_, err = c.Exec("INSERT INTO board_subscriptions (user_id, target, target_id, mode, created_at)"+
		" VALUES (?, ?, ?, ?, ?)"+
		" ON CONFLICT (user_id, target, target_id) DO UPDATE SET mode = excluded.mode", a.ID(), target, id, mode, s.Moment())
	if err != nil {
		return err
	}
	return moveMail(c, a.ID(), target, id, previous, mode, s.Now())
}

// Subscribe subscribes the actor to a thread, in one of the Modes. It returns an error if the actor does not see the
// thread or may not subscribe in the thread's forum.
func (s *Service) Subscribe(ctx context.Context, a *rights.Actor, thread int64, mode string) error {
	return s.Write(ctx, func(c store.Conn) error {
		t, err := content.ThreadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		if !a.Has(t.Forum, rights.ForumSubscribe) {
			return kernel.Forbidden("threadId", "no_permission", "you may not subscribe in this forum")
		}
		if !slices.Contains(Modes, mode) {
			return kernel.Invalid("mode", "unknown", "mode must be instant, daily, weekly or none")
		}
		return s.Follow(c, a, Thread, thread, mode)
	})
}

// Unsubscribe ends the actor's subscription to a thread.
func (s *Service) Unsubscribe(ctx context.Context, a *rights.Actor, thread int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, err := content.ThreadFor(c, a, thread, ""); err != nil {
			return err
		}
		_, err := c.Exec("DELETE FROM board_subscriptions WHERE user_id = ? AND target = 'thread' AND target_id = ?",
			a.ID(), thread)
		return err
	})
}

// Subscription is a thread with a member's subscription to it.
type Subscription struct {
	Thread    *content.Thread
	Mode      string
	CreatedAt kernel.Moment
}

// MaxSubscriptions limits lists of subscriptions.
const MaxSubscriptions = 1000

// Subscriptions lists the actor's subscriptions to threads that the actor sees.
func (s *Service) Subscriptions(ctx context.Context, a *rights.Actor) ([]Subscription, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []Subscription, err error) {
		list, err = store.List(c, func(r store.Row) (sub Subscription, err error) {
			sub.Thread, err = content.ScanThread(content.Tail{Row: r, More: []any{&sub.Mode, &sub.CreatedAt}})
			return sub, err
		}, "SELECT "+content.ThreadColumns+", s.mode, s.created_at FROM board_subscriptions s"+
			" JOIN board_threads t ON t.id = s.target_id"+
			" WHERE s.user_id = ? AND s.target = 'thread' ORDER BY s.target_id DESC LIMIT ?", a.ID(), MaxSubscriptions)
		return slices.DeleteFunc(list, func(sub Subscription) bool {
			t := sub.Thread
			return !a.Sees(t.Forum, t.Author, t.Author, t.Visibility)
		}), err
	})
}

// Subscribed returns the mode of a member's subscription to the thread or forum with this id, or an empty string if the
// member is not subscribed. target is "thread" or "forum".
func Subscribed(c store.Conn, user int64, target string, id int64) (mode string, err error) {
	err = c.Row("SELECT mode FROM board_subscriptions WHERE user_id = ? AND target = ? AND target_id = ?",
		user, target, id).Scan(&mode)
	return mode, kernel.IgnoreNoRows(err)
}

// SubscribeForum subscribes the actor to a forum, that is, to notifications of new threads in it.
func (s *Service) SubscribeForum(ctx context.Context, a *rights.Actor, forum int64, mode string) error {
	return s.Write(ctx, func(c store.Conn) error {
		f, err := content.ForumFor(c, a, forum)
		if err != nil {
			return err
		}
		switch {
		case a.User == nil || !a.Has(f.ID, rights.ForumSubscribe):
			return kernel.Forbidden("forumId", "no_permission", "you may not subscribe in this forum")
		case f.Kind != "forum":
			return kernel.Invalid("forumId", "not_a_forum", "a "+f.Kind+" cannot contain threads")
		case !slices.Contains(Modes, mode):
			return kernel.Invalid("mode", "unknown", "mode must be instant, daily, weekly or none")
		}
		return s.Follow(c, a, Forum, f.ID, mode)
	})
}

// UnsubscribeForum ends the actor's subscription to a forum.
func (s *Service) UnsubscribeForum(ctx context.Context, a *rights.Actor, forum int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, err := content.ForumFor(c, a, forum); err != nil {
			return err
		}
		_, err := c.Exec("DELETE FROM board_subscriptions WHERE user_id = ? AND target = 'forum' AND target_id = ?",
			a.ID(), forum)
		return err
	})
}

// ForumSubscription returns the mode of the actor's subscription to a forum, or an empty string if the actor is not
// subscribed. maySubscribe reports whether the actor may subscribe to the forum.
func (s *Service) ForumSubscription(
	ctx context.Context, a *rights.Actor, forum int64,
) (mode string, maySubscribe bool, err error) {
	if a.User == nil {
		return "", false, nil
	}
	err = s.Read(ctx, func(c store.Conn) error {
		mode, err = Subscribed(c, a.ID(), Forum, forum)
		return err
	})
	return mode, a.Has(forum, rights.ForumSubscribe), err
}

// FollowedForum is a forum that a member follows.
type FollowedForum struct {
	ID    int64
	Title string
	Slug  string
	Mode  string
}

// FollowedForums lists the forums that the actor follows and sees.
func (s *Service) FollowedForums(ctx context.Context, a *rights.Actor) ([]FollowedForum, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []FollowedForum, err error) {
		return list, c.All("SELECT f.id, f.title, f.slug, s.mode FROM board_subscriptions s"+
			" JOIN board_forums f ON f.id = s.target_id"+
			" WHERE s.user_id = ? AND s.target = 'forum' ORDER BY f.title, f.id LIMIT ?",
			[]any{a.ID(), MaxSubscriptions}, func(r store.Row) error {
				var f FollowedForum
				err := r.Scan(&f.ID, &f.Title, &f.Slug, &f.Mode)
				if a.In(f.ID).Visible {
					list = append(list, f)
				}
				return err
			})
	})
}
