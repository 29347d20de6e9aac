package search

import (
	"math"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// firstWindow is how many of the newest posts are looked at first on
	// PostgreSQL. Each window of few posts with the words is followed by one so many
	// times as large.
	firstWindow  = 250
	widerWindows = 8
	// fewPosts with the words are read whole.
	fewPosts = 1000
)

// Whether fewPosts have the words.
const (
	unknown = iota
	likely
	unlikely
)

// wordWalk walks the posts with words from the newest on.
type wordWalk struct {
	c     store.Conn
	words string
	after int64 // the walk is at the posts below; 0: before the first

	// On PostgreSQL:
	window int64 // ids
	rare   int
}

// next returns the next posts of the walk, at most searchChunk, and whether the walk goes on. It may go on
// and find no more.
func (w *wordWalk) next() (ids []any, more bool, err error) {
	if w.c.Dialect() == store.Postgres {
		return w.nextWindow()
	}
	if w.after == 0 {
		w.after = math.MaxInt64
	}
	ids, err = w.read(WordsOfIndex().SQL(store.SQLite), w.words, w.after, searchChunk)
	return ids, len(ids) == searchChunk, err
}

// read runs a statement and goes on to the last post that it finds.
func (w *wordWalk) read(statement string, args ...any) (ids []any, err error) {
	err = w.c.ByValues().All(statement, args, func(r store.Row) error {
		var id int64
		err := r.Scan(&id)
		ids, w.after = append(ids, id), id
		return err
	})
	return ids, err
}

// WordsOfIndex lists the posts with words. It has the arguments words, id, limit. The index of SQLite gives
// the posts in their order, however many there are.
func WordsOfIndex() content.Listing {
	return content.Listing{
		Columns: "w.rowid", From: "board_search w",
		Where: "w.board_search MATCH ? AND w.rowid < ?", Order: "w.rowid DESC",
	}
}

// The index of PostgreSQL gives all posts with the words, in no order, and the
// server knows of common words alone how many those are. Asked for the newest, it
// would read all posts from the newest on for a rare word, or sort all for a common
// one. So the walk looks at windows of ids, and at all posts where these are few. A
// subquery with OFFSET 0 or LIMIT is planned without the order of the whole.

// wordsOfWindow has the arguments words, id, id, limit.
const wordsOfWindow = "SELECT w.post_id FROM (SELECT s.post_id FROM board_search s" +
	" WHERE s.words @@ CAST(CAST(? AS TEXT) AS TSQUERY) AND s.post_id < ? AND s.post_id >= ? OFFSET 0) w" +
	" ORDER BY w.post_id DESC LIMIT ?"

// wordsOfAll has the arguments words, id, limit; what is beyond the limit is any.
const wordsOfAll = "SELECT w.post_id FROM (SELECT s.post_id FROM board_search s" +
	" WHERE s.words @@ CAST(CAST(? AS TEXT) AS TSQUERY) AND s.post_id < ? LIMIT ?) w ORDER BY w.post_id DESC"

// nextWindow looks at windows of ids until one has posts with the words.
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
		began := w.after
		if w.rare == likely {
			if ids, err = w.read(wordsOfAll, w.words, began, fewPosts+1); err != nil {
				return nil, false, err
			}
			if len(ids) <= fewPosts {
				all := len(ids)
				ids = ids[:min(all, searchChunk)]
				if len(ids) > 0 {
					w.after = ids[len(ids)-1].(int64)
				}
				return ids, len(ids) < all, nil
			}
			w.rare, w.after = unlikely, began
		}
		from := max(1, began-w.window)
		if ids, err = w.read(wordsOfWindow, w.words, began, from, searchChunk); err != nil {
			return nil, false, err
		}
		if len(ids) == searchChunk {
			w.window = began - w.after // as many are likely to be in the next
			return ids, true, nil
		}
		if w.after = from; w.rare == unknown && int64(len(ids))*from/w.window <= fewPosts {
			w.rare = likely
		}
		w.window *= widerWindows
	}
	return ids, w.after > 1, nil
}
