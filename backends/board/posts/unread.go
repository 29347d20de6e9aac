package posts

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Unread lists threads with posts that a member has not read, newest activity first.
type Unread struct {
	Followed []content.ThreadInfo // all unread threads that the member follows; empty on later pages
	Others   []content.ThreadInfo // a page of the other unread threads
	Next     string               // the cursor of the next page; empty on the last one
}

const (
	// unreadBatch is the number of threads that are read at a time to fill a page of unread threads.
	unreadBatch = 100
	// maxUnreadBatches limits the batches that are read for one page. If a member has read nearly everything, a page
	// may be shorter than the limit although there is a next page.
	maxUnreadBatches = 10
)

// newestOfAll returns the query for the visible threads of all forums. Its arguments are the time after which the
// last post of a thread must have been written, the time and id of the thread before the page, and the limit.
func newestOfAll() content.Listing {
	return content.Listing{
		Columns: content.ThreadColumns, From: "board_threads t", Index: "board_threads_newest",
		Where: "t.visibility = 0 AND t.last_post_at > ?" + threadAfter, Order: threadOrder,
	}
}

// followedSince is the query for the visible threads that a member follows and whose last post was written after a
// given time. Its arguments are user, time and limit.
const followedSince = "SELECT " + content.ThreadColumns + " FROM board_subscriptions s" +
	" JOIN board_threads t ON t.id = s.target_id" +
	" WHERE s.user_id = ? AND s.target = 'thread' AND s.mode <> 'none' AND t.visibility = 0 AND t.last_post_at > ?" +
	" ORDER BY " + threadOrder + " LIMIT ?"

// Unread returns the unread threads of a member. The first page has all unread threads that the member follows. Every
// page, including the first one, also has up to limit of the other unread threads in all forums. cursor is the
// previous page's Next, or empty for the first page.
//
// The other threads are read in batches from an index of all visible threads by the time of their last post. Threads
// that the member has read, follows or does not see are left out. So the cost depends on the number of threads with
// recent posts, at most 1,000 for a page, and not on the size of the board. Threads without a post within
// content.KeepUnread do not count as unread.
func (s *Service) Unread(ctx context.Context, a *rights.Actor, cursor string, limit int) (u Unread, err error) {
	if a.User == nil {
		return u, kernel.NotFound()
	}
	first, err := s.ReadCursor(0, cursor)
	if err != nil {
		return u, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		u = Unread{}
		if cursor == "" {
			if err := s.followedUnread(c, a, &u); err != nil {
				return err
			}
		}
		return s.otherUnread(c, a, &u, first, limit)
	})
	return u, err
}

// followedUnread adds the unread threads that the actor follows to u.
func (s *Service) followedUnread(c store.Conn, a *rights.Actor, u *Unread) error {
	now := s.Moment()
	threads, err := store.List(c, content.ScanThread, followedSince, a.ID(), now.Add(-content.KeepUnread),
		following.MaxSubscriptions)
	if err != nil {
		return err
	}
	marks, err := content.MarksOf(c, a, threads)
	if err != nil {
		return err
	}
	for _, t := range threads {
		if Lists(a, t) && marks.Unread(t, now) {
			u.Followed = append(u.Followed, content.ViewThread(a, t, marks, now))
		}
	}
	return nil
}

// otherUnread adds up to limit unread threads that the actor does not follow to u, beginning after position, and sets
// the cursor of the next page.
func (s *Service) otherUnread(c store.Conn, a *rights.Actor, u *Unread, position Position, limit int) error {
	now := s.Moment()
	query := newestOfAll().SQL(c.Dialect())
	for range maxUnreadBatches {
		lastAt, id := position.Args()
		batch, err := store.List(c, content.ScanThread, query, now.Add(-content.KeepUnread), lastAt, id, unreadBatch)
		if err != nil {
			return err
		}
		marks, err := content.MarksOf(c, a, batch)
		if err != nil {
			return err
		}
		for _, t := range batch {
			if Lists(a, t) && marks.Subscribed[t.ID] == 0 && marks.Unread(t, now) {
				if len(u.Others) == limit { // t is the first thread of the next page
					u.Next = s.Cursor(0, position)
					return nil
				}
				u.Others = append(u.Others, content.ViewThread(a, t, marks, now))
			}
			position = Position{At: t.LastAt, ID: t.ID}
		}
		if len(batch) < unreadBatch {
			return nil
		}
	}
	u.Next = s.Cursor(0, position)
	return nil
}

// Lists reports whether an actor may see a thread in the list of its forum.
func Lists(a *rights.Actor, t *content.Thread) bool {
	return a.MayIn(t.Forum, rights.ThreadView) && (a.Has(t.Forum, rights.ThreadViewOthers) || a.Owns(t.Author))
}
