package search

import (
	"context"
	"math"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// firstWindow is the number of newest posts that are searched first on PostgreSQL. After a window with few matching
	// posts, the next window is widerWindows times as large.
	firstWindow  = 250
	widerWindows = 8
	// fewPosts is the maximum number of matching posts that are read all at once.
	fewPosts = 1000
)

// These are the values of wordWalk.rare: whether it is likely that at most fewPosts posts match.
const (
	unknown = iota
	likely
	unlikely
)

// wordWalk iterates over the posts that contain some words, or over those of an author, from the newest on.
type wordWalk struct {
	c      store.Conn
	words  string // a query of queryOf
	author int64  // 0 for posts with words
	after  int64  // the walk continues with lower ids; 0 before the first post

	// These fields are for PostgreSQL.
	window int64 // the size of the next window, in ids
	rare   int   // unknown, likely or unlikely
}

// next returns the ids of the next posts, at most searchChunk. more reports whether there may be further posts; the
// next call may still find none.
func (w *wordWalk) next() (ids []any, more bool, err error) {
	if w.author == 0 && w.c.Dialect() == store.Postgres {
		return w.nextWindow()
	}
	if w.after == 0 {
		w.after = math.MaxInt64
	}
	if w.author != 0 {
		ids, err = w.read(PostsOfAuthor().SQL(w.c.Dialect()), w.author, w.after, searchChunk)
		return ids, len(ids) == searchChunk, err
	}
	ids, err = w.read(WordsOfIndex().SQL(store.SQLite), w.words, w.after, searchChunk)
	return ids, len(ids) == searchChunk, err
}

// read runs a query for ids of posts and advances the walk to the last id that the query returns.
func (w *wordWalk) read(statement string, args ...any) (ids []any, err error) {
	err = w.c.ByValues().All(statement, args, func(r store.Row) error {
		var id int64
		err := r.Scan(&id)
		ids, w.after = append(ids, id), id
		return err
	})
	return ids, err
}

// WordsOfIndex returns the query for the posts that contain some words. Its arguments are the words, the id of a post
// before which the list begins, and the limit. The index of SQLite is sorted by post, so the query is fast however
// many posts match.
func WordsOfIndex() content.Listing {
	return content.Listing{
		Columns: "w.rowid", From: "board_search w",
		Where: "w.board_search MATCH ? AND w.rowid < ?", Order: "w.rowid DESC",
	}
}

// The index of PostgreSQL returns all matching posts, unsorted, and the planner knows their number only for common
// words. A query for the newest posts would read all posts from the newest on for a rare word, or sort all matching
// posts for a common word. Therefore nextWindow searches windows of ids, and reads all matching posts if these are few.
// The queries wordsOfWindow and wordsOfAll match the words in a subquery with OFFSET 0 or LIMIT. The planner plans such
// a subquery without regard to the ORDER BY outside, and so uses the index of words.

// wordsOfWindow is the query for the matching posts of a window. Its arguments are words, the ids that end and begin
// the window, and limit.
const wordsOfWindow = "SELECT w.post_id FROM (SELECT s.post_id FROM board_search s" +
	" WHERE s.words @@ CAST(CAST(? AS TEXT) AS TSQUERY) AND s.post_id < ? AND s.post_id >= ? OFFSET 0) w" +
	" ORDER BY w.post_id DESC LIMIT ?"

// wordsOfAll is the query for at most limit posts that contain words and have an id below the given one. If more posts
// match, the result is an arbitrary selection of them. Its arguments are words, id and limit.
const wordsOfAll = "SELECT w.post_id FROM (SELECT s.post_id FROM board_search s" +
	" WHERE s.words @@ CAST(CAST(? AS TEXT) AS TSQUERY) AND s.post_id < ? LIMIT ?) w ORDER BY w.post_id DESC"

// nextWindow implements next for words on PostgreSQL. It searches windows of ids until a window contains matching
// posts.
func (w *wordWalk) nextWindow() (ids []any, more bool, err error) {
	if w.after == 0 {
		if err := w.c.Row("SELECT COALESCE(max(post_id), 0) + 1 FROM board_search").Scan(&w.after); err != nil {
			return nil, false, err
		}
	}
	if w.window == 0 {
		w.window = firstWindow
	}
	for w.after > 1 && len(ids) == 0 {
		if w.rare == likely {
			few, more, ok, err := w.nextOfFew()
			if err != nil || ok {
				return few, more, err
			}
			w.rare = unlikely
		}
		end := w.after // the window has lower ids
		start := max(1, end-w.window)
		if ids, err = w.read(wordsOfWindow, w.words, end, start, searchChunk); err != nil {
			return nil, false, err
		}
		// The window may contain more posts. The walk continues below the last of ids, to which read has set w.after.
		if len(ids) == searchChunk {
			w.window = end - w.after // the next window is likely to contain as many posts
			return ids, true, nil
		}
		w.after = start
		// Estimate the number of all further matching posts from those in the window.
		if w.rare == unknown && int64(len(ids))*start/w.window <= fewPosts {
			w.rare = likely
		}
		w.window *= widerWindows
	}
	return ids, w.after > 1, nil
}

// nextOfFew works like next if at most fewPosts further posts match: it reads all of them. If more posts match, ok is
// false, and the walk stays where it is.
func (w *wordWalk) nextOfFew() (ids []any, more, ok bool, err error) {
	end := w.after
	all, err := w.read(wordsOfAll, w.words, end, fewPosts+1)
	if err != nil {
		return nil, false, false, err
	}
	w.after = end // read has advanced the walk behind all of them
	if len(all) > fewPosts {
		return nil, false, false, nil
	}
	ids, more = store.Cut(all, searchChunk)
	if len(ids) > 0 {
		w.after = ids[len(ids)-1].(int64)
	}
	return ids, more, true, nil
}

// PostsOfAuthor returns the query for the posts of an author. Its arguments are the author's id, the id of a post
// before which the list begins, and the limit.
func PostsOfAuthor() content.Listing {
	return content.Listing{
		Columns: "i.id", From: "board_post_ids i", Index: "board_post_ids_author",
		Where: "i.author_id = ? AND i.id < ?", Order: "i.id DESC",
	}
}

// By returns a page of a member's visible posts in the forums that the actor reads, newest first. cursor is the value
// of next from the previous page, or 0 for the first page. As with Find, a page may be short or empty although there is
// a next page.
func (s *Service) By(
	ctx context.Context, a *rights.Actor, member, cursor int64, limit int,
) (list []Found, next int64, err error) {
	filter := searchFilter(a, Query{}, rights.ThreadView)
	if filter.where == "" {
		return nil, 0, nil
	}
	err = s.Read(ctx, func(c store.Conn) error {
		var ids []any
		if ids, next, err = searchIDs(c, &wordWalk{c: c, author: member, after: cursor}, filter, limit); err != nil {
			return err
		}
		list, err = postsByID(c, a, ids)
		return err
	})
	return list, next, err
}
