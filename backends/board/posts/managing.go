package posts

import (
	"cmp"
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ThreadChange is a request to change a thread. A nil field is not changed.
type ThreadChange struct {
	Title  *string
	Prefix *int64 // 0 removes the prefix
	Locked *bool
	Sticky *bool
	Forum  *int64
}

// Change applies all parts of a change to a thread, or none of them.
func (s *Service) Change(ctx context.Context, a *rights.Actor, id int64, change ThreadChange) error {
	return s.Write(ctx, func(c store.Conn) error {
		t, err := content.ThreadFor(c, a, id, c.Lock())
		if err != nil {
			return err
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		f, err := content.ForumFor(c, a, t.Forum)
		if err != nil {
			return err
		}
		target, err := s.mayChange(c, a, f, t, change)
		if err != nil {
			return err
		}
		return s.change(c, a, f, target, t, change)
	})
}

// mayChange returns an error unless the actor may apply every part of a change to a thread t of forum f. It returns the
// forum that the thread moves to, or nil if the thread does not move.
func (s *Service) mayChange(
	c store.Conn, a *rights.Actor, f *content.Forum, t *content.Thread, change ThreadChange,
) (target *content.Forum, err error) {
	forbidden := func(field string) error {
		return kernel.Forbidden(field, "no_permission", "you may not change this property of the thread")
	}
	if change.Title != nil || change.Prefix != nil {
		// Authors may change the title of their threads as long as they may edit the first post.
		open := !t.Locked && f.Open || a.Has(t.Forum, rights.LockBypass)
		mayEditFirst := a.Owns(t.Author) && a.Has(t.Forum, rights.PostEditOwn) && open &&
			!editWindowClosed(a, f.ID, t.Created, s.Moment())
		if !a.Has(t.Forum, rights.ThreadEditTitle) && !mayEditFirst {
			return nil, forbidden("title")
		}
	}
	if change.Locked != nil && !a.Has(t.Forum, rights.ThreadLock) {
		return nil, forbidden("isLocked")
	}
	if change.Sticky != nil && !a.Has(t.Forum, rights.ThreadStick) {
		return nil, forbidden("isSticky")
	}
	if change.Forum == nil || *change.Forum == t.Forum {
		return nil, nil
	}
	if !a.Has(t.Forum, rights.ThreadMove) {
		return nil, forbidden("forumId")
	}
	if target, err = content.ForumFor(c, a, *change.Forum); kernel.IsNotFound(err) {
		return nil, kernel.Invalid("forumId", "unknown", "there is no forum with this id that you can see")
	}
	if err != nil {
		return nil, err
	}
	switch {
	case target.Kind != "forum":
		return nil, kernel.Invalid("forumId", "not_a_forum", "a "+target.Kind+" cannot contain threads")
	case !a.Has(target.ID, rights.ThreadPost):
		return nil, forbidden("forumId")
	}
	return target, nil
}

// change applies a change that mayChange has allowed to a thread of forum f. target is the forum that the thread moves
// to, or nil.
func (s *Service) change(
	c store.Conn, a *rights.Actor, f, target *content.Forum, t *content.Thread, change ThreadChange,
) error {
	if change.Title != nil {
		if err := s.retitle(c, a, f, t, *change.Title); err != nil {
			return err
		}
	}
	prefix := t.Prefix
	if change.Prefix != nil {
		prefix = *change.Prefix
	}
	if change.Prefix != nil || target != nil {
		home := cmp.Or(target, f) // the forum that the thread is in after the change
		if err := checkPrefix(a, home, prefix); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE board_threads SET prefix_id = ? WHERE id = ?", kernel.Null(prefix), t.ID); err != nil {
			return err
		}
	}
	for _, flag := range []struct {
		value          *bool // nil if the flag does not change
		column, action string
		right          rights.Mask
	}{
		{change.Locked, "is_locked", "thread.lock", rights.ThreadLock},
		{change.Sticky, "is_sticky", "thread.stick", rights.ThreadStick},
	} {
		if flag.value == nil {
			continue
		}
		if err := s.rights.Logged(c, a, flag.action, flag.right, t.Forum, t.ID, 0,
			kernel.Itoa(int64(kernel.Bool(*flag.value)))); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE board_threads SET "+flag.column+" = ? WHERE id = ?",
			kernel.Bool(*flag.value), t.ID); err != nil {
			return err
		}
	}
	if target == nil {
		return nil
	}
	if err := s.rights.Logged(c, a, "thread.move", rights.ThreadMove, t.Forum, t.ID, 0, "to forum "+
		kernel.Itoa(target.ID)); err != nil {
		return err
	}
	return move(c, t, target.ID)
}

// retitle applies the word filter to text and makes the result the title of a thread. The title counts as part of the
// first post: if an edit of that post would be held for approval, the post is held.
func (s *Service) retitle(c store.Conn, a *rights.Actor, f *content.Forum, t *content.Thread, text string) error {
	checkedTitle, err := a.Rights.Settings.CheckTitle(text)
	if err != nil {
		return err
	}
	title, err := filteredTitle(a, checkedTitle)
	if err != nil || title == t.Title {
		return err
	}
	if err := s.spendEdit(c, a, f.ID, s.Moment()); err != nil {
		return err
	}
	detail := ""
	if !a.Owns(t.Author) {
		detail = "was: " + t.Title
	}
	if err := s.rights.Logged(c, a, "thread.edit", rights.ThreadEditTitle, t.Forum, t.ID, 0, detail); err != nil {
		return err
	}
	if _, err := c.Exec("UPDATE board_threads SET title = ?, slug = ? WHERE id = ?",
		title, kernel.Slug(title), t.ID); err != nil {
		return err
	}
	t.Title = title
	p, err := content.ReadPost(c, t.ID, t.First)
	if err != nil {
		return err
	}
	if err := search.Index(c, p.ID, true, title, p.Message); err != nil {
		return err
	}
	words := a.Rights.Access.Words
	needsApproval := words.Holds(checkedTitle) || words.Holds(title)
	if p.Visibility != rights.Visible || !s.editIsHeld(a, t.Forum, needsApproval) {
		return nil
	}
	return s.settle(c, t, p, rights.Unapproved, heldByEdit)
}

// move moves a thread with its posts and their reports to the forum with the id newForum, and updates all counters.
func move(c store.Conn, t *content.Thread, newForum int64) error {
	oldForum := t.Forum
	if _, err := c.Exec("UPDATE board_threads SET forum_id = ? WHERE id = ?", newForum, t.ID); err != nil {
		return err
	}
	if err := kernel.ExecAll(c, []string{
		"UPDATE board_threads SET forum_id = ? WHERE id IN (SELECT thread_id FROM board_merged_threads WHERE into_id = ?)",
		"UPDATE board_post_ids SET forum_id = ? WHERE id IN (SELECT id FROM board_posts WHERE thread_id = ?)",
		"UPDATE board_post_ids SET forum_id = ? WHERE id IN (SELECT id FROM board_posts_archive WHERE thread_id = ?)",
		// The moderators of the new forum now decide about the reports.
		"UPDATE board_reports SET forum_id = ? WHERE post_id IN (SELECT id FROM board_posts WHERE thread_id = ?)",
		"UPDATE board_reports SET forum_id = ? WHERE post_id IN (SELECT id FROM board_posts_archive WHERE thread_id = ?)",
	}, newForum, t.ID); err != nil {
		return err
	}
	if t.Visibility == rights.Visible {
		// Forums are updated in the order of their ids, and authors before forums, so that moves and posts do not
		// deadlock.
		forums := []int64{min(oldForum, newForum), max(oldForum, newForum)}
		sign := map[int64]int64{oldForum: -1, newForum: 1}
		for _, id := range forums {
			if err := content.CountThread(c, t.ID, id, sign[id]); err != nil {
				return err
			}
		}
		for _, id := range forums {
			if err := content.Count(c, id, t.ID, sign[id], sign[id]*(1+t.Replies)); err != nil {
				return err
			}
		}
	}
	t.Forum = newForum
	return nil
}
