package board

import (
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// digestHour is when digests are sent, UTC; those of a week on Mondays.
const digestHour = 6

// instantDelay is how long an instant mail waits for further posts.
const instantDelay = 15 * time.Second

// mailDue is when posts of now are to be mailed in a mode.
func mailDue(mode string, now time.Time) time.Time {
	if mode != "daily" && mode != "weekly" {
		return now.Add(instantDelay)
	}
	now = now.UTC()
	due := time.Date(now.Year(), now.Month(), now.Day(), digestHour, 0, 0, 0, time.UTC)
	for !due.After(now) || mode == "weekly" && due.Weekday() != time.Monday {
		due = due.AddDate(0, 0, 1)
	}
	return due
}

// SubscribeForum follows a forum: the actor is told of new threads in it.
func (s *Service) SubscribeForum(ctx context.Context, a *rights.Actor, forum int64, mode string) error {
	return s.Write(ctx, func(c store.Conn) error {
		f, err := forumFor(c, a, forum)
		if err != nil {
			return err
		}
		switch {
		case a.User == nil || !a.Has(f.id, rights.ForumSubscribe):
			return kernel.Forbidden("forumId", "no_permission", "you may not subscribe in this forum")
		case f.kind != "forum":
			return kernel.Invalid("forumId", "not_a_forum", "a "+f.kind+" holds no threads")
		case !slices.Contains(Modes, mode):
			return kernel.Invalid("mode", "unknown", "mode must be instant, daily, weekly or none")
		}
		_, err = c.Exec("INSERT INTO board_subscriptions (user_id, target, target_id, mode, created_at) VALUES (?, 'forum', ?, ?, ?)"+
			" ON CONFLICT (user_id, target, target_id) DO UPDATE SET mode = excluded.mode", a.ID(), f.id, mode, s.Micros())
		return err
	})
}

// UnsubscribeForum ends to follow a forum.
func (s *Service) UnsubscribeForum(ctx context.Context, a *rights.Actor, forum int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, err := forumFor(c, a, forum); err != nil {
			return err
		}
		_, err := c.Exec("DELETE FROM board_subscriptions WHERE user_id = ? AND target = 'forum' AND target_id = ?", a.ID(), forum)
		return err
	})
}

// ForumSubscription is the mode in which the actor follows a forum, empty where
// it does not, and whether it may.
func (s *Service) ForumSubscription(ctx context.Context, a *rights.Actor, forum int64) (mode string, may bool, err error) {
	if a.User == nil {
		return "", false, nil
	}
	err = s.Read(ctx, func(c store.Conn) error {
		mode, err = subscribed(c, a.ID(), "forum", forum)
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
func (s *Service) FollowedForums(ctx context.Context, a *rights.Actor) (list []FollowedForum, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		list = nil
		return c.All("SELECT f.id, f.title, f.slug, s.mode FROM board_subscriptions s JOIN board_forums f ON f.id = s.target_id"+
			" WHERE s.user_id = ? AND s.target = 'forum' ORDER BY f.title, f.id LIMIT ?", []any{a.ID(), maxSubscriptions}, func(r store.Row) error {
			var f FollowedForum
			err := r.Scan(&f.ID, &f.Title, &f.Slug, &f.Mode)
			if a.In(f.ID).Visible {
				list = append(list, f)
			}
			return err
		})
	})
	return list, err
}
