package following

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SubscribeForum subscribes the actor to a forum, so that it is notified of new threads there.
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
			return kernel.Invalid("forumId", "not_a_forum", "a "+f.Kind+" holds no threads")
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

// ForumSubscription returns the mode of the actor's subscription to a forum, or an empty string if there is none,
// and whether the actor may subscribe.
func (s *Service) ForumSubscription(
	ctx context.Context, a *rights.Actor, forum int64,
) (mode string, may bool, err error) {
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
