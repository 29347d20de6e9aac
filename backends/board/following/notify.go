package following

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Notify notifies the followers of the thread of a visible post. If starts is set, the post starts the thread, and
// Notify also notifies the followers of the forum. Notifications of posts that a member may no longer see are hidden
// when they are listed. In a held thread only followers who see the thread are notified; CatchUp notifies the others.
func (s *Service) Notify(c store.Conn, a *rights.Actor, t *content.Thread, post int64, starts bool) error {
	recipients := audience{}
	if t.Visibility != rights.Visible {
		var err error
		if recipients, err = s.followersWhoSee(c, t); err != nil {
			return err
		}
	}
	if err := s.notifyFollowers(c, a, t, post, "reply", "thread", t.ID, recipients); err != nil || !starts {
		return err
	}
	return s.notifyFollowers(c, a, t, post, "thread", "forum", t.Forum, audience{})
}

// audience selects the followers to be notified of a post.
type audience struct {
	limited bool // only the followers in ids; otherwise all
	ids     []any
	// edited is the time of the edit by which the post was held, and written is the time at which the post was written. If
	// edited is set, only those followers are selected for whom the mail about the post was not due before the edit.
	edited, written kernel.Moment
}

// sql returns a condition on board_subscriptions s and, if edited is set, board_users u. Its arguments are the result
// of the method args. The condition excludes members who ignore the author of the post.
func (a audience) sql() (condition string) {
	if a.limited {
		condition = " AND s.user_id IN (" + kernel.Marks(len(a.ids)) + ")"
	}
	if a.edited != 0 {
		condition += " AND CAST(? AS BIGINT) < " + digestDue
	}
	return condition + notIgnored("s.user_id")
}

// args returns the arguments of the condition that sql returns. author is the id of the post's author.
func (a audience) args(author int64) []any {
	args := slices.Clone(a.ids)
	if a.edited != 0 {
		args = append(args, int64(a.edited-a.written), a.written, a.written)
	}
	return append(args, author)
}

const (
	// maxFollowersChecked limits the followers who are checked one by one in a thread that is or was held.
	maxFollowersChecked = 1000
	// maxCaughtUp is the maximum number of replies about which one call of CatchUp notifies followers.
	maxCaughtUp = 100
)

// followersWhoSee selects the followers of a held thread who see the thread nevertheless.
func (s *Service) followersWhoSee(c store.Conn, t *content.Thread) (audience, error) {
	recipients := audience{limited: true}
	access := s.rights.LastAccess()
	if access == nil {
		return recipients, nil
	}
	var users []*rights.User
	err := c.All("SELECT f.user_id, COALESCE(g.group_id, 0) FROM (SELECT user_id FROM board_subscriptions"+
		" WHERE target = 'thread' AND target_id = ? AND mode <> 'none' ORDER BY user_id LIMIT ?) f"+
		" LEFT JOIN board_user_groups g ON g.user_id = f.user_id ORDER BY f.user_id, g.group_id",
		[]any{t.ID, maxFollowersChecked}, func(r store.Row) error {
			var user, group int64 // a user has a row for each group, or one row with group 0
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
		f, follower := access.Of(u.ID, u.Groups).Forums[t.Forum], &rights.Actor{User: u}
		if follower.SeesWith(f.Visible, f.Mask, t.Author, t.Author, t.Visibility) {
			recipients.ids = append(recipients.ids, u.ID)
		}
	}
	return recipients, err
}

// CatchUp tells the followers of a thread that was held until now about its newest visible replies. It leaves out
// replies of which a follower has a notification already, and replies that are older than the follower's subscription.
func (s *Service) CatchUp(c store.Conn, t *content.Thread) error {
	if t.Replies == 0 {
		return nil
	}
	replies, err := store.List(c, content.ScanPost, "SELECT "+
		content.PostColumns+" FROM board_posts p WHERE p.thread_id = ? AND p.visibility = 0"+
		" AND p.number > 1 AND p.created_at > ? ORDER BY p.id DESC LIMIT ?", t.ID,
		s.Now().Add(-KeepNotifications).UnixMicro(), maxCaughtUp)
	if err != nil || len(replies) == 0 {
		return err
	}
	type pair struct{ user, post int64 }
	notified := make(map[pair]bool) // the followers who have a notification of a post already
	err = c.All("SELECT n.user_id, n.post_id FROM board_subscriptions s"+
		" JOIN board_notifications n ON n.user_id = s.user_id JOIN board_post_ids i ON i.id = n.post_id"+
		" WHERE s.target = 'thread' AND s.target_id = ? AND s.mode <> 'none' AND i.thread_id = ? AND n.post_id >= ?",
		[]any{t.ID, t.ID, replies[len(replies)-1].ID}, func(r store.Row) error {
			var p pair
			err := r.Scan(&p.user, &p.post)
			notified[p] = true
			return err
		})
	if err != nil {
		return err
	}
	subscriptionTimes := make(map[int64]kernel.Moment) // when each follower began to follow
	err = c.All("SELECT user_id, created_at FROM board_subscriptions WHERE target = 'thread' AND target_id = ?"+
		" AND mode <> 'none' ORDER BY user_id LIMIT ?", []any{t.ID, maxFollowersChecked}, func(r store.Row) error {
		var user int64
		var subscribed kernel.Moment
		err := r.Scan(&user, &subscribed)
		subscriptionTimes[user] = subscribed
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(replies) { // the oldest first
		followers := audience{limited: true}
		for user, subscribed := range subscriptionTimes {
			if subscribed <= p.Created && !notified[pair{user, p.ID}] {
				followers.ids = append(followers.ids, user)
			}
		}
		author := &rights.User{ID: p.Author, Name: p.AuthorName}
		if err := s.notifyFollowers(c, &rights.Actor{User: author}, t, p.ID, "reply", "thread", t.ID, followers); err != nil {
			return err
		}
		if err := s.Mention(c, author, t, p.ID, p.Mentioned()); err != nil {
			return err
		}
	}
	return nil
}

// notifyFollowers adds notifications of the given kind about a post, and queues mails about the post. target is
// "thread" or "forum", and id is the id of that thread or forum. The notifications and mails are for those of its
// followers whom recipients selects.
func (s *Service) notifyFollowers(
	c store.Conn, a *rights.Actor, t *content.Thread, post int64, kind, target string, id int64, recipients audience,
) error {
	if recipients.limited && len(recipients.ids) == 0 {
		return nil
	}
	err := c.Later("INSERT INTO board_notifications (user_id, kind, thread_id, post_id, actor_name, created_at)"+
		" SELECT user_id, ?, ?, ?, ?, CAST(? AS BIGINT) FROM board_subscriptions s WHERE target = ? AND target_id = ?"+
		" AND mode <> 'none' AND user_id <> ?"+recipients.sql(),
		append([]any{kind, t.ID, post, a.User.Name, s.Moment(), target, id, a.ID()}, recipients.args(a.ID())...)...)
	if err != nil {
		return err
	}
	return s.queueMail(c, a, t.ID, post, target, id, recipients)
}
