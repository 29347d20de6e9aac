package posts

import (
	"context"
	"database/sql"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// settle changes the visibility of a post to newVisibility and, if the post starts its thread, that of the thread. If
// the post becomes held, reason says why. settle updates all counters and emits the event of the change.
func (s *Service) settle(c store.Conn, t *content.Thread, p *content.Post, newVisibility int64, reason string) error {
	threads, posts, err := s.settleUncounted(c, t, p, newVisibility, reason)
	if err != nil {
		return err
	}
	return content.Count(c, t.Forum, t.ID, threads, posts)
}

// settleUncounted works like settle, but does not update the forum's counters. It returns by how much the forum's
// numbers of visible threads and posts change; the caller must pass these to content.Count at the end of its
// transaction.
func (s *Service) settleUncounted(
	c store.Conn, t *content.Thread, p *content.Post, newVisibility int64, reason string,
) (threads, posts int64, err error) {
	oldVisibility := p.Visibility
	if oldVisibility == newVisibility {
		return 0, 0, nil
	}
	// shown is 1 if the post becomes visible, -1 if it becomes hidden, and otherwise 0.
	shown := int64(kernel.Bool(newVisibility == rights.Visible) - kernel.Bool(oldVisibility == rights.Visible))
	if _, err := c.Exec("UPDATE board_users SET post_count = post_count + ? WHERE id = ?",
		shown, kernel.Null(p.Author)); err != nil {
		return 0, 0, err
	}
	starts := p.Number == 1
	if starts {
		threads = int64(kernel.Bool(newVisibility == rights.Visible) - kernel.Bool(t.Visibility == rights.Visible))
	}
	// CountThread updates the authors of all visible posts in the order of their ids. It must run while the first post is
	// still visible, so that the author of the first post is among them.
	if threads < 0 {
		if err := content.CountThread(c, t.ID, t.Forum, threads); err != nil {
			return 0, 0, err
		}
	}
	if _, err := c.Exec("UPDATE board_posts SET visibility = ? WHERE thread_id = ? AND id = ?",
		newVisibility, t.ID, p.ID); err != nil {
		return 0, 0, err
	}
	heldReason := sql.NullString{String: reason, Valid: newVisibility == rights.Unapproved}
	if _, err := c.Exec("UPDATE board_post_ids SET visibility = ?, held_reason = ? WHERE id = ?",
		newVisibility, heldReason, p.ID); err != nil {
		return 0, 0, err
	}
	p.Visibility = newVisibility
	if newVisibility == rights.Deleted && t.Answer == p.ID {
		if err := setAnswer(c, t, 0); err != nil {
			return 0, 0, err
		}
	}
	if starts {
		posts = threads * (1 + t.Replies) // the first post and all visible replies
		err = setThreadVisibility(c, t, newVisibility, threads)
	} else {
		posts, err = updateReplies(c, t, p, shown)
	}
	if err != nil {
		return 0, 0, err
	}
	if err := content.LastOfThread(c, t); err != nil {
		return 0, 0, err
	}
	return threads, posts, s.emitSettled(c, t, p, oldVisibility, reason)
}

// setThreadVisibility changes the visibility of a thread to newVisibility, after the visibility of its first post has
// changed. threads is 1 if the thread becomes visible, -1 if it was visible before, and 0 otherwise. If it is 1,
// setThreadVisibility counts the visible posts for their authors; if it is -1, the caller has already subtracted them.
func setThreadVisibility(c store.Conn, t *content.Thread, newVisibility, threads int64) error {
	if _, err := c.Exec("UPDATE board_threads SET visibility = ? WHERE id = ?", newVisibility, t.ID); err != nil {
		return err
	}
	t.Visibility = newVisibility
	if threads <= 0 {
		return nil
	}
	return content.CountThread(c, t.ID, t.Forum, threads)
}

// updateReplies updates a thread for a reply that becomes visible (shown is 1) or hidden (-1). It returns the change of
// the forum's number of posts.
func updateReplies(c store.Conn, t *content.Thread, p *content.Post, shown int64) (posts int64, err error) {
	t.Replies += shown
	_, err = c.Exec("UPDATE board_threads SET reply_count = reply_count + ? WHERE id = ?", shown, t.ID)
	if err != nil || t.Visibility != rights.Visible {
		return 0, err
	}
	return shown, content.CountPosts(c, p.Author, t.Forum, shown)
}

// Delete hides a post and, if it is the first post of its thread, the thread. inThread is the id of the thread. Delete
// returns false if the post was deleted already. It returns an error if match does not match the current version of the
// post; a nil match matches every version.
func (s *Service) Delete(ctx context.Context, a *rights.Actor, inThread, id int64, match rest.Match) (bool, error) {
	return kernel.Value(ctx, s.Write, func(c store.Conn) (bool, error) {
		return s.DeleteBy(c, a, inThread, id, match)
	})
}

// DeleteBy works like Delete, in the caller's transaction c.
func (s *Service) DeleteBy(
	c store.Conn, a *rights.Actor, inThread, id int64, match rest.Match,
) (changed bool, err error) {
	loaded, err := loadPost(c, a, inThread, id, c.Lock())
	if err != nil {
		return false, err
	}
	f, t, p := loaded.forum, loaded.thread, loaded.post
	right, err := mayDelete(a, f, t, p)
	if err != nil {
		return false, err
	}
	if err := a.CheckSuspended(s.Moment()); err != nil {
		return false, err
	}
	if p.Visibility == rights.Deleted {
		return false, nil
	}
	if err := match.Check(content.ViewPost(p).Tag()); err != nil {
		return false, err
	}
	if err := s.rights.Logged(c, a, "post.delete", right, t.Forum, t.ID, p.ID, ""); err != nil {
		return false, err
	}
	return true, s.settle(c, t, p, rights.Deleted, "")
}

// mayDelete returns the right by which the actor may delete a post that it sees. If the actor may not, the error is the
// reason.
func mayDelete(a *rights.Actor, f *content.Forum, t *content.Thread, p *content.Post) (rights.Mask, error) {
	own := a.Owns(p.Author) && a.Has(t.Forum, rights.PostDeleteOwn)
	switch {
	case a.Has(t.Forum, rights.PostDeleteOthers):
		// The actor may delete all posts of the forum.
	case !own, p.Number == 1 && t.Replies > 0: // the first post would take the replies of others with it
		return 0, kernel.Forbidden("postId", "no_permission", "you may not delete this post")
	case t.Locked && !a.Has(t.Forum, rights.LockBypass):
		return 0, kernel.Forbidden("threadId", "thread_locked", "this thread is locked")
	case !f.Open && !a.Has(t.Forum, rights.LockBypass):
		return 0, kernel.Forbidden("threadId", "forum_closed", "this forum is closed")
	}
	if own {
		return rights.PostDeleteOwn, nil
	}
	return rights.PostDeleteOthers, nil
}

// Settled is the result of a moderator's decision about a post.
type Settled struct {
	Post, Thread int64
	Visibility   int64  // the new visibility of the post
	Tag          string // the Tag of the post after the decision
}

// Decision is a moderator's decision about a held post. It names the version of the post that the moderator saw, since
// the author may change the post meanwhile.
type Decision struct {
	Reason string
	Match  rest.Match // checked against the Tag of the post
	Seen   string     // the Version from Held; empty if any version will do
}

// Restore makes a deleted post visible again.
func (s *Service) Restore(ctx context.Context, a *rights.Actor, id int64) (Settled, error) {
	return s.moderate(ctx, a, id, rights.Deleted, rights.Visible, rights.PostRestore, "post.restore", Decision{})
}

// Approve makes a held post visible, and its thread if the post is the first.
func (s *Service) Approve(ctx context.Context, a *rights.Actor, id int64, d Decision) (Settled, error) {
	return s.moderate(ctx, a, id, rights.Unapproved, rights.Visible, rights.ContentApprove, "post.approve", d)
}

// Reject deletes a held post.
func (s *Service) Reject(ctx context.Context, a *rights.Actor, id int64, d Decision) (Settled, error) {
	return s.moderate(ctx, a, id, rights.Unapproved, rights.Deleted, rights.ContentApprove, "post.reject", d)
}

// moderate changes the visibility of a post from oldVisibility to newVisibility, and logs the action. It returns an
// error if the actor lacks the right, if the post's visibility is not oldVisibility, or if the post is not the version
// that the decision is about.
func (s *Service) moderate(
	ctx context.Context, a *rights.Actor, id, oldVisibility, newVisibility int64,
	right rights.Mask, action string, d Decision,
) (Settled, error) {
	reason, reasonErr := kernel.CheckReason(d.Reason)
	return kernel.Value(ctx, s.Write, func(c store.Conn) (settled Settled, err error) {
		if oldVisibility == rights.Deleted {
			if err := unarchive(c, id); err != nil {
				return settled, err
			}
		}
		t, p, err := content.PostByID(c, a, id, c.Lock())
		if err != nil {
			return settled, err
		}
		if !a.Has(t.Forum, right) {
			return settled, kernel.Forbidden("postId", "no_permission", "you may not do this in this forum")
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return settled, err
		}
		if reasonErr != nil { // only now, since nobody else may learn that the post exists
			return settled, reasonErr
		}
		if p.Visibility != oldVisibility {
			state := rights.VisibilityNames[p.Visibility]
			return settled, kernel.Conflict("this decision was already made: the post is " + state)
		}
		if err := d.checkVersion(c, t, p); err != nil {
			return settled, err
		}
		if err := s.rights.Logged(c, a, action, right, t.Forum, t.ID, p.ID, reason); err != nil {
			return settled, err
		}
		if oldVisibility == rights.Deleted {
			// The rules for splitting words may have changed since the post was archived.
			if err := search.Index(c, p.ID, p.Number == 1, t.Title, p.Message); err != nil {
				return settled, err
			}
		}
		var heldReason string // is read now, because settleUncounted clears it
		if err := c.Row("SELECT COALESCE(held_reason, '') FROM board_post_ids WHERE id = ?", p.ID).Scan(&heldReason); err != nil {
			return settled, err
		}
		threads, posts, err := s.settleUncounted(c, t, p, newVisibility, "")
		if err != nil {
			return settled, err
		}
		settled = Settled{Post: p.ID, Thread: t.ID, Visibility: newVisibility, Tag: content.ViewPost(p).Tag()}
		if oldVisibility == rights.Unapproved && newVisibility == rights.Visible {
			if err := s.notifyApproved(c, t, p, heldReason); err != nil {
				return settled, err
			}
		}
		// The forum is counted last, since other writers wait for the row of its counter until this transaction ends.
		return settled, content.Count(c, t.Forum, t.ID, threads, posts)
	})
}

// checkVersion returns an error if the post has changed since the moderator saw it.
func (d Decision) checkVersion(c store.Conn, t *content.Thread, p *content.Post) error {
	if err := d.Match.Check(content.ViewPost(p).Tag()); err != nil || d.Seen == "" {
		return err
	}
	files, err := attachments.Of(c, p.ID)
	if err != nil {
		return err
	}
	return rest.Match(func(tag string) bool { return tag == d.Seen }).Check(heldVersion(t, p, files))
}

// heldVersion returns a tag that changes with everything that a moderator sees of a held post: the title, the text and
// the files.
func heldVersion(t *content.Thread, p *content.Post, files []attachments.Attachment) string {
	ids := make([]int64, len(files))
	for i := range files {
		ids[i] = files[i].ID
	}
	return kernel.Tag(map[string]any{"title": t.Title, "message": p.Message, "files": ids})
}

// heldByEdit is the reason for holding a post that was visible before an edit.
const heldByEdit = "edit"

// notifyApproved sends the notifications of a post that was held until now. reason is the reason for which the post was
// held. Followers were already notified of a post that was held because of an edit.
func (s *Service) notifyApproved(c store.Conn, t *content.Thread, p *content.Post, reason string) error {
	author := &rights.User{ID: p.Author, Name: p.AuthorName}
	if reason == heldByEdit {
		if err := s.following.MailLater(c, t, p); err != nil {
			return err
		}
	} else if err := s.following.Notify(c, &rights.Actor{User: author}, t, p.ID, p.Number == 1); err != nil {
		return err
	}
	if err := s.following.Mention(c, author, t, p.ID, p.Mentioned()); err != nil {
		return err
	}
	if p.Number > 1 {
		return nil
	}
	return s.following.CatchUp(c, t)
}
