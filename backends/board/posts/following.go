package posts

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Modes are those of a subscription.
var Modes = []string{"instant", "daily", "weekly", "none"}

func (s *Service) subscribe(c store.Conn, a *rights.Actor, thread int64, mode string) error {
	return s.Follow(c, a, "thread", thread, mode)
}

// Follow lets the actor follow a thread or forum in a mode.
func (s *Service) Follow(c store.Conn, a *rights.Actor, target string, id int64, mode string) error {
	before, err := Subscribed(c, a.ID(), target, id)
	if err != nil {
		return err
	}
	_, err = c.Exec("INSERT INTO board_subscriptions (user_id, target, target_id, mode, created_at) VALUES (?, ?, ?, ?, ?)"+
		" ON CONFLICT (user_id, target, target_id) DO UPDATE SET mode = excluded.mode", a.ID(), target, id, mode, s.Moment())
	if err != nil {
		return err
	}
	return moveMail(c, a.ID(), target, id, before, mode, s.Now())
}

// Subscribe follows a thread.
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
		return s.subscribe(c, a, thread, mode)
	})
}

// Unsubscribe ends to follow a thread.
func (s *Service) Unsubscribe(ctx context.Context, a *rights.Actor, thread int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, err := content.ThreadFor(c, a, thread, ""); err != nil {
			return err
		}
		_, err := c.Exec("DELETE FROM board_subscriptions WHERE user_id = ? AND target = 'thread' AND target_id = ?", a.ID(), thread)
		return err
	})
}

// Subscription is a thread that a member follows.
type Subscription struct {
	Thread    *content.Thread
	Mode      string
	CreatedAt kernel.Moment
}

// MaxSubscriptions bounds the list of them.
const MaxSubscriptions = 1000

// Subscriptions lists the threads that the actor follows and sees.
func (s *Service) Subscriptions(ctx context.Context, a *rights.Actor) (list []Subscription, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		list = nil
		var all []Subscription
		err := c.All("SELECT "+content.ThreadColumns+", s.mode, s.created_at FROM board_subscriptions s JOIN board_threads t ON t.id = s.target_id"+
			" WHERE s.user_id = ? AND s.target = 'thread' ORDER BY s.target_id DESC LIMIT ?", []any{a.ID(), MaxSubscriptions}, func(r store.Row) error {
			var sub Subscription
			t, err := content.ScanThread(content.Tail{Row: r, More: []any{&sub.Mode, &sub.CreatedAt}})
			sub.Thread = t
			all = append(all, sub)
			return err
		})
		for _, sub := range all {
			if a.Sees(sub.Thread.Forum, sub.Thread.Author, sub.Thread.Author, sub.Thread.Visibility) {
				list = append(list, sub)
			}
		}
		return err
	})
	return list, err
}

// notify tells those who follow the thread of a visible post, and those who
// follow the forum of one that starts a thread. Who may not see it any more when
// they look is not shown it then. In a held thread only those who see it are
// told; catchUp tells the others.
func (s *Service) notify(c store.Conn, a *rights.Actor, t *content.Thread, post int64, starts bool) error {
	to := audience{}
	if t.Visibility != rights.Visible {
		var err error
		if to, err = s.seeing(c, t); err != nil {
			return err
		}
	}
	if err := s.notifyFollowers(c, a, t, post, "reply", "thread", t.ID, to); err != nil || !starts {
		return err
	}
	return s.notifyFollowers(c, a, t, post, "thread", "forum", t.Forum, audience{})
}

// audience are the members who are told, of those who follow.
type audience struct {
	some  bool // those of ids; false: all
	ids   []any
	modes []any // in which they follow; none: all
}

// sql is a condition on board_subscriptions s, which has the arguments args.
func (a audience) sql() (condition string) {
	if a.some {
		condition = " AND s.user_id IN (" + kernel.Marks(len(a.ids)) + ")"
	}
	if len(a.modes) > 0 {
		condition += " AND s.mode IN (" + kernel.Marks(len(a.modes)) + ")"
	}
	return condition
}

func (a audience) args() []any { return slices.Concat(a.ids, a.modes) }

const (
	// followersSeeing bounds how many followers of a thread that is or was held
	// are looked at one by one.
	followersSeeing = 1000
	// caughtUp bounds of how many replies in a thread that was held is told.
	caughtUp = 100
)

// seeing are the followers of a held thread who see it nevertheless.
func (s *Service) seeing(c store.Conn, t *content.Thread) (audience, error) {
	to := audience{some: true}
	access := s.rights.LastAccess()
	if access == nil {
		return to, nil
	}
	var users []*rights.User
	err := c.All("SELECT f.user_id, COALESCE(g.group_id, 0) FROM (SELECT user_id FROM board_subscriptions WHERE target = 'thread' AND target_id = ? AND mode <> 'none' ORDER BY user_id LIMIT ?) f"+
		" LEFT JOIN board_user_groups g ON g.user_id = f.user_id ORDER BY f.user_id, g.group_id", []any{t.ID, followersSeeing}, func(r store.Row) error {
		var user, group int64
		err := r.Scan(&user, &group)
		if n := len(users); n == 0 || users[n-1].ID != user {
			users = append(users, &rights.User{ID: user})
		}
		if last := users[len(users)-1]; group != 0 {
			last.Groups = append(last.Groups, group)
		}
		return err
	})
	for _, u := range users {
		if f := access.Of(u.ID, u.Groups).Forums[t.Forum]; (&rights.Actor{User: u}).Admits(f.Visible, f.Mask, t.Author, t.Author, t.Visibility) {
			to.ids = append(to.ids, u.ID)
		}
	}
	return to, err
}

// catchUp tells those who follow a thread that was held of the replies that they
// were not told of.
func (s *Service) catchUp(c store.Conn, t *content.Thread) error {
	if t.Replies == 0 {
		return nil
	}
	var replies []*content.Post
	err := c.All("SELECT "+content.PostColumns+" FROM board_posts p WHERE p.thread_id = ? AND p.visibility = 0 AND p.number > 1 AND p.created_at > ? ORDER BY p.id DESC LIMIT ?",
		[]any{t.ID, s.Now().Add(-KeepNotifications).UnixMicro(), caughtUp}, func(r store.Row) error {
			p, err := content.ScanPost(r)
			replies = append(replies, p)
			return err
		})
	if err != nil || len(replies) == 0 {
		return err
	}
	type pair struct{ user, post int64 }
	told := make(map[pair]bool)
	err = c.All("SELECT n.user_id, n.post_id FROM board_subscriptions s JOIN board_notifications n ON n.user_id = s.user_id"+
		" WHERE s.target = 'thread' AND s.target_id = ? AND s.mode <> 'none' AND n.thread_id = ? AND n.post_id >= ?", []any{t.ID, t.ID, replies[len(replies)-1].ID}, func(r store.Row) error {
		var p pair
		err := r.Scan(&p.user, &p.post)
		told[p] = true
		return err
	})
	if err != nil {
		return err
	}
	since := make(map[int64]kernel.Moment) // when followers began to follow
	err = c.All("SELECT user_id, created_at FROM board_subscriptions WHERE target = 'thread' AND target_id = ? AND mode <> 'none' ORDER BY user_id LIMIT ?", []any{t.ID, followersSeeing}, func(r store.Row) error {
		var user int64
		var at kernel.Moment
		err := r.Scan(&user, &at)
		since[user] = at
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(replies) {
		to := audience{some: true}
		for user, at := range since {
			if at <= p.Created && !told[pair{user, p.ID}] {
				to.ids = append(to.ids, user)
			}
		}
		if err := s.notifyFollowers(c, &rights.Actor{User: &rights.User{ID: p.Author, Name: p.AuthorName}}, t, p.ID, "reply", "thread", t.ID, to); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) notifyFollowers(c store.Conn, a *rights.Actor, t *content.Thread, post int64, kind, target string, id int64, to audience) error {
	if to.some && len(to.ids) == 0 {
		return nil
	}
	err := c.Later("INSERT INTO board_notifications (user_id, kind, thread_id, post_id, actor_name, created_at)"+
		" SELECT user_id, ?, ?, ?, ?, CAST(? AS BIGINT) FROM board_subscriptions s WHERE target = ? AND target_id = ? AND mode <> 'none' AND user_id <> ?"+to.sql(),
		append([]any{kind, t.ID, post, a.User.Name, s.Moment(), target, id, a.ID()}, to.args()...)...)
	if err != nil {
		return err
	}
	return s.queueMail(c, a, t.ID, post, target, id, to)
}

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
func (s *Service) Notifications(ctx context.Context, a *rights.Actor, after int64, limit int) (list []Notification, next int64, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		list, next = nil, 0
		last := after
		if last == 0 {
			last = math.MaxInt64
		}
		for range notificationBatches {
			var batch []Notification
			err := c.All(notificationsOf().SQL(c.Dialect()), []any{a.ID(), last, notificationBatch}, func(r store.Row) error {
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
		n, err = c.Exec("UPDATE board_notifications SET read_at = ? WHERE user_id = ? AND id <= ? AND read_at IS NULL", s.Moment(), a.ID(), upTo)
		return err
	})
	return n, err
}

// markRead notes up to which post the actor has read a thread, and when: who looks at an earlier
// page does not see there what has come behind it meanwhile.
func (s *Service) markRead(c store.Conn, a *rights.Actor, thread, post int64) error {
	return c.Later("INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (user_id, thread_id) DO UPDATE SET last_read_post_id = CASE WHEN excluded.last_read_post_id > board_thread_reads.last_read_post_id"+
		" THEN excluded.last_read_post_id ELSE board_thread_reads.last_read_post_id END,"+
		" read_at = CASE WHEN excluded.last_read_post_id >= board_thread_reads.last_read_post_id THEN excluded.read_at ELSE board_thread_reads.read_at END", a.ID(), thread, post, s.Moment())
}

// MarkRead notes up to which post the actor has read a thread, and that it has seen what
// it was told of until there.
func (s *Service) MarkRead(ctx context.Context, a *rights.Actor, thread, post int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		t, err := content.ThreadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		if post < 1 {
			return kernel.Invalid("postId", "unknown", "postId must be the id of a post")
		}
		if err := s.markRead(c, a, thread, min(post, t.Last)); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE board_notifications SET read_at = ? WHERE "+toldOf, s.Moment(), a.ID(), maxUnseen, thread, post)
		return err
	})
}

// toldOf are the notifications of a member that count as new, up to a post of a thread.
// It has the arguments user, limit, thread, post.
const toldOf = "id IN (SELECT w.id FROM (SELECT id, thread_id, post_id, read_at FROM board_notifications WHERE user_id = ? ORDER BY id DESC LIMIT ?) w" +
	" WHERE w.thread_id = ? AND w.post_id <= ? AND w.read_at IS NULL)"

// KeepNotifications is how long members are told of posts.
const KeepNotifications = 90 * 24 * time.Hour
