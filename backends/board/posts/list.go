package posts

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	threadOrder = "t.last_post_at DESC, t.id DESC"
	threadAfter = " AND (t.last_post_at, t.id) < (?, ?)"
)

// threadsOfForum returns the query for the threads of a forum. Its arguments are forum, time, id and limit. shows
// is a condition from Shows.
func threadsOfForum(shows string) content.Listing {
	index := "board_threads_forum_all"
	if shows == "= 0" {
		index = "board_threads_forum_visible"
	}
	return content.Listing{
		Columns: content.ThreadColumns, From: "board_threads t", Index: index,
		Where: "t.forum_id = ? AND t.visibility " + shows + threadAfter, Order: threadOrder,
	}
}

// threadsOfAuthor returns the query for the threads of an author in a forum. Its arguments are author, forum, time,
// id and limit.
func threadsOfAuthor(shows string) content.Listing {
	index := "board_threads_author"
	if shows == "= 1" {
		index = "board_threads_held_author"
	}
	return content.Listing{
		Columns: content.ThreadColumns, From: "board_threads t", Index: index,
		Where: "t.author_id = ? AND t.forum_id = ? AND t.visibility " + shows + threadAfter, Order: threadOrder,
	}
}

// stickyThreads returns the query for the sticky threads of a forum. Its arguments are forum and limit.
func stickyThreads(shows string) content.Listing {
	return content.Listing{
		Columns: content.ThreadColumns, From: "board_threads t", Index: "board_threads_sticky",
		Where: "t.forum_id = ? AND t.is_sticky = 1 AND t.visibility " + shows, Order: threadOrder,
	}
}

// postsOfThread returns the query for the posts of a thread, in the order of the primary key. Its arguments are
// thread, id and limit.
func postsOfThread(shows string) content.Listing {
	return content.Listing{
		Columns: content.PostColumns, From: "board_posts p",
		Where: "p.thread_id = ? AND p.id > ? AND p.visibility " + shows, Order: "p.id",
	}
}

// heldPosts returns the query for the held posts of an author in a thread. Its arguments are author, thread, id and
// limit.
func heldPosts() content.Listing {
	return content.Listing{
		Columns: "i.id", From: "board_post_ids i", Index: "board_post_ids_held_author",
		Where: "i.author_id = ? AND i.thread_id = ? AND i.visibility = 1 AND i.id > ?", Order: "i.id",
	}
}

// queueOfForum returns the query for the held posts of a forum. Its arguments are forum, id and limit.
func queueOfForum() content.Listing {
	return content.Listing{
		Columns: "i.id, i.thread_id, COALESCE(i.held_reason, '')", From: "board_post_ids i", Index: "board_post_ids_held",
		Where: "i.forum_id = ? AND i.visibility = 1 AND i.id > ?", Order: "i.id",
	}
}

// EveryListing returns all list queries by name, for the test of their query plans.
func EveryListing() map[string]content.Listing {
	all := map[string]content.Listing{
		"threads of a forum, held by their author": threadsOfAuthor("= 1"),
		"held posts of an author":                  heldPosts(),
		"held posts of an author, backwards":       heldBefore(),
		"newest posts of a thread":                 newestPosts(),
		"queue":                                    queueOfForum(),
		"open reports":                             OpenReports(),
		"notifications":                            following.NotificationsOf(),
		"ignored members":                          following.IgnoredBy(),
		"sticky threads":                           stickyThreads("= 0"),
		"threads of the sitemap":                   sitemapThreads(),
		"newest threads of all forums":             newestOfAll(),
	}
	for _, shows := range []string{"= 0", "IN (0, 1)", "IN (0, 2)", "IN (0, 1, 2)"} {
		all["threads of a forum "+shows] = threadsOfForum(shows)
		all["threads of an author "+shows] = threadsOfAuthor(shows)
		all["posts of a thread "+shows] = postsOfThread(shows)
		all["posts of a thread, backwards "+shows] = postsBefore(shows)
		all["number of the last post of a thread "+shows] = lastNumber(shows)
	}
	return all
}

// Position is a place in a list of threads. The zero Position is before the first thread.
type Position struct {
	At kernel.Moment
	ID int64
}

// Args returns the position as arguments of a query for what comes after it.
func (p Position) Args() (at kernel.Moment, id int64) {
	if p == (Position{}) {
		return math.MaxInt64, math.MaxInt64
	}
	return p.At, p.ID
}

// threads reads a page of the threads of a forum: those that everybody or a moderator sees, and the actor's own
// held threads.
func (s *Service) threads(
	c store.Conn, a *rights.Actor, forum int64, after Position, limit int,
) (page []*content.Thread, more bool, err error) {
	at, id := after.Args()
	shows, own := a.Shows(forum), !a.Has(forum, rights.ThreadViewOthers)
	collect := func(r store.Row) error {
		t, err := content.ScanThread(r)
		page = append(page, t)
		return err
	}
	d := c.Dialect()
	switch {
	case own && a.User == nil:
	case own:
		switch shows { // all of them are the actor's own, so held ones are included
		case "= 0":
			shows = "IN (0, 1)"
		case "IN (0, 2)":
			shows = "IN (0, 1, 2)"
		}
		err = c.All(threadsOfAuthor(shows).SQL(d), []any{a.ID(), forum, at, id, limit + 1}, collect)
	default:
		err = c.All(threadsOfForum(shows).SQL(d), []any{forum, at, id, limit + 1}, collect)
	}
	if err == nil && !own && a.User != nil && !strings.Contains(shows, "1") {
		err = c.All(threadsOfAuthor("= 1").SQL(d), []any{a.ID(), forum, at, id, limit + 1}, collect)
		slices.SortFunc(page, func(x, y *content.Thread) int {
			return cmp.Or(cmp.Compare(y.LastAt, x.LastAt), cmp.Compare(y.ID, x.ID))
		})
		page = slices.CompactFunc(page, func(x, y *content.Thread) bool { return x.ID == y.ID }) // approved in between
	}
	if err != nil {
		return nil, false, err
	}
	page, more = store.Cut(page, limit)
	return page, more, nil
}

// Posts returns a page of the posts of a thread that the actor sees, beginning after the post with the id after.
// more reports whether there is another page.
func (s *Service) Posts(
	ctx context.Context, a *rights.Actor, thread, after int64, limit int,
) (list []content.PostInfo, more bool, err error) {
	err = s.ReadBriefly(ctx, func(c store.Conn) error {
		t, err := content.ThreadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		var page []*content.Post
		page, more, err = s.posts(c, a, t, after, limit)
		list = make([]content.PostInfo, len(page))
		for i, p := range page {
			list[i] = content.ViewPost(p)
		}
		return err
	})
	return list, more, err
}

// posts reads a page of a thread in the same way.
func (s *Service) posts(
	c store.Conn, a *rights.Actor, t *content.Thread, after int64, limit int,
) (page []*content.Post, more bool, err error) {
	shows := a.Shows(t.Forum)
	collect := func(r store.Row) error {
		p, err := content.ScanPost(r)
		page = append(page, p)
		return err
	}
	d := c.Dialect()
	if err := c.All(postsOfThread(shows).SQL(d), []any{t.ID, after, limit + 1}, collect); err != nil {
		return nil, false, err
	}
	if a.User != nil && !strings.Contains(shows, "1") {
		held, err := store.Column[int64](c, heldPosts().SQL(d), a.ID(), t.ID, after, limit+1)
		if err != nil {
			return nil, false, err
		}
		for _, id := range held {
			p, err := content.ScanPost(c.Row("SELECT "+content.PostColumns+" FROM board_posts p WHERE p.thread_id = ?"+
				" AND p.id = ?", t.ID, id))
			if err != nil {
				return nil, false, err
			}
			page = append(page, p)
		}
		slices.SortFunc(page, func(x, y *content.Post) int { return cmp.Compare(x.ID, y.ID) })
		page = slices.CompactFunc(page, func(x, y *content.Post) bool { return x.ID == y.ID })
	}
	page, more = store.Cut(page, limit)
	return page, more, nil
}

// Forums lists the forums that the actor sees, depth first.
func (s *Service) Forums(ctx context.Context, a *rights.Actor) ([]content.ForumInfo, error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, err
	}
	rows := make(map[int64]*content.Forum)
	err = s.Read(ctx, func(c store.Conn) error {
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
	for _, id := range access.Order {
		if f := rows[id]; f != nil && a.In(id).Visible {
			list = append(list, s.viewForum(access, a, f))
		}
	}
	return list, nil
}
