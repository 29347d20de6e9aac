package posts

import (
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MovedPost is a post that was moved to another thread, for a link in its former thread.
type MovedPost struct {
	Number int64 // its number in the former thread
	Post   int64 // its id
}

// maxMovedPosts limits the moved posts that a page links to.
const maxMovedPosts = 50

// movedPosts returns the posts that were moved from thread t and whose former numbers belong on the page that r
// describes. page holds the posts that are on this page now, at most size posts. more reports whether further posts
// follow on the page or, if r.Page is 0, in the thread. If no number is missing on the page, movedPosts sends no
// query.
func movedPosts(
	c store.Conn, t *content.Thread, r *Reading, page []*content.Post, more bool, size int,
) (list []MovedPost, err error) {
	isLast := !more
	var lowest, highest int64
	switch {
	case r.Page > 0: // a numbered page has a fixed range of numbers
		lowest, highest = (r.Page-1)*int64(size)+1, r.Page*int64(size)
		isLast = isLast && r.Page >= r.Pages
	case len(page) == 0:
		return nil, nil
	default:
		lowest, highest = page[0].Number, page[0].Number
		for _, p := range page {
			lowest, highest = min(lowest, p.Number), max(highest, p.Number)
		}
	}
	if isLast {
		highest = t.Next - 1 // the last posts of the thread may be among the moved ones
	}
	if highest-lowest+1 <= int64(len(page)) {
		return nil, nil
	}
	list, err = store.List(c, func(r store.Row) (e MovedPost, err error) {
		return e, r.Scan(&e.Number, &e.Post)
	}, "SELECT number, post_id FROM board_moved_posts WHERE thread_id = ? AND number BETWEEN ? AND ?"+
		" ORDER BY number"+content.Limit(c.Dialect()), t.ID, lowest, highest, maxMovedPosts)
	return list, err
}

// addReactions sets the fields of views that concern reactions, bookmarks and ignored authors. list holds the posts of
// the views, in the same order.
func addReactions(
	c store.Conn, a *rights.Actor, t *content.Thread, list []*content.Post, views []PostView, now kernel.Moment,
) error {
	if len(list) == 0 {
		return nil
	}
	ids, authors := make([]any, len(list)), make([]any, len(list))
	for i, p := range list {
		ids[i], authors[i] = p.ID, p.Author
	}
	counts, err := reactions.Of(c, a, ids...)
	if err != nil {
		return err
	}
	bookmarks, err := reactions.Bookmarked(c, a, ids...)
	if err != nil {
		return err
	}
	ignored, err := following.Ignores(c, a, authors...)
	if err != nil {
		return err
	}
	for i, p := range list {
		views[i].Reactions, views[i].React = counts[p.ID], reactions.May(a, t, p, now) == nil
		views[i].Ignored, views[i].Bookmarked = ignored[p.Author] != 0, bookmarks[p.ID] != 0
	}
	return nil
}
