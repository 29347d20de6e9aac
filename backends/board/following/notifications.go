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

// KeepNotifications is how long members are told of posts.
const KeepNotifications = 90 * 24 * time.Hour

// Notification tells a member of a post.
type Notification struct {
	ID           int64
	Kind         string
	Thread, Post int64
	Actor        string
	Created      kernel.Moment
	Read         kernel.Moment
	Title        string
}

const (
	notificationBatch   = 100
	notificationBatches = 20 // looked through for one page, where much is hidden
)

// Notifications lists what the actor was told of and still sees, newest first.
func (s *Service) Notifications(
	ctx context.Context, a *rights.Actor, after int64, limit int,
) (list []Notification, next int64, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		list, next = nil, 0
		last := after
		if last == 0 {
			last = math.MaxInt64
		}
		for range notificationBatches {
			var batch []Notification
			err := c.All(NotificationsOf().SQL(c.Dialect()), []any{a.ID(), last, notificationBatch}, func(r store.Row) error {
				var n Notification
				err := r.Scan(&n.ID, &n.Kind, &n.Thread, &n.Post, &n.Actor, &n.Created, &n.Read)
				batch = append(batch, n)
				return err
			})
			if err != nil {
				return err
			}
			for _, n := range batch {
				if len(list) == limit {
					next = list[limit-1].ID
					return nil
				}
				last = n.ID
				t, _, err := content.PostByID(c, a, n.Post, "")
				if kernel.NotFoundErr(err) {
					continue
				}
				if err != nil {
					return err
				}
				n.Title = t.Title
				list = append(list, n)
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

// ReadNotifications marks notifications up to an id as read, and tells how many.
func (s *Service) ReadNotifications(ctx context.Context, a *rights.Actor, upTo int64) (n int64, err error) {
	err = s.Write(ctx, func(c store.Conn) (err error) {
		n, err = c.Exec("UPDATE board_notifications SET read_at = ? WHERE user_id = ? AND id <= ? AND read_at IS NULL",
			s.Moment(), a.ID(), upTo)
		return err
	})
	return n, err
}

// NotificationsOf returns the statement that lists notifications, newest first. It has the arguments user, id, limit.
func NotificationsOf() content.Listing {
	return content.Listing{
		Columns: "n.id, n.kind, n.thread_id, n.post_id, n.actor_name, n.created_at, COALESCE(n.read_at, 0)",
		From:    "board_notifications n", Index: "board_notifications_user",
		Where: "n.user_id = ? AND n.id < ?", Order: "n.id DESC",
	}
}

// maxUnseen is how many notifications are looked at to count them.
const maxUnseen = 99

// Unseen counts the notifications that the actor has not read and may still see.
func (s *Service) Unseen(ctx context.Context, a *rights.Actor) (n int, err error) {
	if a.User == nil {
		return 0, nil
	}
	err = s.Read(ctx, func(c store.Conn) error {
		n = 0
		return c.All("SELECT t.forum_id, COALESCE(t.author_id, 0), t.visibility, COALESCE(i.author_id, 0), i.visibility FROM"+
			" (SELECT post_id, thread_id, read_at FROM board_notifications WHERE user_id = ? ORDER BY id DESC LIMIT ?) w"+
			" JOIN board_post_ids i ON i.id = w.post_id JOIN board_threads t ON t.id = w.thread_id WHERE w.read_at IS NULL",
			[]any{a.ID(), maxUnseen}, func(r store.Row) error {
				var forum, owner, thread, author, post int64
				err := r.Scan(&forum, &owner, &thread, &author, &post)
				if a.Sees(forum, owner, owner, thread) && a.Sees(forum, owner, author, post) {
					n++
				}
				return err
			})
	})
	return n, err
}

// toldOf are the notifications of a member that count as new, up to a post of a thread.
// It has the arguments user, limit, thread, post.
const toldOf = "id IN (SELECT w.id FROM (SELECT id, thread_id, post_id, read_at FROM board_notifications" +
	" WHERE user_id = ? ORDER BY id DESC LIMIT ?) w" +
	" WHERE w.thread_id = ? AND w.post_id <= ? AND w.read_at IS NULL)"

// Told reports whether a member was told of posts of a thread, up to one of them, that count as new.
func Told(c store.Conn, a *rights.Actor, thread, post int64) (told bool, err error) {
	err = c.Row("SELECT EXISTS (SELECT 1 FROM board_notifications WHERE "+toldOf+")",
		a.ID(), maxUnseen, thread, post).Scan(&told)
	return told, err
}
