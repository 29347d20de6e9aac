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

// The methods in this file read the data for whole pages. Each of them combines several queries in one read.

// ForumEntry is a forum in the tree, with its newest thread and whether it has unread threads.
type ForumEntry struct {
	content.ForumInfo
	Unread bool
	Last   *content.ThreadInfo // the thread with the newest post that the actor sees, or nil
}

// forumsAbove returns the ancestors of a forum, from the root down.
func forumsAbove(list []content.ForumInfo, id int64) (above []content.ForumInfo) {
	byID := make(map[int64]content.ForumInfo, len(list))
	for _, f := range list {
		byID[f.ID] = f
	}
	for f := byID[id]; f.ParentID != nil; {
		f = byID[*f.ParentID]
		above = append(above, f)
	}
	slices.Reverse(above)
	return above
}

// unreadCandidates limits the newest threads of a forum that hasUnread examines.
const unreadCandidates = 50

// Tree lists the forums that the actor sees, depth first. Each entry has the forum's newest thread and reports whether
// the forum has unread threads.
func (s *Service) Tree(ctx context.Context, a *rights.Actor) ([]ForumEntry, error) {
	list, err := s.Forums(ctx, a)
	if err != nil {
		return nil, err
	}
	return s.forumEntries(ctx, a, list)
}

// forumEntries converts a list of forums to entries. Each entry has the forum's newest thread, and reports whether
// the forum has unread threads.
func (s *Service) forumEntries(ctx context.Context, a *rights.Actor, list []content.ForumInfo) ([]ForumEntry, error) {
	tree := make([]ForumEntry, len(list))
	entries := make(map[int64]*ForumEntry, len(list))
	for i, f := range list {
		tree[i].ForumInfo = f
		entries[f.ID] = &tree[i]
	}
	err := s.Read(ctx, func(c store.Conn) error {
		now := s.Moment()
		newest := make(map[int64]*content.Thread) // by forum
		err := c.All(content.NewestThreads(c.Dialect()), nil, func(r store.Row) error {
			t, err := content.ScanThread(r)
			newest[t.Forum] = t
			return err
		})
		if err != nil {
			return err
		}
		markedRead, err := content.ForumReads(c, a) // when the actor marked each forum as read
		if err != nil {
			return err
		}
		var candidates []*content.Thread // the newest threads of the forums that may have unread threads
		for id, t := range newest {
			f := entries[id]
			if f == nil || !a.Has(id, rights.ThreadView|rights.ThreadViewOthers) {
				continue
			}
			info := content.ViewThread(a, t, content.Marks{}, now)
			f.Last = &info
			if a.User != nil && t.LastAt > max(markedRead[id], now.Add(-content.KeepUnread)) {
				candidates = append(candidates, t)
			}
		}
		// In most forums with unread threads, the newest thread is unread. Only the forums whose newest thread is read are
		// examined further, one by one.
		marks, err := content.MarksOf(c, a, candidates)
		if err != nil {
			return err
		}
		for _, t := range candidates {
			f := entries[t.Forum]
			if f.Unread = marks.Unread(t, now); f.Unread {
				continue
			}
			if f.Unread, err = s.hasUnread(c, a, t.Forum, now); err != nil {
				return err
			}
		}
		return nil
	})
	return tree, err
}

// hasUnread reports whether one of the newest unreadCandidates threads of a forum is unread.
func (s *Service) hasUnread(c store.Conn, a *rights.Actor, forum int64, now kernel.Moment) (bool, error) {
	page, err := store.List(c, content.ScanThread, threadsOfForum(visibleOnly).SQL(c.Dialect()), forum, math.MaxInt64,
		math.MaxInt64, unreadCandidates)
	if err != nil {
		return false, err
	}
	marks, err := content.MarksOf(c, a, page)
	return slices.ContainsFunc(page, func(t *content.Thread) bool { return marks.Unread(t, now) }), err
}

// mayListThreads returns an error unless the actor may list the threads of the forum with this id. It depends only on
// the rights and does not read the forum's row. It logs a look if the actor sees the forum only as an administrator.
func mayListThreads(a *rights.Actor, id int64) error {
	forum, forumRights := a.Rights.Access.Forums[id], a.In(id)
	if !forumRights.Visible || forum == nil || forum.Kind != "forum" {
		return kernel.NotFound()
	}
	if !forumRights.Seen {
		a.LogLook(id)
	}
	if !forumRights.Mask.Has(rights.ThreadView) {
		return kernel.Forbidden("forumId", "no_permission", "you may not read the threads of this forum")
	}
	return nil
}

// Threads returns a page of a forum's threads, newest activity first. cursor is the value of next from the previous
// page, or empty for the first page. next is empty on the last page.
func (s *Service) Threads(
	ctx context.Context, a *rights.Actor, forum int64, cursor string, limit int,
) (list []content.ThreadInfo, next string, err error) {
	position, err := s.ReadCursor(forum, cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.ReadBriefly(ctx, func(c store.Conn) error {
		list, next = []content.ThreadInfo{}, ""
		if err := mayListThreads(a, forum); err != nil {
			return err
		}
		page, more, err := s.threads(c, a, forum, position, limit)
		if err != nil {
			return err
		}
		if list, err = s.ViewThreads(c, a, page); err == nil && more {
			last := page[len(page)-1]
			next = s.Cursor(forum, Position{last.LastAt, last.ID})
		}
		return err
	})
	return list, next, err
}

// ViewThreads returns the views of a list of threads for the actor.
func (s *Service) ViewThreads(c store.Conn, a *rights.Actor, page []*content.Thread) ([]content.ThreadInfo, error) {
	marks, err := content.MarksOf(c, a, page)
	if err != nil {
		return nil, err
	}
	list := make([]content.ThreadInfo, 0, len(page))
	now := s.Moment()
	for _, t := range page {
		list = append(list, content.ViewThread(a, t, marks, now))
	}
	return list, nil
}

// maxSticky limits the listed sticky threads of a forum.
const maxSticky = 50

// Sticky lists the sticky threads of a forum that the actor sees.
func (s *Service) Sticky(ctx context.Context, a *rights.Actor, forum int64) ([]content.ThreadInfo, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []content.ThreadInfo, err error) {
		if err := mayListThreads(a, forum); err != nil {
			return list, err
		}
		var page []*content.Thread
		err = c.All(stickyThreads(a.Shows(forum)).SQL(c.Dialect()), []any{forum, maxSticky}, func(r store.Row) error {
			t, err := content.ScanThread(r)
			if err == nil && a.Sees(t.Forum, t.Author, t.Author, t.Visibility) {
				page = append(page, t)
			}
			return err
		})
		if err != nil {
			return list, err
		}
		return s.ViewThreads(c, a, page)
	})
}

// Recent lists the visible threads with the newest posts, and the first post of each. The threads are those of one
// forum or, if forum is 0, of all forums in which the actor reads all threads.
func (s *Service) Recent(
	ctx context.Context, a *rights.Actor, forum int64, limit int,
) (threads []content.ThreadInfo, first []content.PostInfo, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		threads, first = nil, nil
		if forum != 0 {
			if err := mayListThreads(a, forum); err != nil {
				return err
			}
		}
		var page []*content.Thread // the newest threads of the forums read so far
		for _, id := range a.Rights.Access.Order {
			if forum != 0 && id != forum || !a.MayIn(id, rights.ThreadView|rights.ThreadViewOthers) {
				continue
			}
			newest, err := store.List(c, content.ScanThread, threadsOfForum(visibleOnly).SQL(c.Dialect()),
				id, math.MaxInt64, math.MaxInt64, limit)
			if err != nil {
				return err
			}
			page = append(page, newest...)
			kernel.SortBy(page, func(t *content.Thread) int64 { return -int64(t.LastAt) })
			page = page[:min(len(page), limit)]
		}
		now := s.Moment()
		for _, t := range page {
			p, err := content.PostFor(c, a, t, t.First)
			if kernel.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			threads = append(threads, content.ViewThread(a, t, content.Marks{}, now))
			first = append(first, content.ViewPost(p))
		}
		return nil
	})
	return threads, first, err
}

// Forum returns a forum with its ancestors, from the root down, and the forums below it, depth first.
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
	tree, err := s.forumEntries(ctx, a, list[i:end])
	if err != nil {
		return f, nil, nil, err
	}
	return tree[0], forumsAbove(list, id), tree[1:], nil
}

// viewForum returns the view of a forum for the actor.
func (s *Service) viewForum(a *rights.Actor, f *content.Forum) content.ForumInfo {
	view := content.ForumInfo{
		ID: f.ID, Title: f.Title, Slug: f.Slug, Type: f.Kind, ParentID: kernel.NilIfZero(f.Parent), Depth: f.Depth,
		Position:    f.Position,
		Description: f.Description, IsOpen: f.Open, RequiresPrefix: f.RequiresPrefix, Prefixes: []content.PrefixInfo{},
		Answers: f.Answers,
	}
	if f.Link.Valid {
		view.LinkURL = &f.Link.String
	}
	for _, p := range a.Rights.Access.Offered[f.ID] {
		view.Prefixes = append(view.Prefixes, content.PrefixInfo{ID: p.ID, Label: p.Label})
	}
	// For other actors, the counts and the time would reveal threads that the actor does not see.
	if a.Has(f.ID, rights.ThreadView|rights.ThreadViewOthers) {
		view.ThreadCount, view.PostCount, view.LastPostAt = f.Threads, f.Posts, kernel.NilIfZero(f.LastAt)
	}
	if a.User != nil {
		view.Can.PostThread = s.mayStart(a, f) == nil
		view.Can.Reply = f.Kind == "forum" && a.Has(f.ID, rights.ThreadView) && s.mayReply(a, f, &content.Thread{}) == nil
	}
	return view
}
