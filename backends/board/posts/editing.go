package posts

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// PostEdit is a request to replace the text of a post.
type PostEdit struct {
	Message string
	Reason  string
	Match   rest.Match // checked against the Tag of the post that was edited
}

// Edited is the result of an edit.
type Edited struct {
	Post, Thread int64
	Changed      bool   // whether the new text differs from the former text
	Held         bool   // whether the edit made the post wait for approval
	Tag          string // the Tag of the post after the edit
}

// Edit replaces the text of the post with this id in the thread inThread. It returns a 412 error if edit.Match does not
// match the current version of the post, unless the post already has the new text.
func (s *Service) Edit(
	ctx context.Context, a *rights.Actor, inThread, id int64, edit PostEdit,
) (result Edited, err error) {
	body, err := s.compose(ctx, a, edit.Message)
	if err != nil {
		return result, err
	}
	reason, reasonErr := kernel.CheckReason(edit.Reason)
	err = s.Write(ctx, func(c store.Conn) error {
		result = Edited{Post: id, Thread: inThread}
		loaded, err := loadPost(c, a, inThread, id, c.Lock())
		if err != nil {
			return err
		}
		f, p := loaded.forum, loaded.post
		w := writing{now: s.Moment()}
		right, err := s.mayEdit(a, f, loaded.thread, p, w.now)
		if err != nil {
			return err
		}
		// Only an actor who may edit the post learns what is wrong with the text.
		if body.err != nil || reasonErr != nil {
			return apierror.Join(body.err, reasonErr)
		}
		if err := w.setText(a.Rights.Settings, f, body); err != nil {
			return err
		}
		result.Tag = content.ViewPost(p).Tag()
		if w.text == p.Message {
			return nil
		}
		if err := edit.Match.Check(result.Tag); err != nil {
			return err
		}
		if err := s.spendEdit(c, a, f.ID, w.now); err != nil {
			return err
		}
		result.Changed = true
		needsApproval, err := textNeedsApproval(c, a, p, w, body)
		if err != nil {
			return err
		}
		result.Held = p.Visibility == rights.Visible && s.editIsHeld(a, f.ID, needsApproval)
		if err := s.edit(c, a, loaded, w, reason, right, result.Held); err != nil {
			return err
		}
		edited, err := content.ReadPost(c, inThread, id)
		if err != nil {
			return err
		}
		result.Tag = content.ViewPost(edited).Tag()
		return nil
	})
	return result, err
}

// textNeedsApproval reports whether the new text of a post needs approval, because it has a word that holds posts or
// more links than a new member may post. It does not consider whether the actor may bypass the queue.
func textNeedsApproval(c store.Conn, a *rights.Actor, p *content.Post, w writing, body composed) (bool, error) {
	set := a.Rights.Settings
	if body.held || a.Rights.Access.Words.Holds(w.text) {
		return true, nil
	}
	if int64(text.Links(w.text)) <= set.NewMemberLinks {
		return false, nil
	}
	var posts int64
	err := c.Row("SELECT post_count FROM board_users WHERE id = ?", a.ID()).Scan(&posts)
	if a.Owns(p.Author) && p.Visibility == rights.Visible {
		posts-- // without the edited post
	}
	return posts < set.NewMemberPosts, err
}

// editIsHeld reports whether an edit by the actor in a forum must wait for approval. needsApproval reports whether
// the new text needs approval; see textNeedsApproval.
func (s *Service) editIsHeld(a *rights.Actor, forum int64, needsApproval bool) bool {
	if a.User.NeedsApproval(s.Moment()) {
		return true
	}
	r := a.In(forum)
	return !r.Mask.Has(rights.ModerationBypass) && (needsApproval || r.Restrict.Has(rights.EditNeedsApproval))
}

// edit writes the new text of a post: it stores the former text as a revision, updates the search index, logs the edit,
// and makes the post wait for approval if hold is set. loaded has the former text, and w has the new one. reason is the
// actor's reason for the edit, which may be empty, and right is the right from mayEdit.
func (s *Service) edit(
	c store.Conn, a *rights.Actor, loaded loadedPost, w writing, reason string, right rights.Mask, hold bool,
) error {
	f, t, p, now := loaded.forum, loaded.thread, loaded.post, w.now
	storedReason := sql.NullString{String: reason, Valid: reason != ""}
	_, err := c.Exec("INSERT INTO board_post_revisions (post_id, revision, message, edited_by, edited_at, reason)"+
		" VALUES (?, (SELECT count(*) + 1 FROM board_post_revisions WHERE post_id = ?), ?, ?, ?, ?)",
		p.ID, p.ID, p.Message, a.User.Name, now, storedReason)
	if err != nil {
		return err
	}
	// An author's edit within the grace period leaves no note on the post. The note of an earlier edit stays.
	if a.Owns(p.Author) && now.Sub(p.Created) <= time.Duration(a.Rights.Settings.EditGraceSeconds)*time.Second {
		_, err = c.Exec("UPDATE board_posts SET message = ?, message_html = ?, render_version = ?, body_hash = ?"+
			" WHERE thread_id = ? AND id = ?",
			w.text, w.html, markup.Version, BodyHash(w.text), t.ID, p.ID)
	} else {
		_, err = c.Exec("UPDATE board_posts"+
			" SET message = ?, message_html = ?, render_version = ?, body_hash = ?, edited_at = ?, edited_by = ?, edit_reason ="+
			" ?, edit_count = edit_count + 1 WHERE thread_id = ? AND id = ?",
			w.text, w.html, markup.Version, BodyHash(w.text), now, a.User.Name, storedReason, t.ID, p.ID)
	}
	if err != nil {
		return err
	}
	if err := search.Index(c, p.ID, p.Number == 1, t.Title, w.text); err != nil {
		return err
	}
	if a.Owns(p.Author) {
		// The log shows whether the actor needed the rights of an administrator. A moderator needs no further right to edit
		// in a locked thread or a closed forum, or after the edit window.
		moderates := a.In(f.ID).Natural.Has(rights.PostEditOthers)
		if !moderates && (t.Locked || !f.Open) {
			right |= rights.LockBypass
		}
		if !moderates && editWindowPassed(a, p.Created, now) {
			right |= rights.EditWindowBypass
		}
		err = s.rights.LogIfAdministrator(c, a, "post.edit", right, t.Forum, t.ID, p.ID)
	} else {
		err = s.rights.Logged(c, a, "post.edit", right, t.Forum, t.ID, p.ID, reason)
	}
	if err != nil {
		return err
	}
	if err := s.Hooks.Emit(c, kernel.TopicPostEdited, eventOf(t, p)); err != nil {
		return err
	}
	switch {
	case hold:
		return s.settle(c, t, p, rights.Unapproved, heldByEdit)
	case p.Visibility == rights.Visible:
		return s.mentionNew(c, a, t, p, w.html)
	}
	return nil
}

// mayEdit returns the right by which the actor may edit a post that it sees: PostEditOwn or PostEditOthers. If the
// actor may not edit it, mayEdit returns an error with the reason.
func (s *Service) mayEdit(
	a *rights.Actor, f *content.Forum, t *content.Thread, p *content.Post, now kernel.Moment,
) (rights.Mask, error) {
	if err := a.CheckSuspended(now); err != nil {
		return 0, err
	}
	own := a.Owns(p.Author) && a.Has(f.ID, rights.PostEditOwn)
	switch {
	case a.Has(f.ID, rights.PostEditOthers):
		// The actor may edit all posts of the forum, at any time.
	case !own:
		return 0, kernel.Forbidden("postId", "no_permission", "you may not edit this post")
	case !a.Has(f.ID, rights.LockBypass) && t.Locked:
		return 0, kernel.Forbidden("threadId", "thread_locked", "this thread is locked")
	case !a.Has(f.ID, rights.LockBypass) && !f.Open:
		return 0, kernel.Forbidden("threadId", "forum_closed", "this forum is closed")
	case editWindowClosed(a, f.ID, p.Created, now):
		return 0, kernel.Forbidden("postId", "edit_window_closed", "the time in which you may edit this post is over")
	}
	if own {
		return rights.PostEditOwn, nil
	}
	return rights.PostEditOthers, nil
}

// editWindowClosed reports whether the actor may no longer edit a post of its own that was created at the given time.
// For actors with the right to edit without a time limit, the window never closes.
func editWindowClosed(a *rights.Actor, forum int64, created, now kernel.Moment) bool {
	return !a.Has(forum, rights.EditWindowBypass) && editWindowPassed(a, created, now)
}

// editWindowPassed works like editWindowClosed, but disregards the right to edit without a time limit.
func editWindowPassed(a *rights.Actor, created, now kernel.Moment) bool {
	window := a.Rights.EditWindow // 0 means that there is no time limit
	return window != 0 && now.Sub(created) > time.Duration(window)*time.Minute
}

// spendEdit charges an edit in a forum to the actor's limit for edits. It returns an error if the limit is exhausted.
func (s *Service) spendEdit(c store.Conn, a *rights.Actor, forum int64, now kernel.Moment) error {
	return a.Spend(c, forum, "flood_edits", a.Rights.Settings.EditsPerMinute, now)
}

// Revision is a former text of a post.
type Revision struct {
	Number   int64
	Message  string
	EditedBy string
	EditedAt kernel.Moment
	Reason   string
}

// Revisions lists up to limit former texts of a post, oldest first: the newest revisions or, if beforeNumber is not 0,
// the newest of those whose number is less than beforeNumber. The list is paged because there can be many long texts.
func (s *Service) Revisions(
	ctx context.Context, a *rights.Actor, inThread, id, beforeNumber int64, limit int,
) ([]Revision, error) {
	if beforeNumber == 0 {
		beforeNumber = math.MaxInt64
	}
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []Revision, err error) {
		t, p, err := content.PostIn(c, a, inThread, id, "")
		if err != nil {
			return list, err
		}
		if !a.Owns(p.Author) && !a.Has(t.Forum, rights.PostEditOthers) {
			return list, kernel.Forbidden("postId", "no_permission", "you may not see the history of this post")
		}
		list, err = store.List(c, func(r store.Row) (v Revision, err error) {
			return v, r.Scan(&v.Number, &v.Message, &v.EditedBy, &v.EditedAt, &v.Reason)
		}, "SELECT revision, message, edited_by, edited_at, COALESCE(reason, '') FROM board_post_revisions"+
			" WHERE post_id = ? AND revision < ? ORDER BY revision DESC LIMIT ?", id, beforeNumber, limit)
		slices.Reverse(list)
		return list, err
	})
}
