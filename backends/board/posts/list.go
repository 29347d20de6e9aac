package posts

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	threadOrder = "t.last_post_at DESC, t.id DESC"
	threadAfter = " AND (t.last_post_at, t.id) < (?, ?)"
)

// These are the conditions on the visibility of threads and posts that Actor.Shows returns, and heldOnly. The numbers
// are rights.Visible, rights.Unapproved and rights.Deleted.
const (
	visibleOnly       = "= 0"
	heldOnly          = "= 1"
	visibleAndHeld    = "IN (0, 1)"
	visibleAndDeleted = "IN (0, 2)"
	allVisibilities   = "IN (0, 1, 2)"
)

// withHeld returns a condition of Actor.Shows, extended to held threads or posts.
func withHeld(shows string) string {
	switch shows {
	case visibleOnly:
		return visibleAndHeld
	case visibleAndDeleted:
		return allVisibilities
	}
	return shows
}

// lacksOwnHeld reports whether a list with a condition of Actor.Shows lacks the held threads or posts that the actor
// has written. The list must then add them by a second query.
func lacksOwnHeld(a *rights.Actor, shows string) bool {
	return a.User != nil && withHeld(shows) != shows
}

// threadsOfForum returns the query for the threads of a forum. Its arguments are the forum's id, the time and id of
// the thread before the page, and the limit. shows is a condition of Actor.Shows.
func threadsOfForum(shows string) content.Listing {
	index := "board_threads_forum_all"
	if shows == visibleOnly {
		index = "board_threads_forum_visible"
	}
	return content.Listing{
		Columns: content.ThreadColumns, From: "board_threads t", Index: index,
		Where: "t.forum_id = ? AND t.visibility " + shows + threadAfter, Order: threadOrder,
	}
}

// threadsOfAuthor returns the query for the threads of an author in a forum. Its arguments are the author's id, the
// forum's id, the time and id of the thread before the page, and the limit. shows is a condition of Actor.Shows.
func threadsOfAuthor(shows string) content.Listing {
	index := "board_threads_author"
	if shows == heldOnly {
		index = "board_threads_held_author"
	}
	return content.Listing{
		Columns: content.ThreadColumns, From: "board_threads t", Index: index,
		Where: "t.author_id = ? AND t.forum_id = ? AND t.visibility " + shows + threadAfter, Order: threadOrder,
	}
}

// stickyThreads returns the query for the sticky threads of a forum. Its arguments are the forum's id and the limit.
// shows is a condition of Actor.Shows.
func stickyThreads(shows string) content.Listing {
	return content.Listing{
		Columns: content.ThreadColumns, From: "board_threads t", Index: "board_threads_sticky",
		Where: "t.forum_id = ? AND t.is_sticky = 1 AND t.visibility " + shows, Order: threadOrder,
	}
}

// postsOfThread returns the query for the posts of a thread, in the order of the primary key. Its arguments are the
// thread's id, the id of the post before the page, and the limit. shows is a condition of Actor.Shows.
func postsOfThread(shows string) content.Listing {
	return content.Listing{
		Columns: content.PostColumns, From: "board_posts p",
		Where: "p.thread_id = ? AND p.id > ? AND p.visibility " + shows, Order: "p.id",
	}
}

// heldPosts returns the query for the held posts of an author in a thread. Its arguments are the author's id, the
// thread's id, the id of the post before the page, and the limit.
func heldPosts() content.Listing {
	return content.Listing{
		Columns: "i.id", From: "board_post_ids i", Index: "board_post_ids_held_author",
		Where: "i.author_id = ? AND i.thread_id = ? AND i.visibility = 1 AND i.id > ?", Order: "i.id",
	}
}

// queueOfForum returns the query for the held posts of a forum. Its arguments are the forum's id, the id of the post
// before the page, and the limit.
func queueOfForum() content.Listing {
	return content.Listing{
		Columns: "i.id, i.thread_id, COALESCE(i.held_reason, '')", From: "board_post_ids i", Index: "board_post_ids_held",
		Where: "i.forum_id = ? AND i.visibility = 1 AND i.id > ?", Order: "i.id",
	}
}

// EveryListing returns all list queries by name, for the test of their query plans.
func EveryListing() map[string]content.Listing {
	all := map[string]content.Listing{
		"threads of a forum, held by their author": threadsOfAuthor(heldOnly),
		"held posts of an author":                  heldPosts(),
		"held posts of an author, backwards":       heldBefore(),
		"newest posts of a thread":                 newestPosts(),
		"queue":                                    queueOfForum(),
		"open reports":                             OpenReports(),
		"notifications":                            following.NotificationsOf(),
		"ignored members":                          following.IgnoredBy(),
		"sticky threads":                           stickyThreads(visibleOnly),
		"threads of the sitemap":                   sitemapThreads(),
		"newest threads of all forums":             newestOfAll(),
	}
	for _, shows := range []string{visibleOnly, visibleAndHeld, visibleAndDeleted, allVisibilities} {
		all["threads of a forum "+shows] = threadsOfForum(shows)
		all["threads of an author "+shows] = threadsOfAuthor(shows)
		all["posts of a thread "+shows] = postsOfThread(shows)
		all["posts of a thread, backwards "+shows] = postsBefore(shows)
		all["number of the last post of a thread "+shows] = lastNumber(shows)
	}
	return all
}

// Position is a position in a list of threads. The zero Position is before the first thread.
type Position struct {
	At kernel.Moment
	ID int64
}

// Args returns the position as arguments of a query for the threads after it. For the zero Position these are the
// highest values, since the lists are in descending order.
func (p Position) Args() (lastAt kernel.Moment, id int64) {
	if p == (Position{}) {
		return math.MaxInt64, math.MaxInt64
	}
	return p.At, p.ID
}

// newestFirst compares threads in the order of threadOrder.
func newestFirst(x, y *content.Thread) int {
	return cmp.Or(cmp.Compare(y.LastAt, x.LastAt), cmp.Compare(y.ID, x.ID))
}

// threads reads up to limit threads of a forum after position, newest activity first. It includes the held threads that
// the actor has written. If the actor may not read the threads of others, the page has only the actor's own threads,
// and none for a guest. more reports whether there is another page.
func (s *Service) threads(
	c store.Conn, a *rights.Actor, forum int64, position Position, limit int,
) (page []*content.Thread, more bool, err error) {
	lastAt, id := position.Args()
	ofAuthor := func(shows string) ([]*content.Thread, error) {
		return store.List(c, content.ScanThread, threadsOfAuthor(shows).SQL(c.Dialect()), a.ID(), forum, lastAt, id, limit+1)
	}
	shows := a.Shows(forum)
	switch {
	case a.Has(forum, rights.ThreadViewOthers):
		page, err = store.List(c, content.ScanThread, threadsOfForum(shows).SQL(c.Dialect()), forum, lastAt, id, limit+1)
		if err == nil && lacksOwnHeld(a, shows) {
			var held []*content.Thread
			held, err = ofAuthor(heldOnly)
			page = append(page, held...)
			slices.SortFunc(page, newestFirst)
			// A thread that was approved between the two queries is in both results.
			page = slices.CompactFunc(page, func(x, y *content.Thread) bool { return x.ID == y.ID })
		}
	case a.User != nil:
		page, err = ofAuthor(withHeld(shows))
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	page, more = store.Cut(page, limit)
	return page, more, nil
}

// Posts returns a page of the posts of a thread that the actor sees, beginning after the post with the id afterID. more
// reports whether there is another page.
func (s *Service) Posts(
	ctx context.Context, a *rights.Actor, thread, afterID int64, limit int,
) (list []content.PostInfo, more bool, err error) {
	err = s.ReadBriefly(ctx, func(c store.Conn) error {
		t, err := content.ThreadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		var page []*content.Post
		page, more, err = s.posts(c, a, t, afterID, limit)
		list = make([]content.PostInfo, len(page))
		for i, p := range page {
			list[i] = content.ViewPost(p)
		}
		return err
	})
	return list, more, err
}

// posts works like Posts in the caller's transaction, for thread t, which the actor sees.
func (s *Service) posts(
	c store.Conn, a *rights.Actor, t *content.Thread, afterID int64, limit int,
) (page []*content.Post, more bool, err error) {
	shows, d := a.Shows(t.Forum), c.Dialect()
	page, err = store.List(c, content.ScanPost, postsOfThread(shows).SQL(d), t.ID, afterID, limit+1)
	if err != nil {
		return nil, false, err
	}
	if lacksOwnHeld(a, shows) {
		held, err := store.Column[int64](c, heldPosts().SQL(d), a.ID(), t.ID, afterID, limit+1)
		if err != nil {
			return nil, false, err
		}
		for _, id := range held {
			p, err := content.ReadPost(c, t.ID, id)
			if err != nil {
				return nil, false, err
			}
			page = append(page, p)
		}
		slices.SortFunc(page, func(x, y *content.Post) int { return cmp.Compare(x.ID, y.ID) })
		// A post that was approved between the two queries is in both results.
		page = slices.CompactFunc(page, func(x, y *content.Post) bool { return x.ID == y.ID })
	}
	page, more = store.Cut(page, limit)
	return page, more, nil
}

// Forums lists the forums that the actor sees, depth first.
func (s *Service) Forums(ctx context.Context, a *rights.Actor) ([]content.ForumInfo, error) {
	rows := make(map[int64]*content.Forum)
	err := s.Read(ctx, func(c store.Conn) error {
		return c.All(content.CountedForums(c.Dialect()), nil, func(r store.Row) error {
			f, err := content.ScanCounted(r)
			rows[f.ID] = f
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	list := []content.ForumInfo{}
	for _, id := range a.Rights.Access.Order {
		if f := rows[id]; f != nil && a.In(id).Visible {
			list = append(list, s.viewForum(a, f))
		}
	}
	return list, nil
}

// A cursor contains a version, a kind, the forum, a time, an id, and the first bytes of an HMAC over these. Clients
// cannot forge a cursor, and it is valid only for its forum. In cursors for lists of threads from all forums, the forum
// is 0.
const (
	cursorVersion = 1
	cursorThreads = 1       // the kind; there is only one
	cursorSize    = 2 + 3*8 // bytes, without the HMAC
)

// cursors returns the signer of cursors, which appends the first 8 bytes of the HMAC. The signer needs no label, since
// the payload begins with version and kind.
func (s *Service) cursors() signed.Signer { return signed.Signer{Key: s.Key(), MACSize: 8} }

// Cursor returns the cursor of a position in the list of a forum's threads.
func (s *Service) Cursor(forum int64, p Position) string {
	b := append(make([]byte, 0, cursorSize), cursorVersion, cursorThreads)
	for _, n := range []int64{forum, int64(p.At), p.ID} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // ids and times are positive
	}
	return s.cursors().Sign(b)
}

// ReadCursor returns the position in a cursor. An empty text is the beginning of the list. It returns an error with
// status 400 if text is not a cursor of this forum. forum is 0 for a list of threads from all forums. Other lists pass
// a negative number that is unique to the list.
func (s *Service) ReadCursor(forum int64, text string) (p Position, err error) {
	if text == "" {
		return p, nil
	}
	b, ok := s.cursors().Open(text)
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[2+8*i:])) } //nolint:gosec // signed by us
	if !ok || len(b) != cursorSize || b[0] != cursorVersion || b[1] != cursorThreads || number(0) != forum {
		return p, kernel.BadRequest("after", "after must be the nextCursor of a page of this list, unchanged")
	}
	return Position{At: kernel.Moment(number(1)), ID: number(2)}, nil
}

// ThreadsBy returns a page of a member's visible threads in the forums that the actor reads, newest activity first.
// cursor and next work as in Threads. The index of authors is sorted by forum, so ThreadsBy reads a page of each forum
// from it. Its cost grows with the number of forums, and not with the number of threads.
func (s *Service) ThreadsBy(
	ctx context.Context, a *rights.Actor, member int64, cursor string, limit int,
) (list []content.ThreadInfo, next string, err error) {
	position, err := s.ReadCursor(0, cursor)
	if err != nil {
		return nil, "", err
	}
	lastAt, id := position.Args()
	err = s.Read(ctx, func(c store.Conn) error {
		list, next = nil, ""
		var page []*content.Thread
		for _, forum := range a.Rights.Access.Order {
			if !a.MayIn(forum, rights.ThreadView) || !a.Has(forum, rights.ThreadViewOthers) && !a.Owns(member) {
				continue
			}
			threads, err := store.List(c, content.ScanThread, threadsOfAuthor(visibleOnly).SQL(c.Dialect()),
				member, forum, lastAt, id, limit+1)
			if err != nil {
				return err
			}
			page = append(page, threads...)
			slices.SortFunc(page, newestFirst)
			page = page[:min(len(page), limit+1)]
		}
		page, more := store.Cut(page, limit)
		if more {
			last := page[len(page)-1]
			next = s.Cursor(0, Position{last.LastAt, last.ID})
		}
		list, err = s.ViewThreads(c, a, page)
		return err
	})
	return list, next, err
}
