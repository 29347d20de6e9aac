package following

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of notifications to the author of a post: members have reacted to the post, or the post was marked as the
// answer of its thread. These notifications are not mailed.
const (
	KindReaction = "reaction"
	KindAnswer   = "answer"
)

// NotifyAuthor notifies the author of a post of the actor's action on the post. It does nothing if the actor is the
// author, if the author ignores the actor, or if the author has switched off these notifications. kind is KindReaction
// or KindAnswer. The new notification replaces an unread one of the same kind about the same post.
func (s *Service) NotifyAuthor(c store.Conn, a *rights.Actor, kind string, t *content.Thread, p *content.Post) error {
	var enabled bool
	err := c.Row("SELECT EXISTS (SELECT 1 FROM board_users s WHERE s.id = ? AND s.id <> ? AND s.state <> 'deleted'"+
		" AND s.reaction_notices = 1"+notIgnored("s.id")+")", p.Author, a.ID(), a.ID()).Scan(&enabled)
	if err != nil || !enabled {
		return err
	}
	if err := RetractNotice(c, kind, p); err != nil {
		return err
	}
	_, err = c.Exec("INSERT INTO board_notifications (user_id, kind, thread_id, post_id, actor_name, created_at)"+
		" VALUES (?, ?, ?, ?, ?, ?)", p.Author, kind, t.ID, p.ID, a.User.Name, s.Moment())
	return err
}

// RetractNotice undoes NotifyAuthor: it deletes the author's unread notification of this kind about post p. It searches
// only the newest maxUnseen notifications of the author.
func RetractNotice(c store.Conn, kind string, p *content.Post) error {
	_, err := c.Exec("DELETE FROM board_notifications WHERE id IN (SELECT w.id FROM (SELECT id, kind, post_id, read_at"+
		" FROM board_notifications WHERE user_id = ? ORDER BY id DESC LIMIT ?) w"+
		" WHERE w.kind = ? AND w.post_id = ? AND w.read_at IS NULL)", p.Author, maxUnseen, kind, p.ID)
	return err
}

// countReactions sets the number of members who have reacted to the notification's post. If it was only one member,
// countReactions sets the member's name.
func (n *Notification) countReactions(c store.Conn) error {
	var name string
	err := c.Row("SELECT COALESCE((SELECT CAST(sum(n) AS BIGINT) FROM board_reaction_counts WHERE post_id = ?), 0),"+
		" COALESCE((SELECT u.username FROM board_reactions r JOIN board_users u ON u.id = r.user_id WHERE r.post_id = ?"+
		" ORDER BY r.user_id LIMIT 1), '')", n.Post, n.Post).Scan(&n.Count, &name)
	if n.Count == 1 {
		n.Actor = name
	}
	return err
}

// Notices reports whether the actor is notified when members react to the actor's posts, and when the actor's posts
// become answers.
func (s *Service) Notices(ctx context.Context, a *rights.Actor) (bool, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (enabled bool, err error) {
		return enabled, c.Row("SELECT reaction_notices = 1 FROM board_users WHERE id = ?", a.ID()).Scan(&enabled)
	})
}

// SetNotices sets whether the actor is notified of reactions and answers from now on.
func (s *Service) SetNotices(ctx context.Context, a *rights.Actor, enabled bool) error {
	return s.Exec(ctx, "UPDATE board_users SET reaction_notices = ? WHERE id = ?", kernel.Bool(enabled), a.ID())
}
