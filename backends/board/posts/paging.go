package posts

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Page n of a thread has the posts with the numbers from (n-1)*size+1 to n*size. Numbers never change. So a deleted
// post leaves a gap: its page has one post less, and no post moves to another page. Links to pages stay valid because
// of that, also in search engines.
//
// There is no index of numbers. In a thread, numbers ascend with ids. So a binary search over the primary key finds the
// id at which a page begins. It takes one look-up for each bit of the highest id: 24 at 10 million posts, in one
// statement, however long the thread is.
//
// Posts that were merged or moved into a thread have the highest numbers, but are sorted by their ids. The search still
// finds a beginning for every page, never before the beginning of the previous page. So each post is on exactly one
// page. But a page may have more posts than fit; the remaining posts are shown after its end (Reading.After).

// BoundOf returns the statement that searches the posts of a thread for a value of column, which is number or
// created_at. It selects the lowest id with this property: in the order of ids, the first post from this id on has at
// least the value in column. Its arguments are a power of 2 above half of the highest id, the thread, and the value.
func BoundOf(column string) string {
	return "WITH RECURSIVE s(low, step) AS (SELECT CAST(0 AS BIGINT), CAST(? AS BIGINT) UNION ALL" +
		" SELECT CASE WHEN (SELECT p." + column + " FROM board_posts p WHERE p.thread_id = ?" +
		" AND p.id >= s.low + s.step ORDER BY p.id LIMIT 1) < ? THEN s.low + s.step ELSE s.low END, s.step / 2" +
		" FROM s WHERE s.step > 0) SELECT low + 1 FROM s WHERE step = 0"
}

// boundOf returns the lowest id with this property: in the order of ids, the first post of the thread from this id on
// has at least the given value in column. column is number or created_at.
func boundOf(c store.Conn, t *content.Thread, column string, value int64) (id int64, err error) {
	step := int64(1) << (bits.Len64(uint64(max(t.Last, t.First))) - 1) //nolint:gosec // ids are positive
	err = c.Row(BoundOf(column), step, t.ID, value).Scan(&id)
	return id, err
}

// lastNumber returns the query for the number of the last post of a thread. Its arguments are the thread's id and the
// limit. shows is a condition of Actor.Shows.
func lastNumber(shows string) content.Listing {
	return content.Listing{
		Columns: "p.number", From: "board_posts p", Where: "p.thread_id = ? AND p.visibility " + shows, Order: "p.id DESC",
	}
}

// pagesOf returns how many pages of size posts a thread has for the actor. Posts after the last post that the actor
// sees do not count, because otherwise the number of pages would reveal that hidden posts exist.
func pagesOf(c store.Conn, a *rights.Actor, t *content.Thread, size int64) (pages int64, err error) {
	if t.Next-1 <= size {
		return 1, nil
	}
	last := int64(1)
	err = c.All(lastNumber(a.Shows(t.Forum)).SQL(c.Dialect()), []any{t.ID, 1}, func(r store.Row) error {
		return r.Scan(&last)
	})
	return (last-1)/size + 1, err
}

// idRange returns bounds for the ids of the posts on a page: at least start and less than end. On the last page end is
// unlimited.
func idRange(c store.Conn, t *content.Thread, page, pages, size int64) (start, end int64, err error) {
	start, end = 1, math.MaxInt64
	if page > 1 {
		if start, err = boundOf(c, t, "number", (page-1)*size+1); err != nil {
			return 0, 0, err
		}
	}
	if page < pages {
		end, err = boundOf(c, t, "number", page*size+1)
	}
	return start, end, err
}

// pagePosts reads the posts of page r.Page of a thread, at most size. more reports whether there are further posts in
// the range of ids of the page: the last page has them if replies were added after r.Pages was determined. For a page
// that does not exist pagePosts returns no posts.
func (s *Service) pagePosts(
	c store.Conn, a *rights.Actor, t *content.Thread, r *Reading, size int,
) (list []*content.Post, more bool, err error) {
	if r.Page > r.Pages {
		return nil, false, nil
	}
	start, end, err := idRange(c, t, r.Page, r.Pages, int64(size))
	if err != nil {
		return nil, false, err
	}
	if list, _, err = s.posts(c, a, t, start-1, size+1); err != nil { // the posts after the id start-1
		return nil, false, err
	}
	if i := slices.IndexFunc(list, func(p *content.Post) bool { return p.ID >= end }); i >= 0 {
		list = list[:i]
	}
	list, more = store.Cut(list, size)
	return list, more, nil
}

// ReadPage works like ReadThread, but returns the page with the number page. The first page has the number 1. A page
// that does not exist has no posts, like a page on which all posts are deleted.
func (s *Service) ReadPage(ctx context.Context, a *rights.Actor, id, page int64, size int) (*Reading, error) {
	return s.read(ctx, a, id, max(page, 1), 0, size)
}

// Numbers returns the numbers of the pages to link to: the first page, the last page, and pages around the current one.
// A 0 represents pages that are left out.
func (r *Reading) Numbers() (list []int64) {
	for _, n := range []int64{1, r.Page - 2, r.Page - 1, r.Page, r.Page + 1, r.Page + 2, r.Pages} {
		last := int64(0) // the last number in the list
		if len(list) > 0 {
			last = list[len(list)-1]
		}
		if n <= last || n > r.Pages {
			continue
		}
		switch {
		case n == last+2: // a single page is not left out, since its link is as short
			list = append(list, n-1)
		case n > last+2:
			list = append(list, 0)
		}
		list = append(list, n)
	}
	return list
}

// PlaceAt returns the place of the first post of a thread that was written at the given time or later. If all posts are
// older, it returns the place of the last post.
func (s *Service) PlaceAt(
	ctx context.Context, a *rights.Actor, id int64, written kernel.Moment, pageSize int,
) (Place, error) {
	return s.place(ctx, a, func(c store.Conn) (*content.Thread, *content.Post, error) {
		t, err := content.ThreadFor(c, a, id, "")
		if err != nil {
			return nil, nil, err
		}
		bound, err := boundOf(c, t, "created_at", int64(written))
		if err != nil {
			return nil, nil, err
		}
		return s.firstAfter(c, a, t, bound-1)
	}, pageSize)
}

// pageOf returns the number of the page that shows a post. It returns 0 if the page has too many posts and does not
// show this one.
func pageOf(c store.Conn, a *rights.Actor, t *content.Thread, p *content.Post, size int) (int64, error) {
	pages, err := pagesOf(c, a, t, int64(size))
	if err != nil {
		return 0, err
	}
	page := min((p.Number-1)/int64(size)+1, pages)
	start, end, err := idRange(c, t, page, pages, int64(size))
	if err != nil || p.ID < start || p.ID >= end {
		return 0, err
	}
	// The page shows the post only if fewer than size posts of the page precede it.
	partStart, err := stepBack(c, a, t, p.ID, size-1)
	if err != nil || partStart != nil && *partStart >= start {
		return 0, err
	}
	return page, nil
}
