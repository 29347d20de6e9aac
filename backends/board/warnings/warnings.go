// Package warnings implements warnings of members, and moderators' notes about members. The points of a warning have
// consequences while they count. Only moderators see the notes.
package warnings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Service records warnings and notes.
type Service struct {
	*kernel.Server
	rights *rights.Service
}

// New returns the Service of a board.
func New(board *kernel.Server, rights *rights.Service) *Service {
	return &Service{Server: board, rights: rights}
}

const (
	// MaxPoints is the maximum number of points for one warning.
	MaxPoints = 100
	// MaxDays is the maximum number of days after which a warning expires. A warning can also count for ever.
	MaxDays = 3650
	// maxRows limits how many warnings, and how many notes, of a member are read.
	maxRows = 200
)

// Warning is a warning to a member for a post.
type Warning struct {
	ID, Member, Post, Forum int64
	ActorName               string // the moderator
	Reason                  string
	Points                  int64
	Created                 kernel.Moment
	Expires                 kernel.Moment // 0: never
	Suspended               kernel.Moment // the end of the suspension that the warning caused, or 0
	Withdrawn               kernel.Moment // 0: not withdrawn
	WithdrawnBy             string
}

// Counts reports whether the warning's points count at the time now.
func (w Warning) Counts(now kernel.Moment) bool {
	return w.Withdrawn == 0 && (w.Expires == 0 || w.Expires > now)
}

// Request is a request to warn the author of a post.
type Request struct {
	Post   int64
	Reason string
	Points int64 // 0 has no consequences
	Days   int64 // for which it counts; 0: for ever
}

// MayWarn returns an error unless the actor may warn the author of a post that the actor sees. The actor must be able
// to approve posts in the forum, and the author must be another member who cannot.
func (s *Service) MayWarn(c store.Conn, a *rights.Actor, t *content.Thread, p *content.Post) error {
	if !a.Has(t.Forum, rights.ContentApprove) {
		return kernel.Forbidden("postId", "no_permission", "you may not warn members in this forum")
	}
	if err := a.CheckSuspended(s.Moment()); err != nil {
		return err
	}
	if p.Author == 0 || a.Owns(p.Author) {
		return kernel.Forbidden("postId", "no_member", "only another member can be warned for a post")
	}
	author, err := rights.LoadUser(c, p.Author)
	if err != nil {
		return err
	}
	if author.State == "deleted" {
		return kernel.Forbidden("postId", "no_member", "the author of this post is not a member any more")
	}
	if a.Rights.Access.Of(author.ID, author.Groups).Forums[t.Forum].Mask.Has(rights.ContentApprove) {
		return kernel.Forbidden("postId", "moderator", "moderators of this forum cannot be warned in it")
	}
	return nil
}

// Warn warns the author of a post and notifies the member. If the member's points then reach a limit of the settings,
// all posts of the member are held, or the member is suspended.
func (s *Service) Warn(ctx context.Context, a *rights.Actor, request Request) (w Warning, err error) {
	reason, err := kernel.CheckReason(request.Reason)
	switch {
	case err != nil:
		return w, err
	case reason == "":
		return w, kernel.Invalid("reason", "required", "tell the member the reason")
	case request.Points < 0 || request.Points > MaxPoints:
		return w, kernel.Invalid("points", "range", fmt.Sprintf("a warning has 0 to %d points", MaxPoints))
	case request.Days < 0 || request.Days > MaxDays:
		return w, kernel.Invalid("days", "range", fmt.Sprintf("a warning counts for 1 to %d days, or for ever if you enter 0",
			MaxDays))
	}
	err = s.Write(ctx, func(c store.Conn) error {
		t, p, err := content.PostByID(c, a, request.Post, "")
		if err != nil {
			return err
		}
		if err := s.MayWarn(c, a, t, p); err != nil {
			return err
		}
		// The row of the member is locked, so that concurrent warnings are all counted.
		var suspendedUntil kernel.Moment
		if err := c.Row("SELECT COALESCE(suspended_until, 0) FROM board_users WHERE id = ?"+c.Lock(),
			p.Author).Scan(&suspendedUntil); err != nil {
			return err
		}
		now := s.Moment()
		w = Warning{
			Member: p.Author, Post: p.ID, Forum: t.Forum, ActorName: a.User.Name, Reason: reason, Points: request.Points,
			Created: now,
		}
		if request.Days > 0 {
			w.Expires = now.Add(time.Duration(request.Days) * 24 * time.Hour)
		}
		if err := c.Row("INSERT INTO board_warnings (user_id, post_id, forum_id, actor_id, actor_name, reason, points,"+
			" created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
			w.Member, w.Post, w.Forum, a.ID(), w.ActorName, w.Reason, w.Points, w.Created, w.Expires).Scan(&w.ID); err != nil {
			return err
		}
		totalPoints, err := s.updateModeratedUntil(c, a, w.Member)
		if err != nil {
			return err
		}
		if err := s.suspend(c, a, &w, totalPoints, suspendedUntil); err != nil {
			return err
		}
		if err := s.rights.Logged(c, a, "member.warn", rights.ContentApprove, w.Forum, t.ID, w.Post,
			fmt.Sprintf("%s, %d points: %s", kernel.ForLog(p.AuthorName), w.Points, w.Reason)); err != nil {
			return err
		}
		_, err = c.Exec("INSERT INTO board_notifications (user_id, kind, thread_id, post_id, actor_name, created_at)"+
			" VALUES (?, ?, ?, ?, ?, ?)", w.Member, following.KindWarning, t.ID, w.Post, a.User.Name, now)
		return err
	})
	return w, err
}

// updateModeratedUntil sets the time until which all posts of a member are held because of warnings. This is the time
// at which so many warnings have expired that the sum of the points of the remaining warnings is below the limit. It
// returns the sum of the points that count now.
func (s *Service) updateModeratedUntil(c store.Conn, a *rights.Actor, member int64) (points int64, err error) {
	now, limit := s.Moment(), a.Rights.Settings.WarningHold
	list, err := readWarnings(c, member)
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(w Warning) bool { return !w.Counts(now) || w.Points == 0 })
	forever := now.Add(100 * 365 * 24 * time.Hour)
	for i := range list {
		if list[i].Expires == 0 {
			list[i].Expires = forever
		}
		points += list[i].Points
	}
	kernel.SortBy(list, func(w Warning) int64 { return int64(w.Expires) })
	var end kernel.Moment // 0 if the points are below the limit now
	remaining := points
	for _, w := range list { // in the order in which they expire
		if limit == 0 || remaining < limit { // 0: posts are never held
			break
		}
		remaining -= w.Points
		end = w.Expires
	}
	_, err = c.Exec("UPDATE board_users SET moderated_until = ? WHERE id = ?", end, member)
	return points, err
}

// suspend suspends the member after the new warning w if points, the sum of the member's points, reach the limit for a
// suspension. current is the end of the member's current suspension, which suspend does not shorten, or 0. suspend sets
// w.Suspended.
func (s *Service) suspend(c store.Conn, a *rights.Actor, w *Warning, points int64, current kernel.Moment) error {
	set := a.Rights.Settings
	end := s.Moment().Add(time.Duration(set.WarningSuspendDays) * 24 * time.Hour)
	if set.WarningSuspend == 0 || w.Points == 0 || points < set.WarningSuspend || current >= end {
		return nil
	}
	w.Suspended = end
	if _, err := c.Exec("UPDATE board_warnings SET suspended_to = ? WHERE id = ?", end, w.ID); err != nil {
		return err
	}
	if _, err := c.Exec("UPDATE board_users SET suspended_until = ? WHERE id = ?", end, w.Member); err != nil {
		return err
	}
	return rights.BumpPermissions(c) // takes effect with the next request, even with a cached token
}

// Withdraw withdraws a warning, so that its points no longer count. A suspension that the warning caused ends, unless
// another suspension has replaced it since. The actor must be able to approve posts in the post's forum.
func (s *Service) Withdraw(ctx context.Context, a *rights.Actor, member, id int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		w, err := scan(c.Row("SELECT "+columns+" FROM board_warnings w WHERE w.id = ? AND w.user_id = ?"+c.Lock(), id,
			member))
		if err != nil {
			return kernel.OrNotFound(err)
		}
		if !a.MayIn(w.Forum, rights.ContentApprove) || a.Owns(member) {
			return kernel.NotFound()
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		if w.Withdrawn != 0 {
			return kernel.Conflict("this warning is withdrawn already")
		}
		if _, err := c.Exec("UPDATE board_warnings SET withdrawn_at = ?, withdrawn_by = ? WHERE id = ?", s.Moment(),
			a.User.Name, id); err != nil {
			return err
		}
		if _, err := s.updateModeratedUntil(c, a, member); err != nil {
			return err
		}
		// If another suspension has replaced that of the warning, it has another end, and goes on.
		if w.Suspended != 0 {
			if _, err := c.Exec("UPDATE board_users SET suspended_until = NULL WHERE id = ? AND suspended_until = ?", member,
				w.Suspended); err != nil {
				return err
			}
			if err := rights.BumpPermissions(c); err != nil {
				return err
			}
		}
		var name string
		if err := c.Row("SELECT username FROM board_users WHERE id = ?", member).Scan(&name); err != nil {
			return err
		}
		return s.rights.Logged(c, a, "member.unwarn", rights.ContentApprove, w.Forum, 0, w.Post, kernel.ForLog(name))
	})
}

// Own lists the warnings of the actor, newest first.
func (s *Service) Own(ctx context.Context, a *rights.Actor) ([]Warning, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) ([]Warning, error) {
		return readWarnings(c, a.ID())
	})
}

// columns lists the columns of board_warnings w that scan reads.
const columns = "w.id, w.user_id, w.post_id, w.forum_id, w.actor_name, w.reason, w.points, w.created_at, w.expires_at," +
	" w.suspended_to, w.withdrawn_at, w.withdrawn_by"

// scan reads a warning from a row with columns.
func scan(r store.Row) (w Warning, err error) {
	return w, r.Scan(&w.ID, &w.Member, &w.Post, &w.Forum, &w.ActorName, &w.Reason, &w.Points, &w.Created, &w.Expires,
		&w.Suspended, &w.Withdrawn, &w.WithdrawnBy)
}

// readWarnings reads the newest maxRows warnings of a member.
func readWarnings(c store.Conn, member int64) ([]Warning, error) {
	return store.List(c, scan, "SELECT "+columns+" FROM board_warnings w WHERE w.user_id = ? ORDER BY w.id DESC"+
		content.Limit(c.Dialect()), member, maxRows)
}
