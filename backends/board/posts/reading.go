package posts

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Reading is a page or another part of a thread.
type Reading struct {
	Thread    content.ThreadInfo
	Forum     content.ForumInfo
	Above     []content.ForumInfo // the ancestors of the forum, from the root down
	Posts     []PostView
	Answer    *content.PostInfo // the reply that answers the thread; nil if none does, or the actor does not see it
	Moved     []MovedPost       // posts that were moved from this part of the thread to another one
	LastRead  int64             // the last post that the actor has read
	HasUnread bool              // whether the actor has an unseen notification of one of the posts
	Mode      string            // the mode in which the actor follows the thread
	HasPoll   bool              // whether a post of the thread may have a poll
	Can       ThreadCan
	// Page is the number of the page, or 0 if the part does not begin at a page. Pages is the number of pages.
	Page, Pages int64
	// Before and After are the ids of the posts after which the previous and the next part of the thread begin. They are
	// nil if there is no such part, or if it is a page with a number.
	Before, After *int64
}

// PostView is a post as the actor sees it.
type PostView struct {
	content.PostInfo
	New         bool // the actor has not read the post
	IsAnswer    bool // the post is the answer of its thread
	Bookmarked  bool // the actor has bookmarked the post
	Ignored     bool // the actor ignores the post's author
	Reactions   []reactions.Count
	Attachments []attachments.Attachment

	// The following fields report which actions the actor may take. Answers is for marking the post as the answer and for
	// removing the mark, History for seeing the former texts, if any, and Warn for warning the author.
	Edit, Delete, Restore, Approve, Report, Attach, React, Answers, History, Warn bool
}

// ThreadCan lists which actions the actor may take in a thread.
type ThreadCan struct {
	Reply, Title, Lock, Stick, Move, Subscribe bool
}

// ReadThread returns up to limit posts of a thread, beginning after the post with the id afterID, and counts a view.
func (s *Service) ReadThread(ctx context.Context, a *rights.Actor, id, afterID int64, limit int) (*Reading, error) {
	return s.read(ctx, a, id, 0, afterID, limit)
}

// read reads the page of a thread with this number or, if number is 0, the posts that follow the post with the id
// afterID. It counts a view.
func (s *Service) read(ctx context.Context, a *rights.Actor, id, number, afterID int64, limit int) (*Reading, error) {
	forums, err := s.Forums(ctx, a)
	if err != nil {
		return nil, err
	}
	var page *Reading
	err = s.Read(ctx, func(c store.Conn) error {
		page = &Reading{Page: number}
		t, err := content.ThreadFor(c, a, id, "")
		if err != nil {
			return err
		}
		f, err := content.ForumFor(c, a, t.Forum)
		if err != nil {
			return err
		}
		marks, err := content.MarksOf(c, a, []*content.Thread{t})
		if err != nil {
			return err
		}
		now := s.Moment()
		page.Thread, page.Forum = content.ViewThread(a, t, marks, now), s.viewForum(a, f)
		page.Above, page.LastRead = forumsAbove(forums, t.Forum), marks.Read[t.ID]
		page.Can, page.HasPoll = s.threadCan(c, a, f, t), t.HasPoll
		if page.Pages, err = pagesOf(c, a, t, int64(limit)); err != nil {
			return err
		}
		if err := s.readPosts(c, a, f, t, marks, page, afterID, limit); err != nil {
			return err
		}
		if page.Answer, err = answerOf(c, a, f, t); err != nil || a.User == nil { // guests follow no threads
			return err
		}
		page.Mode, err = following.Subscribed(c, a.ID(), following.Thread, t.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.CountView(id)
	return page, nil
}

// readPosts sets the fields of page that depend on its posts. These are the posts of the page with the number page.Page
// or, if that is 0, up to limit posts that follow the post with the id afterID.
func (s *Service) readPosts(c store.Conn, a *rights.Actor, f *content.Forum, t *content.Thread, marks content.Marks,
	page *Reading, afterID int64, limit int,
) (err error) {
	var list []*content.Post
	var more bool
	if page.Page > 0 {
		list, more, err = s.pagePosts(c, a, t, page, limit)
	} else {
		list, more, err = s.posts(c, a, t, afterID, limit)
	}
	if err != nil {
		return err
	}
	now := s.Moment()
	for _, p := range list {
		view := s.viewPostFor(a, f, t, p, now)
		view.New = a.User != nil && p.ID > page.LastRead && p.Created > marks.Since(t.Forum, now)
		page.Posts = append(page.Posts, view)
	}
	if err := addReactions(c, a, t, list, page.Posts, now); err != nil {
		return err
	}
	if err := addAttachments(c, page.Posts); err != nil {
		return err
	}
	if page.Moved, err = movedPosts(c, t, page, list, more, limit); err != nil {
		return err
	}
	// The part before this one ends with the post afterID itself.
	if afterID > 0 {
		if page.Before, err = stepBack(c, a, t, afterID+1, limit); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1].ID
	if more {
		page.After = &last
	}
	if a.User != nil {
		page.HasUnread, err = following.HasUnread(c, a, t.ID, last)
	}
	return err
}

// viewPostFor returns the view of a post with the actions that the actor may take on it. It does not set the fields
// that need further queries: New, Bookmarked, Ignored, React, Reactions and Attachments.
func (s *Service) viewPostFor(
	a *rights.Actor, f *content.Forum, t *content.Thread, p *content.Post, now kernel.Moment,
) PostView {
	view := PostView{PostInfo: content.ViewPost(p)}
	_, editErr := s.mayEdit(a, f, t, p, now)
	_, deleteErr := mayDelete(a, f, t, p)
	suspended := a.CheckSuspended(now) != nil
	view.Edit = a.User != nil && editErr == nil && p.Visibility != rights.Deleted
	view.Attach = view.Edit && a.Has(t.Forum, rights.AttachmentUpload) && a.Rights.Settings.MaxAttachments > 0
	view.Delete = a.User != nil && deleteErr == nil && p.Visibility != rights.Deleted && !suspended
	view.Restore = a.Has(t.Forum, rights.PostRestore) && p.Visibility == rights.Deleted && !suspended
	view.Approve = a.Has(t.Forum, rights.ContentApprove) && p.Visibility == rights.Unapproved && !suspended
	view.Report = a.User != nil && a.May(rights.ReportCreate) && !a.Owns(p.Author) && !suspended
	view.Warn = a.Has(t.Forum, rights.ContentApprove) && p.Author != 0 && !a.Owns(p.Author) && !suspended
	view.IsAnswer = f.Answers && t.Answer == p.ID
	view.Answers = !suspended && mayAnswer(a, f, t, p) == nil
	view.History = p.Edits > 0 && (a.Owns(p.Author) || a.Has(t.Forum, rights.PostEditOthers))
	return view
}

// threadCan returns the actions that the actor may take in thread t of forum f.
func (s *Service) threadCan(c store.Conn, a *rights.Actor, f *content.Forum, t *content.Thread) (actions ThreadCan) {
	if a.User == nil || a.CheckSuspended(s.Moment()) != nil {
		return actions
	}
	allows := func(change ThreadChange) bool {
		_, err := s.mayChange(c, a, f, t, change)
		return err == nil
	}
	return ThreadCan{
		Reply: s.mayReply(a, f, t) == nil, Title: allows(ThreadChange{Title: &t.Title}),
		Lock: allows(ThreadChange{Locked: new(true)}), Stick: allows(ThreadChange{Sticky: new(true)}),
		Move: a.Has(t.Forum, rights.ThreadMove), Subscribe: a.Has(t.Forum, rights.ForumSubscribe),
	}
}

// postsBefore returns the query for the ids of the posts before a post of a thread, in reverse order of the primary
// key. Its arguments are the thread's id, the id of that post, and the limit. shows is a condition of Actor.Shows.
func postsBefore(shows string) content.Listing {
	return content.Listing{
		Columns: "p.id", From: "board_posts p",
		Where: "p.thread_id = ? AND p.id < ? AND p.visibility " + shows, Order: "p.id DESC",
	}
}

// heldBefore returns the query for the held posts of an author before a post of a thread, in reverse order. Its
// arguments are the author's id, the thread's id, the id of that post, and the limit.
func heldBefore() content.Listing {
	return content.Listing{
		Columns: "i.id", From: "board_post_ids i", Index: "board_post_ids_held_author",
		Where: "i.author_id = ? AND i.thread_id = ? AND i.visibility = 1 AND i.id < ?", Order: "i.id DESC",
	}
}

// stepBack finds the part of a thread that has n posts and ends before the post with the id beforeID. It returns the
// id after which to read this part. That id is 0 if fewer than n+1 posts precede the post. If no posts precede the
// post, stepBack returns nil. It counts the same posts as Posts, including held posts of the actor.
func stepBack(c store.Conn, a *rights.Actor, t *content.Thread, beforeID int64, n int) (*int64, error) {
	shows := a.Shows(t.Forum)
	ids, err := store.Column[int64](c, postsBefore(shows).SQL(c.Dialect()), t.ID, beforeID, n+1)
	if err != nil {
		return nil, err
	}
	if lacksOwnHeld(a, shows) {
		held, err := store.Column[int64](c, heldBefore().SQL(c.Dialect()), a.ID(), t.ID, beforeID, n+1)
		if err != nil {
			return nil, err
		}
		ids = append(ids, held...)
		kernel.SortBy(ids, func(id int64) int64 { return -id })
		ids = slices.Compact(ids) // a post that was approved between the two queries is in both results
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var start int64
	if len(ids) > n {
		start = ids[n]
	}
	return &start, nil
}

// Thread returns a thread that the actor sees.
func (s *Service) Thread(ctx context.Context, a *rights.Actor, id int64) (content.ThreadInfo, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (view content.ThreadInfo, err error) {
		t, err := content.ThreadFor(c, a, id, "")
		if err != nil {
			return view, err
		}
		marks, err := content.MarksOf(c, a, []*content.Thread{t})
		view = content.ViewThread(a, t, marks, s.Moment())
		return view, err
	})
}

// Place says where a reader finds a post: on a page of its thread or, if Page is 0, in the part of the thread that
// begins after the post with the id After.
type Place struct {
	Thread      content.ThreadInfo
	Page, After int64
	Number      int64 // the number of the post in its thread
}

// PlaceOf returns the place of the post with this id, for pages of pageSize posts.
func (s *Service) PlaceOf(ctx context.Context, a *rights.Actor, id int64, pageSize int) (Place, error) {
	return s.place(ctx, a, func(c store.Conn) (*content.Thread, *content.Post, error) {
		return content.PostByID(c, a, id, "")
	}, pageSize)
}

// FirstUnread returns the place of the first post of a thread that is new to the actor. If no post is new, it returns
// the place of the last post.
func (s *Service) FirstUnread(ctx context.Context, a *rights.Actor, id int64, pageSize int) (Place, error) {
	return s.place(ctx, a, func(c store.Conn) (*content.Thread, *content.Post, error) {
		t, err := content.ThreadFor(c, a, id, "")
		if err != nil {
			return nil, nil, err
		}
		marks, err := content.MarksOf(c, a, []*content.Thread{t})
		if err != nil {
			return nil, nil, err
		}
		if a.User != nil {
			lastRead, err := lastSeen(c, marks, t, s.Moment())
			if err != nil {
				return nil, nil, err
			}
			return s.firstAfter(c, a, t, lastRead)
		}
		return lastPost(c, a, t)
	}, pageSize)
}

// maxUnreadPosts limits how many of a thread's newest posts lastSeen examines.
const maxUnreadPosts = 1000

// newestPosts returns the query for the newest posts of a thread, in reverse order of the primary key. Its arguments
// are the thread's id, an id that is less than the ids of the selected posts, and the limit.
func newestPosts() content.Listing {
	return content.Listing{
		Columns: "p.id, p.created_at", From: "board_posts p",
		Where: "p.thread_id = ? AND p.id > ?", Order: "p.id DESC",
	}
}

// lastSeen returns the id of the last post of a thread that is not new to the member. A post is not new if the member
// has read it, if the member has marked the forum as read after the post was written, or if the post is older than
// content.KeepUnread.
func lastSeen(c store.Conn, marks content.Marks, t *content.Thread, now kernel.Moment) (id int64, err error) {
	read := marks.Read[t.ID]
	err = c.Row("SELECT COALESCE(max(n.id), 0) FROM ("+newestPosts().SQL(c.Dialect())+") n WHERE n.created_at <= ?",
		t.ID, read, maxUnreadPosts, marks.Since(t.Forum, now)).Scan(&id)
	return max(id, read), err
}

// LastPlace returns the place of the last post of a thread.
func (s *Service) LastPlace(ctx context.Context, a *rights.Actor, id int64, pageSize int) (Place, error) {
	return s.place(ctx, a, func(c store.Conn) (*content.Thread, *content.Post, error) {
		t, err := content.ThreadFor(c, a, id, "")
		if err != nil {
			return nil, nil, err
		}
		return lastPost(c, a, t)
	}, pageSize)
}

// firstAfter returns a thread and the first of its posts that follow the post with the id afterID. If there is none, it
// returns the last post.
func (s *Service) firstAfter(
	c store.Conn, a *rights.Actor, t *content.Thread, afterID int64,
) (*content.Thread, *content.Post, error) {
	list, _, err := s.posts(c, a, t, afterID, 1)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		return lastPost(c, a, t)
	}
	return t, list[0], nil
}

// lastPost returns a thread and its last post. In a held thread, it returns the first post if the actor does not see
// the last one.
func lastPost(c store.Conn, a *rights.Actor, t *content.Thread) (*content.Thread, *content.Post, error) {
	p, err := content.PostFor(c, a, t, t.Last)
	if kernel.IsNotFound(err) { // the actor may see only the first post of a held thread
		p, err = content.PostFor(c, a, t, t.First)
	}
	return t, p, err
}

// place returns the place of the post that find returns, for pages of pageSize posts.
func (s *Service) place(
	ctx context.Context, a *rights.Actor, find func(c store.Conn) (*content.Thread, *content.Post, error), pageSize int,
) (Place, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (place Place, err error) {
		t, p, err := find(c)
		if err != nil {
			return place, err
		}
		place = Place{Thread: content.ViewThread(a, t, content.Marks{}, s.Moment()), Number: p.Number}
		if place.Page, err = pageOf(c, a, t, p, pageSize); err != nil || place.Page > 0 {
			return place, err
		}
		// The page of the sought post has too many posts and does not show it (see pageOf). So the place has no page. Instead
		// it has the post after which to read, so that as many posts precede the sought post as would on its page.
		start, err := stepBack(c, a, t, p.ID, int(p.Number-1)%pageSize)
		if err == nil && start != nil {
			place.After = *start
		}
		return place, err
	})
}

// PostInfo returns a post of a thread. It returns an error if the actor does not see the post.
func (s *Service) PostInfo(ctx context.Context, a *rights.Actor, thread, id int64) (content.PostInfo, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (view content.PostInfo, err error) {
		_, p, err := content.PostIn(c, a, thread, id, "")
		if err == nil {
			view = content.ViewPost(p)
		}
		return view, err
	})
}

// Post returns a post of a thread, with the actions that the actor may take on it, and the thread.
func (s *Service) Post(
	ctx context.Context, a *rights.Actor, thread, id int64,
) (view PostView, info content.ThreadInfo, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		loaded, err := loadPost(c, a, thread, id, "")
		if err != nil {
			return err
		}
		now := s.Moment()
		view = s.viewPostFor(a, loaded.forum, loaded.thread, loaded.post, now)
		info = content.ViewThread(a, loaded.thread, content.Marks{}, now)
		return nil
	})
	return view, info, err
}

// PostByID works like Post, given only the id of the post.
func (s *Service) PostByID(
	ctx context.Context, a *rights.Actor, id int64,
) (view PostView, info content.ThreadInfo, err error) {
	var thread int64
	err = s.Read(ctx, func(c store.Conn) error {
		return kernel.OrNotFound(c.Row("SELECT thread_id FROM board_post_ids WHERE id = ?", id).Scan(&thread))
	})
	if err != nil {
		return view, info, err
	}
	return s.Post(ctx, a, thread, id)
}
