package posts

import (
	"context"
	"math"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// What people look at: several reads in one, for a page.

// ForumEntry is a forum in the tree.
type ForumEntry struct {
	content.ForumInfo
	Unread bool
	Last   *content.ThreadInfo // the thread with the newest post; nil: none that the actor sees
}

// forumsAbove returns the forums that a forum lies in, from the root on.
func forumsAbove(list []content.ForumInfo, id int64) (above []content.ForumInfo) {
	by := make(map[int64]content.ForumInfo, len(list))
	for _, f := range list {
		by[f.ID] = f
	}
	for f := by[id]; f.ParentID != nil; {
		f = by[*f.ParentID]
		above = append(above, f)
	}
	slices.Reverse(above)
	return above
}

const (
	// unreadLooked bounds how many threads of a forum are looked at for one that
	// is unread, and unreadForums how many forums.
	unreadLooked = 50
	unreadForums = 50
)

// Tree lists the forums that the actor sees, depth first, with what is new.
func (s *Service) Tree(ctx context.Context, a *rights.Actor) ([]ForumEntry, error) {
	list, err := s.Forums(ctx, a)
	if err != nil {
		return nil, err
	}
	return s.tree(ctx, a, list)
}

// tree adds what is new to a list of forums.
func (s *Service) tree(ctx context.Context, a *rights.Actor, list []content.ForumInfo) ([]ForumEntry, error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, err
	}
	tree := make([]ForumEntry, len(list))
	at := make(map[int64]*ForumEntry, len(list))
	for i, f := range list {
		tree[i].ForumInfo = f
		at[f.ID] = &tree[i]
	}
	err = s.Read(ctx, func(c store.Conn) error {
		now := s.Moment()
		last := make(map[int64]*content.Thread)
		err := c.All(content.NewestThreads(c.Dialect()), nil, func(r store.Row) error {
			t, err := content.ScanThread(r)
			last[t.Forum] = t
			return err
		})
		if err != nil {
			return err
		}
		read, err := content.ForumReads(c, a)
		if err != nil {
			return err
		}
		looked := 0
		for id, t := range last {
			f := at[id]
			if f == nil || !a.Has(id, rights.ThreadView|rights.ThreadViewOthers) {
				continue
			}
			info := content.ViewThread(access, a, t, content.Marks{}, now)
			f.Last = &info
			if a.User == nil || t.LastAt <= max(read[id], now.Add(-content.KeepUnread)) {
				continue
			}
			if f.Unread = true; looked < unreadForums {
				looked++
				if f.Unread, err = s.hasUnread(c, a, id, now); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return tree, err
}

// hasUnread looks through the newest threads of a forum.
func (s *Service) hasUnread(c store.Conn, a *rights.Actor, forum int64, now kernel.Moment) (bool, error) {
	var page []*content.Thread
	err := c.All(threadsOfForum("= 0").SQL(c.Dialect()), []any{forum, math.MaxInt64, math.MaxInt64, unreadLooked},
		func(r store.Row) error {
			t, err := content.ScanThread(r)
			page = append(page, t)
			return err
		})
	if err != nil {
		return false, err
	}
	noted, err := content.MarksOf(c, a, page)
	return slices.ContainsFunc(page, func(t *content.Thread) bool { return noted.Unread(t, now) }), err
}

// threadList opens a forum for its threads. The rights know what kind it is: its
// row is not read.
func threadList(a *rights.Actor, id int64) error {
	f, known := a.In(id), a.Rights.Access.Forums[id]
	if !f.Visible || known == nil || known.Kind != "forum" {
		return kernel.NotFound()
	}
	if !f.Seen {
		a.Looked(id)
	}
	if !f.Mask.Has(rights.ThreadView) {
		return kernel.Forbidden("forumId", "no_permission", "you may not read the threads of this forum")
	}
	return nil
}

// Threads lists the threads of a forum, newest activity first, behind a cursor.
// next is the cursor of the page behind, and empty on the last page.
func (s *Service) Threads(
	ctx context.Context, a *rights.Actor, in int64, after string, most int,
) (list []content.ThreadInfo, next string, err error) {
	var from Position
	if after != "" {
		var ok bool
		if from, ok = s.readCursor(in, after); !ok {
			return nil, "", kernel.BadRequest("after", "after must be the nextCursor of a page of this forum, unchanged")
		}
	}
	access := a.Rights.Access
	err = s.ReadBriefly(ctx, func(c store.Conn) error {
		list, next = []content.ThreadInfo{}, ""
		if err := threadList(a, in); err != nil {
			return err
		}
		page, more, err := s.threads(c, a, in, from, most)
		if err != nil {
			return err
		}
		if list, err = s.viewThreads(c, access, a, page); err == nil && more {
			last := page[len(page)-1]
			next = s.Cursor(in, Position{last.LastAt, last.ID})
		}
		return err
	})
	return list, next, err
}

func (s *Service) viewThreads(
	c store.Conn, access *rights.Access, a *rights.Actor, page []*content.Thread,
) ([]content.ThreadInfo, error) {
	noted, err := content.MarksOf(c, a, page)
	if err != nil {
		return nil, err
	}
	list := make([]content.ThreadInfo, 0, len(page))
	now := s.Moment()
	for _, t := range page {
		list = append(list, content.ViewThread(access, a, t, noted, now))
	}
	return list, nil
}

// maxSticky bounds the block of sticky threads.
const maxSticky = 50

// Sticky lists the sticky threads of a forum.
func (s *Service) Sticky(ctx context.Context, a *rights.Actor, in int64) (list []content.ThreadInfo, err error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		if err := threadList(a, in); err != nil {
			return err
		}
		var page []*content.Thread
		err := c.All(stickyThreads(a.Shows(in)).SQL(c.Dialect()), []any{in, maxSticky}, func(r store.Row) error {
			t, err := content.ScanThread(r)
			if err == nil && a.Sees(t.Forum, t.Author, t.Author, t.Visibility) {
				page = append(page, t)
			}
			return err
		})
		if err != nil {
			return err
		}
		list, err = s.viewThreads(c, access, a, page)
		return err
	})
	return list, err
}

// Recent lists the threads with the newest posts that the actor sees, of one
// forum or (0) of all, each with its first post.
func (s *Service) Recent(
	ctx context.Context, a *rights.Actor, in int64, most int,
) (threads []content.ThreadInfo, first []content.PostInfo, err error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, nil, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		threads, first = nil, nil
		if in != 0 {
			if err := threadList(a, in); err != nil {
				return err
			}
		}
		var page []*content.Thread
		for _, id := range access.Order {
			if in != 0 && id != in || !a.MayIn(id, rights.ThreadView|rights.ThreadViewOthers) {
				continue
			}
			err := c.All(threadsOfForum("= 0").SQL(c.Dialect()), []any{id, math.MaxInt64, math.MaxInt64, most},
				func(r store.Row) error {
					t, err := content.ScanThread(r)
					page = append(page, t)
					return err
				})
			if err != nil {
				return err
			}
			kernel.SortBy(page, func(t *content.Thread) int64 { return -int64(t.LastAt) })
			page = page[:min(len(page), most)]
		}
		now := s.Moment()
		for _, t := range page {
			p, err := content.PostFor(c, a, t, t.First)
			if kernel.NotFoundErr(err) {
				continue
			}
			if err != nil {
				return err
			}
			threads, first = append(threads, content.ViewThread(access, a, t, content.Marks{}, now)),
				append(first, content.ViewPost(p))
		}
		return nil
	})
	return threads, first, err
}

// Forum reads a forum with those above and below it.
func (s *Service) Forum(
	ctx context.Context, a *rights.Actor, id int64,
) (f ForumEntry, above []content.ForumInfo, below []ForumEntry, err error) {
	list, err := s.Forums(ctx, a)
	if err != nil {
		return f, nil, nil, err
	}
	i := slices.IndexFunc(list, func(f content.ForumInfo) bool { return f.ID == id })
	if i < 0 {
		return f, nil, nil, kernel.NotFound()
	}
	end := i + 1
	for end < len(list) && list[end].Depth > list[i].Depth {
		end++
	}
	tree, err := s.tree(ctx, a, list[i:end])
	if err != nil {
		return f, nil, nil, err
	}
	return tree[0], forumsAbove(list, id), tree[1:], nil
}

// viewForum returns a forum as an actor sees it.
func (s *Service) viewForum(access *rights.Access, a *rights.Actor, f *content.Forum) content.ForumInfo {
	view := content.ForumInfo{
		ID: f.ID, Title: f.Title, Slug: f.Slug, Type: f.Kind, ParentID: kernel.OrNull(f.Parent), Depth: f.Depth,
		Position:    f.Position,
		Description: f.Description, IsOpen: f.Open, RequiresPrefix: f.RequiresPrefix, Prefixes: []content.PrefixInfo{},
	}
	if f.Link.Valid {
		view.LinkURL = &f.Link.String
	}
	for _, p := range access.Offered[f.ID] {
		view.Prefixes = append(view.Prefixes, content.PrefixInfo{ID: p.ID, Label: p.Label})
	}
	// Counts and times would tell of threads that the actor does not see.
	if a.Has(f.ID, rights.ThreadView|rights.ThreadViewOthers) {
		view.ThreadCount, view.PostCount, view.LastPostAt = f.Threads, f.Posts, kernel.OrNull(f.LastAt)
	}
	if a.User != nil {
		view.Can.PostThread = s.mayStart(a, f) == nil
		view.Can.Reply = f.Kind == "forum" && a.Has(f.ID, rights.ThreadView) && s.mayReply(a, f, &content.Thread{}) == nil
	}
	return view
}
