package posts

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// settle moves a post to another visibility, and with a first post its thread,
// and keeps every counter exact.
func (s *Service) settle(c store.Conn, t *content.Thread, p *content.Post, to int64, reason string) error {
	threads, posts, err := s.shift(c, t, p, to, reason)
	if err != nil {
		return err
	}
	return content.Count(c, t.Forum, t.ID, threads, posts)
}

// shift is settle but for what it means to the forum: so many more threads and
// posts, which the caller counts at the end.
func (s *Service) shift(
	c store.Conn, t *content.Thread, p *content.Post, to int64, reason string,
) (threads, posts int64, err error) {
	from := p.Visibility
	if from == to {
		return 0, 0, nil
	}
	shown := int64(kernel.Bool(to == rights.Visible) - kernel.Bool(from == rights.Visible))
	if _, err := c.Exec("UPDATE board_users SET post_count = post_count + ? WHERE id = ?",
		shown, kernel.Null(p.Author)); err != nil {
		return 0, 0, err
	}
	starts := p.Number == 1
	if starts {
		threads = int64(kernel.Bool(to == rights.Visible) - kernel.Bool(t.Visibility == rights.Visible))
	}
	if threads < 0 { // while the first post is among them, so that its author's row is in order
		if err := content.CountThread(c, t.ID, t.Forum, threads); err != nil {
			return 0, 0, err
		}
	}
	if _, err := c.Exec("UPDATE board_posts SET visibility = ? WHERE thread_id = ? AND id = ?",
		to, t.ID, p.ID); err != nil {
		return 0, 0, err
	}
	held := sql.NullString{String: reason, Valid: to == rights.Unapproved}
	if _, err := c.Exec("UPDATE board_post_ids SET visibility = ?, held_reason = ? WHERE id = ?",
		to, held, p.ID); err != nil {
		return 0, 0, err
	}
	p.Visibility = to
	if starts {
		posts, err = threads*(1+t.Replies), startShifted(c, t, to, threads)
	} else {
		posts, err = replyShifted(c, t, p, shown)
	}
	if err != nil {
		return 0, 0, err
	}
	if err := lastOfThread(c, t); err != nil {
		return 0, 0, err
	}
	return threads, posts, s.emitSettled(c, t, p, from, reason)
}

// startShifted moves a thread with its first post; threads: 1, it comes.
func startShifted(c store.Conn, t *content.Thread, to, threads int64) error {
	if _, err := c.Exec("UPDATE board_threads SET visibility = ? WHERE id = ?", to, t.ID); err != nil {
		return err
	}
	t.Visibility = to
	if threads <= 0 {
		return nil
	}
	return content.CountThread(c, t.ID, t.Forum, threads)
}

// replyShifted counts a reply that comes (1) or goes (-1), and tells how many
// posts more the forum shows.
func replyShifted(c store.Conn, t *content.Thread, p *content.Post, shown int64) (posts int64, err error) {
	t.Replies += shown
	if _, err := c.Exec("UPDATE board_threads SET reply_count = reply_count + ? WHERE id = ?", shown, t.ID); err != nil ||
		t.Visibility != rights.Visible {
		return 0, err
	}
	return shown, content.CountPosts(c, p.Author, t.Forum, shown)
}

// lastOfThread finds the last visible post of a thread anew; a thread without
// one keeps its first.
func lastOfThread(c store.Conn, t *content.Thread) error {
	var id int64
	var at kernel.Moment
	var name string
	err := c.Row("SELECT p.id, p.created_at, p.author_name FROM board_posts p WHERE p.thread_id = ? AND p.visibility = 0"+
		" ORDER BY p.id DESC LIMIT 1", t.ID).Scan(&id, &at, &name)
	if errors.Is(err, sql.ErrNoRows) {
		err = c.Row("SELECT p.id, p.created_at, p.author_name FROM board_posts p WHERE p.thread_id = ? ORDER BY p.id LIMIT 1",
			t.ID).Scan(&id, &at, &name)
	}
	if err != nil {
		return err
	}
	_, err = c.Exec("UPDATE board_threads SET last_post_id = ?, last_post_at = ?, last_poster_name = ? WHERE id = ?",
		id, at, name, t.ID)
	return err
}

// Delete hides a post; a first post hides its thread. One that is not as match
// says stays.
func (s *Service) Delete(
	ctx context.Context, a *rights.Actor, inThread, id int64, match rest.Match,
) (changed bool, err error) {
	err = s.Write(ctx, func(c store.Conn) error {
		changed, err = s.DeleteBy(c, a, inThread, id, match)
		return err
	})
	return changed, err
}

// DeleteBy is Delete as a part of a transaction.
func (s *Service) DeleteBy(
	c store.Conn, a *rights.Actor, inThread, id int64, match rest.Match,
) (changed bool, err error) {
	at, err := placeOf(c, a, inThread, id, c.Lock())
	if err != nil {
		return false, err
	}
	f, t, p := at.forum, at.thread, at.post
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

// mayDelete tells by which right the actor may delete a post that it sees.
func mayDelete(a *rights.Actor, f *content.Forum, t *content.Thread, p *content.Post) (rights.Mask, error) {
	own := a.Owns(p.Author) && a.Has(t.Forum, rights.PostDeleteOwn)
	switch {
	case a.Has(t.Forum, rights.PostDeleteOthers):
	case !own, p.Number == 1 && t.Replies > 0:
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

// Settled is where a post went.
type Settled struct {
	Post, Thread, Visibility int64
	Tag                      string // of the post as it is now
}

// Decision is what a moderator says of a held post, and what it was made of: an author may
// change the post while it is looked at.
type Decision struct {
	Reason string
	Match  rest.Match // by the Tag of the post
	Seen   string     // Held.Version; empty: any
}

// Restore brings a deleted post back.
func (s *Service) Restore(ctx context.Context, a *rights.Actor, id int64) (Settled, error) {
	return s.moderate(ctx, a, id, rights.Deleted, rights.Visible, rights.PostRestore, "post.restore", Decision{})
}

// Approve lets a held post out of the queue, and its thread with a first post.
func (s *Service) Approve(ctx context.Context, a *rights.Actor, id int64, d Decision) (Settled, error) {
	return s.moderate(ctx, a, id, rights.Unapproved, rights.Visible, rights.ContentApprove, "post.approve", d)
}

// Reject deletes a held post.
func (s *Service) Reject(ctx context.Context, a *rights.Actor, id int64, d Decision) (Settled, error) {
	return s.moderate(ctx, a, id, rights.Unapproved, rights.Deleted, rights.ContentApprove, "post.reject", d)
}

func (s *Service) moderate(
	ctx context.Context, a *rights.Actor, id, from, to int64, right rights.Mask, action string, d Decision,
) (done Settled, err error) {
	reason, reasonErr := kernel.CheckReason(d.Reason)
	err = s.Write(ctx, func(c store.Conn) error {
		if from == rights.Deleted {
			if err := unarchive(c, id); err != nil {
				return err
			}
		}
		t, p, err := content.PostByID(c, a, id, c.Lock())
		if err != nil {
			return err
		}
		if !a.Has(t.Forum, right) {
			return kernel.Forbidden("postId", "no_permission", "you may not do this in this forum")
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		if reasonErr != nil {
			return reasonErr
		}
		if p.Visibility != from {
			return kernel.Conflict("this is settled already: the post is " + rights.VisibilityNames[p.Visibility])
		}
		if err := d.holds(c, t, p); err != nil {
			return err
		}
		if err := s.rights.Logged(c, a, action, right, t.Forum, t.ID, p.ID, reason); err != nil {
			return err
		}
		if from == rights.Deleted {
			// the archive may be older than its words
			if err := search.Index(c, p.ID, p.Number == 1, t.Title, p.Message); err != nil {
				return err
			}
		}
		var held string
		if err := c.Row("SELECT COALESCE(held_reason, '') FROM board_post_ids WHERE id = ?", p.ID).Scan(&held); err != nil {
			return err
		}
		threads, posts, err := s.shift(c, t, p, to, "")
		if err != nil {
			return err
		}
		done = Settled{p.ID, t.ID, to, content.ViewPost(p).Tag()}
		if from == rights.Unapproved && to == rights.Visible {
			if err := s.approved(c, t, p, held); err != nil {
				return err
			}
		}
		return content.Count(c, t.Forum, t.ID, threads, posts) // behind the followers of a forum
	})
	return done, err
}

// holds refuses a decision on another version of a post.
func (d Decision) holds(c store.Conn, t *content.Thread, p *content.Post) error {
	if err := d.Match.Check(content.ViewPost(p).Tag()); err != nil || d.Seen == "" {
		return err
	}
	files, err := attachments.Of(c, p.ID)
	if err != nil {
		return err
	}
	return rest.Match(func(tag string) bool { return tag == d.Seen }).Check(heldVersion(t, p, files))
}

// heldVersion changes with all of a post that a moderator looks at.
func heldVersion(t *content.Thread, p *content.Post, files []attachments.Attachment) string {
	ids := make([]int64, len(files))
	for i := range files {
		ids[i] = files[i].ID
	}
	return kernel.Tag(map[string]any{"title": t.Title, "message": p.Message, "files": ids})
}

// heldByEdit is why a post is held that was visible before.
const heldByEdit = "edit"

// approved tells of what was withheld.
func (s *Service) approved(c store.Conn, t *content.Thread, p *content.Post, held string) error {
	if held == heldByEdit {
		if err := s.following.MailLater(c, t, p); err != nil {
			return err
		}
	} else {
		if err := s.following.Notify(c, &rights.Actor{User: &rights.User{ID: p.Author, Name: p.AuthorName}}, t, p.ID,
			p.Number == 1); err != nil {
			return err
		}
	}
	if p.Number > 1 {
		return nil
	}
	return s.following.CatchUp(c, t)
}

// Held is a post of the queue.
type Held struct {
	Post    *content.Post
	Thread  *content.Thread
	Reason  string
	Files   Files  // but for the images in its text
	Version string // for a Decision
}

// Files are files at a post.
type Files []attachments.Attachment

// Queue lists held posts, oldest first, of one forum or (0) of all in which the
// actor may approve.
func (s *Service) Queue(
	ctx context.Context, a *rights.Actor, in, after int64, limit int,
) (list []Held, next int64, err error) {
	forums, err := s.Moderated(ctx, a, in)
	if err != nil {
		return nil, 0, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		list, next, err = queue(c, a, forums, after, limit)
		return err
	})
	return list, next, err
}

func queue(c store.Conn, a *rights.Actor, forums []int64, after int64, limit int) (list []Held, next int64, err error) {
	type entry struct {
		id, thread int64
		reason     string
	}
	var entries []entry
	for _, id := range forums {
		err := c.All(queueOfForum().SQL(c.Dialect()), []any{id, after, limit + 1}, func(r store.Row) error {
			var e entry
			err := r.Scan(&e.id, &e.thread, &e.reason)
			entries = append(entries, e)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
	}
	kernel.SortBy(entries, func(e entry) int64 { return e.id })
	entries, next = store.CutAt(entries, limit, func(e entry) int64 { return e.id })
	for _, e := range entries {
		t, p, err := content.PostByID(c, a, e.id, "")
		if kernel.NotFoundErr(err) {
			continue // settled meanwhile
		}
		if err != nil {
			return nil, 0, err
		}
		files, err := attachments.Of(c, p.ID)
		if err != nil {
			return nil, 0, err
		}
		listed := attachments.NotPlaced(files, content.ViewPost(p).MessageHTML)
		list = append(list, Held{p, t, e.reason, listed, heldVersion(t, p, files)})
	}
	return list, next, nil
}

// ThreadChange is what may be changed of a thread; nil stays.
type ThreadChange struct {
	Title  *string
	Prefix *int64 // 0: none
	Locked *bool
	Sticky *bool
	Forum  *int64
}

// Change changes a thread.
func (s *Service) Change(ctx context.Context, a *rights.Actor, id int64, change ThreadChange) error {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return err
	}
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
		return s.change(c, a, access, f, target, t, change)
	})
}

// mayChange checks every part before any is done, and finds the forum that the
// Thread goes to; nil: it stays.
func (s *Service) mayChange(
	c store.Conn, a *rights.Actor, f *content.Forum, t *content.Thread, change ThreadChange,
) (target *content.Forum, err error) {
	no := func(field string) error {
		return kernel.Forbidden(field, "no_permission", "you may not change this of the thread")
	}
	if change.Title != nil || change.Prefix != nil {
		owner := a.Owns(t.Author) && a.Has(t.Forum, rights.PostEditOwn) && (!t.Locked && f.Open ||
			a.Has(t.Forum, rights.LockBypass)) &&
			!s.windowClosed(a, f, &content.Post{Created: t.Created}, s.Moment())
		if !a.Has(t.Forum, rights.ThreadEditTitle) && !owner {
			return nil, no("title")
		}
	}
	if change.Locked != nil && !a.Has(t.Forum, rights.ThreadLock) {
		return nil, no("isLocked")
	}
	if change.Sticky != nil && !a.Has(t.Forum, rights.ThreadStick) {
		return nil, no("isSticky")
	}
	if change.Forum == nil || *change.Forum == t.Forum {
		return nil, nil
	}
	if !a.Has(t.Forum, rights.ThreadMove) {
		return nil, no("forumId")
	}
	if target, err = content.ForumFor(c, a, *change.Forum); kernel.NotFoundErr(err) {
		return nil, kernel.Invalid("forumId", "unknown", "there is no forum that you see by that id")
	}
	if err != nil {
		return nil, err
	}
	switch {
	case target.Kind != "forum":
		return nil, kernel.Invalid("forumId", "not_a_forum", "a "+target.Kind+" holds no threads")
	case !a.Has(target.ID, rights.ThreadPost):
		return nil, no("forumId")
	}
	return target, nil
}

func (s *Service) change(
	c store.Conn, a *rights.Actor, access *rights.Access, f, target *content.Forum, t *content.Thread, change ThreadChange,
) error {
	if change.Title != nil {
		if err := s.retitle(c, a, f, t, *change.Title); err != nil {
			return err
		}
	}
	home := f
	if target != nil {
		home = target
	}
	id := t.Prefix
	if change.Prefix != nil {
		id = *change.Prefix
	}
	if change.Prefix != nil || target != nil {
		if err := checkPrefix(access, home, id); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE board_threads SET prefix_id = ? WHERE id = ?", kernel.Null(id), t.ID); err != nil {
			return err
		}
	}
	for _, flag := range []struct {
		to             *bool
		column, action string
		right          rights.Mask
	}{
		{change.Locked, "is_locked", "thread.lock", rights.ThreadLock},
		{change.Sticky, "is_sticky", "thread.stick", rights.ThreadStick},
	} {
		if flag.to == nil {
			continue
		}
		if err := s.rights.Logged(c, a, flag.action, flag.right, t.Forum, t.ID, 0,
			kernel.Itoa(int64(kernel.Bool(*flag.to)))); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE board_threads SET "+flag.column+" = ? WHERE id = ?",
			kernel.Bool(*flag.to), t.ID); err != nil {
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

// retitle gives a thread another title: a part of its first post, which is held
// where an edit would be.
func (s *Service) retitle(c store.Conn, a *rights.Actor, f *content.Forum, t *content.Thread, text string) error {
	given, err := a.Rights.Settings.CheckTitle(text)
	if err != nil {
		return err
	}
	title, err := filteredTitle(a, given)
	if err != nil || title == t.Title {
		return err
	}
	if err := s.spendEdit(c, a, f, s.Moment()); err != nil {
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
	p, err := content.ScanPost(c.Row("SELECT "+content.PostColumns+" FROM board_posts p WHERE p.thread_id = ?"+
		" AND p.id = ?", t.ID, t.First))
	if err != nil {
		return err
	}
	if err := search.Index(c, p.ID, true, title, p.Message); err != nil {
		return err
	}
	if p.Visibility != rights.Visible || !heldFor(a, t.Forum, a.Rights.Access.Words.Holds(given) ||
		a.Rights.Access.Words.Holds(title)) {
		return nil
	}
	return s.settle(c, t, p, rights.Unapproved, heldByEdit)
}

// move puts a thread and its posts into another forum.
func move(c store.Conn, t *content.Thread, to int64) error {
	from := t.Forum
	if _, err := c.Exec("UPDATE board_threads SET forum_id = ? WHERE id = ?", to, t.ID); err != nil {
		return err
	}
	for _, statement := range []string{
		"UPDATE board_post_ids SET forum_id = ? WHERE id IN (SELECT id FROM board_posts WHERE thread_id = ?)",
		"UPDATE board_post_ids SET forum_id = ? WHERE id IN (SELECT id FROM board_posts_archive WHERE thread_id = ?)",
		// for the moderators there
		"UPDATE board_reports SET forum_id = ? WHERE post_id IN (SELECT id FROM board_posts WHERE thread_id = ?)",
		"UPDATE board_reports SET forum_id = ? WHERE post_id IN (SELECT id FROM board_posts_archive WHERE thread_id = ?)",
	} {
		if _, err := c.Exec(statement, to, t.ID); err != nil {
			return err
		}
	}
	if t.Visibility == rights.Visible {
		// In order, the authors' rows first, so that moves and posts do not lock each
		// other out.
		forums := []int64{min(from, to), max(from, to)}
		sign := map[int64]int64{from: -1, to: 1}
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
	t.Forum = to
	return nil
}

// Moderated are the forums whose queue, reports and log the actor may see: one,
// or (0) all in which it may approve.
func (s *Service) Moderated(ctx context.Context, a *rights.Actor, in int64) (forums []int64, err error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range access.Order {
		if f := a.In(id); f.Visible && f.Mask.Has(rights.ContentApprove) && (in == 0 || in == id) {
			forums = append(forums, id)
		}
	}
	switch {
	case len(forums) > 0:
		return forums, nil
	case in != 0 && !a.In(in).Visible:
		return nil, kernel.NotFound()
	case in != 0:
		return nil, kernel.Forbidden("forum", "no_permission", "you may not approve in this forum")
	}
	return nil, kernel.Forbidden("forum", "no_permission", "you may not approve in any forum")
}
