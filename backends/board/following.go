package board

import (
	"context"
	"math"
	"slices"
)

// Modes are those of a subscription.
var Modes = []string{"instant", "daily", "weekly", "none"}

func (s *Service) subscribe(c conn, a *Actor, thread int64, mode string) error {
	_, err := c.exec("INSERT INTO board_subscriptions (user_id, target, target_id, mode, created_at) VALUES (?, 'thread', ?, ?, ?)"+
		" ON CONFLICT (user_id, target, target_id) DO UPDATE SET mode = excluded.mode", a.id(), thread, mode, s.micros())
	return err
}

// Subscribe follows a thread.
func (s *Service) Subscribe(ctx context.Context, a *Actor, thread int64, mode string) error {
	return s.write(ctx, func(c conn) error {
		t, err := threadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		if !a.may(t.forum, ForumSubscribe) {
			return forbidden("threadId", "no_permission", "you may not subscribe in this forum")
		}
		if !slices.Contains(Modes, mode) {
			return invalid("mode", "unknown", "mode must be instant, daily, weekly or none")
		}
		return s.subscribe(c, a, thread, mode)
	})
}

// Unsubscribe ends to follow a thread.
func (s *Service) Unsubscribe(ctx context.Context, a *Actor, thread int64) error {
	return s.write(ctx, func(c conn) error {
		if _, err := threadFor(c, a, thread, ""); err != nil {
			return err
		}
		_, err := c.exec("DELETE FROM board_subscriptions WHERE user_id = ? AND target = 'thread' AND target_id = ?", a.id(), thread)
		return err
	})
}

// Subscription is a thread that a member follows.
type Subscription struct {
	thread    *thread
	mode      string
	createdAt int64
}

// maxSubscriptions bounds the list of them.
const maxSubscriptions = 1000

// Subscriptions lists the threads that the actor follows and sees.
func (s *Service) Subscriptions(ctx context.Context, a *Actor) (list []Subscription, err error) {
	err = s.read(ctx, func(c conn) error {
		list = nil
		var all []Subscription
		err := c.all("SELECT "+threadColumns+", s.mode, s.created_at FROM board_subscriptions s JOIN board_threads t ON t.id = s.target_id"+
			" WHERE s.user_id = ? AND s.target = 'thread' ORDER BY s.target_id DESC LIMIT ?", []any{a.id(), maxSubscriptions}, func(r row) error {
			var sub Subscription
			t, err := scanThread(scanTail{r, []any{&sub.mode, &sub.createdAt}})
			sub.thread = t
			all = append(all, sub)
			return err
		})
		for _, sub := range all {
			if a.sees(sub.thread.forum, sub.thread.author, sub.thread.author, sub.thread.visibility) {
				list = append(list, sub)
			}
		}
		return err
	})
	return list, err
}

// scanTail scans further columns behind those of a row.
type scanTail struct {
	row
	more []any
}

func (s scanTail) Scan(into ...any) error { return s.row.Scan(append(into, s.more...)...) }

// notify tells those who follow the thread of a visible post, and those who
// follow the forum of one that starts a thread. Who may not see it any more when
// they look is not shown it then.
func (s *Service) notify(c conn, a *Actor, t *thread, post int64, starts bool) error {
	if err := s.notifyFollowers(c, a, t, post, "reply", "thread", t.id); err != nil || !starts {
		return err
	}
	return s.notifyFollowers(c, a, t, post, "thread", "forum", t.forum)
}

func (s *Service) notifyFollowers(c conn, a *Actor, t *thread, post int64, kind, target string, id int64) error {
	n, err := c.exec("INSERT INTO board_notifications (user_id, kind, thread_id, post_id, actor_name, created_at)"+
		" SELECT user_id, ?, ?, ?, ?, CAST(? AS BIGINT) FROM board_subscriptions WHERE target = ? AND target_id = ? AND mode <> 'none' AND user_id <> ?",
		kind, t.id, post, a.User.Name, s.micros(), target, id, a.id())
	if err != nil || n == 0 {
		return err
	}
	return s.queueMail(c, a, t.id, post, target, id)
}

// Notification tells a member of a post.
type Notification struct {
	id           int64
	kind         string
	thread, post int64
	actor        string
	created      int64
	read         int64
	title        string
}

const (
	notificationBatch   = 100
	notificationBatches = 20 // looked through for one page, where much is hidden
)

// Notifications lists what the actor was told of and still sees, newest first.
func (s *Service) Notifications(ctx context.Context, a *Actor, after int64, limit int) (list []Notification, next int64, err error) {
	err = s.read(ctx, func(c conn) error {
		list, next = nil, 0
		last := after
		if last == 0 {
			last = math.MaxInt64
		}
		for range notificationBatches {
			var batch []Notification
			err := c.all(notificationsOf().sql(c.db.Dialect()), []any{a.id(), last, notificationBatch}, func(r row) error {
				var n Notification
				err := r.Scan(&n.id, &n.kind, &n.thread, &n.post, &n.actor, &n.created, &n.read)
				batch = append(batch, n)
				return err
			})
			if err != nil {
				return err
			}
			for _, n := range batch {
				if len(list) == limit {
					next = list[limit-1].id
					return nil
				}
				last = n.id
				t, _, err := postByID(c, a, n.post, "")
				if notFoundErr(err) {
					continue
				}
				if err != nil {
					return err
				}
				n.title = t.title
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
func (s *Service) ReadNotifications(ctx context.Context, a *Actor, upTo int64) (n int64, err error) {
	err = s.write(ctx, func(c conn) (err error) {
		n, err = c.exec("UPDATE board_notifications SET read_at = ? WHERE user_id = ? AND id <= ? AND read_at IS NULL", s.micros(), a.id(), upTo)
		return err
	})
	return n, err
}

func (s *Service) markRead(c conn, a *Actor, thread, post int64) error {
	_, err := c.exec("INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (user_id, thread_id) DO UPDATE SET last_read_post_id = CASE WHEN excluded.last_read_post_id > board_thread_reads.last_read_post_id"+
		" THEN excluded.last_read_post_id ELSE board_thread_reads.last_read_post_id END, read_at = excluded.read_at", a.id(), thread, post, s.micros())
	return err
}

// MarkRead notes up to which post the actor has read a thread.
func (s *Service) MarkRead(ctx context.Context, a *Actor, thread, post int64) error {
	return s.write(ctx, func(c conn) error {
		t, err := threadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		if post < 1 {
			return invalid("postId", "unknown", "postId must be the id of a post")
		}
		return s.markRead(c, a, thread, min(post, t.last))
	})
}
