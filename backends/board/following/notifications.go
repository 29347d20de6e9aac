package following

import (
	"context"
	"math"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeepNotifications is the age at which notifications are deleted.
const KeepNotifications = 90 * 24 * time.Hour

// KindWarning is the kind of notifications about a warning for a post.
const KindWarning = "warning"

// Notification is a notification of a member about a post.
type Notification struct {
	ID           int64
	Kind         string // "reply", "thread", KindMention, KindReaction, KindAnswer or KindWarning
	Thread, Post int64
	Actor        string // the name of the member whose action the notification is about
	Created      kernel.Moment
	Read         kernel.Moment // 0 if the notification is unread
	Title        string        // of the thread
	Count        int64         // for reactions: how many members have reacted by now
}

const (
	notificationBatch   = 100 // how many notifications are read at once
	notificationBatches = 20  // the maximum number of batches for one page if many notifications are hidden
)

// Notifications lists the actor's notifications of posts that the actor still sees, newest first. cursor is the
// previous page's next, or 0 for the first page. next is 0 on the last page.
func (s *Service) Notifications(
	ctx context.Context, a *rights.Actor, cursor int64, limit int,
) (list []Notification, next int64, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		list, next = nil, 0
		last := cursor // the id of the last notification that was examined
		if last == 0 {
			last = math.MaxInt64
		}
		for range notificationBatches {
			batch, err := store.List(c, func(r store.Row) (n Notification, err error) {
				return n, r.Scan(&n.ID, &n.Kind, &n.Thread, &n.Post, &n.Actor, &n.Created, &n.Read)
			}, NotificationsOf().SQL(c.Dialect()), a.ID(), last, notificationBatch)
			if err != nil {
				return err
			}
			for _, n := range batch {
				if len(list) == limit { // n may begin the next page
					next = list[limit-1].ID
					return nil
				}
				last = n.ID
				shown, err := n.complete(c, a)
				if err != nil {
					return err
				}
				if shown {
					list = append(list, n)
				}
			}
			if len(batch) < notificationBatch {
				return nil
			}
		}
		next = last
		return nil
	})
	return list, next, err
}

// complete sets the fields that depend on the notification's post. shown is false if the actor no longer sees the post.
func (n *Notification) complete(c store.Conn, a *rights.Actor) (shown bool, err error) {
	t, _, err := content.PostByID(c, a, n.Post, "")
	if kernel.IsNotFound(err) {
		return n.Kind == KindWarning, nil // the member must see a warning although the post is deleted
	}
	if err != nil {
		return false, err
	}
	n.Title, n.Thread = t.Title, t.ID // the post may have been moved
	if n.Kind == KindReaction {
		err = n.countReactions(c)
	}
	return true, err
}

// ReadNotifications marks the actor's notifications with ids up to upTo as read, and returns how many of them were
// unread.
func (s *Service) ReadNotifications(ctx context.Context, a *rights.Actor, upTo int64) (int64, error) {
	return kernel.Value(ctx, s.Write, func(c store.Conn) (int64, error) {
		return c.Exec("UPDATE board_notifications SET read_at = ? WHERE user_id = ? AND id <= ? AND read_at IS NULL",
			s.Moment(), a.ID(), upTo)
	})
}

// NotificationsOf returns the query for the notifications of a user, newest first. Its arguments are the user's id,
// the id of a notification before which the list begins, and the limit.
func NotificationsOf() content.Listing {
	return content.Listing{
		Columns: "n.id, n.kind, n.thread_id, n.post_id, n.actor_name, n.created_at, COALESCE(n.read_at, 0)",
		From:    "board_notifications n", Index: "board_notifications_user",
		Where: "n.user_id = ? AND n.id < ?", Order: "n.id DESC",
	}
}

// maxUnseen is how many of the newest notifications Unseen examines.
const maxUnseen = 99

// Unseen counts the actor's unread notifications of posts that the actor still sees.
func (s *Service) Unseen(ctx context.Context, a *rights.Actor) (n int, err error) {
	if a.User == nil {
		return 0, nil
	}
	return kernel.Value(ctx, s.Read, func(c store.Conn) (n int, err error) {
		return n, c.All("SELECT t.forum_id, COALESCE(t.author_id, 0), t.visibility, COALESCE(i.author_id, 0), i.visibility, w.kind FROM"+
			" (SELECT post_id, kind, read_at FROM board_notifications WHERE user_id = ? ORDER BY id DESC LIMIT ?) w"+
			" JOIN board_post_ids i ON i.id = w.post_id JOIN board_threads t ON t.id = i.thread_id WHERE w.read_at IS NULL",
			[]any{a.ID(), maxUnseen}, func(r store.Row) error {
				var forum, threadAuthor, threadVisibility, postAuthor, postVisibility int64
				var kind string
				err := r.Scan(&forum, &threadAuthor, &threadVisibility, &postAuthor, &postVisibility, &kind)
				sees := a.Sees(forum, threadAuthor, threadAuthor, threadVisibility) &&
					a.Sees(forum, threadAuthor, postAuthor, postVisibility)
				if sees || kind == KindWarning {
					n++
				}
				return err
			})
	})
}

// unreadUpTo is the condition for a member's unread notifications about the posts of a thread up to a given post. Only
// the newest notifications are searched. Posts move between threads, so the thread of a notification is the current
// thread of its post. If the post was purged, thread_id is the thread. The arguments are user, limit, thread and post.
const unreadUpTo = "id IN (SELECT w.id FROM (SELECT id, thread_id, post_id, read_at FROM board_notifications" +
	" WHERE user_id = ? ORDER BY id DESC LIMIT ?) w LEFT JOIN board_post_ids i ON i.id = w.post_id" +
	" WHERE COALESCE(i.thread_id, w.thread_id) = ? AND w.post_id <= ? AND w.read_at IS NULL)"

// HasUnread reports whether the actor has unread notifications about the posts of a thread up to a given post. Only the
// newest notifications are searched.
func HasUnread(c store.Conn, a *rights.Actor, thread, post int64) (unread bool, err error) {
	err = c.Row("SELECT EXISTS (SELECT 1 FROM board_notifications WHERE "+unreadUpTo+")",
		a.ID(), maxUnseen, thread, post).Scan(&unread)
	return unread, err
}
