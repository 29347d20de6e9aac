// Package reactions implements reactions to posts, which all readers see, and private bookmarks of posts. Their rows
// refer only to posts, so they stay valid when posts are moved, deleted, archived and restored.
package reactions

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Service reads and writes the reactions and bookmarks of a board.
type Service struct {
	*kernel.Server
	following *following.Service
}

// New returns the Service of a board.
func New(board *kernel.Server, notices *following.Service) *Service {
	return &Service{Server: board, following: notices}
}

// EveryListing returns all list queries by name, for the test of their query plans.
func EveryListing() map[string]content.Listing {
	return map[string]content.Listing{"who reacted": reactors(), "bookmarks": bookmarks()}
}

// May returns an error if the actor may not react to a post that it sees. Nobody may react to their own posts, or to
// posts that are held or deleted.
func May(a *rights.Actor, t *content.Thread, p *content.Post, now kernel.Moment) error {
	switch {
	case a.User == nil:
		return kernel.NotFound()
	case a.Owns(p.Author):
		return kernel.Forbidden("postId", "own", "you cannot react to your own post")
	case t.Visibility != rights.Visible || p.Visibility != rights.Visible:
		return kernel.Forbidden("postId", "not_visible", "this post is "+rights.VisibilityNames[max(t.Visibility,
			p.Visibility)])
	}
	return a.CheckSuspended(now)
}

// turnOf identifies a group of writers who wait for each other (see store.InTurn): all members who react to a post.
type turnOf struct{ post int64 }

// React sets the actor's reaction to a post, replacing any other reaction. An empty kind removes the reaction. The
// author of the post is notified of a first reaction by the actor.
func (s *Service) React(ctx context.Context, a *rights.Actor, post int64, kind string) error {
	return s.Write(store.InTurn(ctx, turnOf{post}), func(c store.Conn) error {
		t, p, err := content.PostByID(c, a, post, "")
		if err != nil {
			return err
		}
		if err := May(a, t, p, s.Moment()); err != nil {
			return err
		}
		if kind != "" && !slices.Contains(a.Rights.Settings.ReactionKinds(), kind) {
			return kernel.Invalid("reaction", "unknown", "there is no such reaction on this board")
		}
		var previous string
		err = c.Row("SELECT kind FROM board_reactions WHERE post_id = ? AND user_id = ?", post, a.ID()).Scan(&previous)
		if err := kernel.IgnoreNoRows(err); err != nil || kind == previous {
			return err
		}
		if err := a.SpendReaction(c, t.Forum, s.Moment()); err != nil {
			return err
		}
		if previous != "" {
			if err := s.count(c, post, previous, -1); err != nil {
				return err
			}
		}
		if kind == "" {
			return s.withdraw(c, a, p)
		}
		if _, err := c.Exec("INSERT INTO board_reactions (post_id, user_id, kind, created_at) VALUES (?, ?, ?, ?)"+
			" ON CONFLICT (post_id, user_id) DO UPDATE SET kind = excluded.kind, created_at = excluded.created_at",
			post, a.ID(), kind, s.Moment()); err != nil {
			return err
		}
		if err := s.count(c, post, kind, 1); err != nil || previous != "" {
			return err
		}
		return s.following.NotifyAuthor(c, a, following.KindReaction, t, p)
	})
}

// count adds delta, which may be negative, to the number of reactions of a kind to a post.
func (s *Service) count(c store.Conn, post int64, kind string, delta int64) error {
	_, err := c.Exec("INSERT INTO board_reaction_counts (post_id, kind, n) VALUES (?, ?, ?) ON CONFLICT (post_id, kind)"+
		" DO UPDATE SET n = board_reaction_counts.n + excluded.n", post, kind, delta)
	return err
}

// withdraw deletes the actor's reaction. If it was the post's last reaction, withdraw also deletes the author's unread
// notification of reactions.
func (s *Service) withdraw(c store.Conn, a *rights.Actor, p *content.Post) error {
	_, err := c.Exec("DELETE FROM board_reactions WHERE post_id = ? AND user_id = ?", p.ID, a.ID())
	if err != nil {
		return err
	}
	var left bool
	err = c.Row("SELECT EXISTS (SELECT 1 FROM board_reactions WHERE post_id = ?)", p.ID).Scan(&left)
	if err != nil || left {
		return err
	}
	return following.RetractNotice(c, following.KindReaction, p)
}

// Count is the number of members who have reacted to a post with a reaction of this kind.
type Count struct {
	Kind string
	N    int64
	Own  bool // the actor is one of them
}

// CountsOf returns the query for the reactions to several posts, with a row for each post and reaction. posts is the
// number of posts. The query's arguments are the user and the ids of the posts.
func CountsOf(posts int) string {
	return "SELECT n.post_id, n.kind, n.n, EXISTS (SELECT 1 FROM board_reactions r WHERE r.post_id = n.post_id" +
		" AND r.user_id = ? AND r.kind = n.kind) FROM board_reaction_counts n WHERE n.post_id IN (" + kernel.Marks(posts) + ")"
}

// Of returns the reactions to posts, by post. Reactions that are currently offered come first, in the order of the
// settings, even if their number is 0. Reactions that are no longer offered follow. posts holds the ids of the posts as
// int64 values; it must not be empty.
func Of(c store.Conn, a *rights.Actor, posts ...any) (map[int64][]Count, error) {
	all := make(map[int64][]Count, len(posts))
	kinds := a.Rights.Settings.ReactionKinds()
	offered := make([]Count, len(kinds))
	for i, kind := range kinds {
		offered[i].Kind = kind
	}
	for _, id := range posts {
		all[id.(int64)] = slices.Clone(offered)
	}
	return all, c.All(CountsOf(len(posts)), append([]any{a.ID()}, posts...), func(r store.Row) error {
		var id int64
		var n Count
		if err := r.Scan(&id, &n.Kind, &n.N, &n.Own); err != nil || n.N == 0 {
			return err
		}
		if i := slices.IndexFunc(all[id], func(o Count) bool { return o.Kind == n.Kind }); i >= 0 {
			all[id][i] = n
			return nil
		}
		all[id] = append(all[id], n)
		return nil
	})
}

// Reactor is a member who has reacted to a post.
type Reactor struct {
	ID         int64
	Name, Kind string
}

// reactors returns the query for the members who have reacted to a post. Its arguments are the post's id, the id of
// the member before the page, and the limit.
func reactors() content.Listing {
	return content.Listing{
		Columns: "r.user_id, (SELECT u.username FROM board_users u WHERE u.id = r.user_id), r.kind",
		From:    "board_reactions r", Where: "r.post_id = ? AND r.user_id > ?", Order: "r.user_id",
	}
}

// Who lists the members who have reacted to a post that the actor sees, in the order in which they joined the board.
// afterID is the value of next from the previous page, or 0 for the first page. next is 0 on the last page.
func (s *Service) Who(
	ctx context.Context, a *rights.Actor, post, afterID int64, limit int,
) (list []Reactor, next int64, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		if _, _, err := content.PostByID(c, a, post, ""); err != nil {
			return err
		}
		list, err = store.List(c, func(r store.Row) (w Reactor, err error) { return w, r.Scan(&w.ID, &w.Name, &w.Kind) },
			reactors().SQL(c.Dialect()), post, afterID, limit+1)
		list, next = store.CutAt(list, limit, func(w Reactor) int64 { return w.ID })
		return err
	})
	return list, next, err
}

// Forget deletes the reactions and bookmarks of a member who is being deleted.
func Forget(c store.Conn, user int64) error {
	return kernel.ExecAll(c, []string{
		"UPDATE board_reaction_counts SET n = n - 1 WHERE (post_id, kind) IN (SELECT post_id, kind FROM board_reactions" +
			" WHERE user_id = ?)",
		"DELETE FROM board_reactions WHERE user_id = ?",
		"DELETE FROM board_bookmarks WHERE user_id = ?",
	}, user)
}
