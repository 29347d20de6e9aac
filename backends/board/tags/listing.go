package tags

import (
	"cmp"
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// batch is the number of threads that are read at a time to fill a page.
	batch = 100
	// maxBatches limits the batches that are read for one page.
	maxBatches = 10
)

// ThreadsOf returns the query for the threads with a tag, newest activity first. Its arguments are the tag's id, the
// time and id of the thread before the page, and the limit.
func ThreadsOf(d store.Dialect) string {
	index := ""
	if d == store.SQLite {
		index = " INDEXED BY board_thread_tags_newest"
	}
	return "SELECT " + content.ThreadColumns + " FROM board_thread_tags g" + index + " JOIN board_threads t" +
		" ON t.id = g.thread_id WHERE g.tag_id = ? AND (g.last_post_at, g.thread_id) < (?, ?)" +
		" ORDER BY g.last_post_at DESC, g.thread_id DESC" + content.Limit(d)
}

// OfThreads returns the query for the tags of n threads.
func OfThreads(n int) string {
	return "SELECT g.thread_id, t.id, t.name FROM board_thread_tags g JOIN board_tags t ON t.id = g.tag_id" +
		" WHERE g.thread_id IN (" + kernel.Marks(n) + ")"
}

// Of returns the tags of threads, by thread and sorted by name.
func (s *Service) Of(ctx context.Context, threads ...content.ThreadInfo) (tags map[int64][]Tag, err error) {
	if len(threads) == 0 {
		return nil, nil
	}
	ids := make([]any, len(threads))
	for i, t := range threads {
		ids[i] = t.ID
	}
	err = s.Read(ctx, func(c store.Conn) error {
		tags = make(map[int64][]Tag)
		return c.All(OfThreads(len(ids)), ids, func(r store.Row) error {
			var thread int64
			var t Tag
			err := r.Scan(&thread, &t.ID, &t.Name)
			tags[thread] = append(tags[thread], t)
			return err
		})
	})
	for _, list := range tags {
		slices.SortFunc(list, func(x, y Tag) int { return cmp.Compare(x.Name, y.Name) })
	}
	return tags, err
}

// Page is a page of the threads with a tag.
type Page struct {
	Tag     Tag
	Threads []content.ThreadInfo
	First   bool   // this is the first page
	Next    string // the cursor of the next page; empty on the last one
}

// Threads returns a page of the visible threads with a tag that the actor may see, newest activity first. cursor is
// the previous page's Next, or empty for the first page.
//
// Threads in forums that the actor may not see are left out while the page is filled, and at most maxBatches batches
// of threads are read for a page. A page may therefore be short or empty although there is a next page. If the actor
// sees no thread on the first page, Threads returns NotFound, as if nobody had used the tag. Otherwise the tag's name
// could reveal topics of forums that the actor may not see.
func (s *Service) Threads(
	ctx context.Context, a *rights.Actor, tag int64, cursor string, limit int,
) (page Page, err error) {
	position, err := s.posts.ReadCursor(-tag, cursor) // negative numbers are free for lists other than those of forums
	if err != nil {
		return page, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		page = Page{First: cursor == ""}
		if page.Tag, err = scan(c.Row("SELECT id, name FROM board_tags WHERE id = ?", tag)); err != nil {
			return kernel.OrNotFound(err)
		}
		threads, next, err := s.readVisible(c, a, tag, position, limit)
		if err != nil {
			return err
		}
		if page.First && len(threads) == 0 {
			return kernel.NotFound()
		}
		page.Next = next
		page.Threads, err = s.posts.ViewThreads(c, a, threads)
		return err
	})
	return page, err
}

// readVisible returns up to limit threads with a tag that the actor may see, beginning after position, and the cursor
// of the next page.
func (s *Service) readVisible(
	c store.Conn, a *rights.Actor, tag int64, position posts.Position, limit int,
) (threads []*content.Thread, next string, err error) {
	for range maxBatches {
		lastAt, id := position.Args()
		list, err := store.List(c, content.ScanThread, ThreadsOf(c.Dialect()), tag, lastAt, id, batch)
		if err != nil {
			return nil, "", err
		}
		for _, t := range list {
			if t.Visibility == rights.Visible && posts.Lists(a, t) {
				if len(threads) == limit { // t begins the next page
					return threads, s.posts.Cursor(-tag, position), nil
				}
				threads = append(threads, t)
			}
			position = posts.Position{At: t.LastAt, ID: t.ID}
		}
		if len(list) < batch {
			return threads, "", nil
		}
	}
	return threads, s.posts.Cursor(-tag, position), nil
}
