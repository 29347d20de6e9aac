// Package search finds posts by their words. It splits texts into words, maintains an index of these words, and
// searches the index for posts that an actor may see.
package search

import (
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Service is the search of a board.
type Service struct {
	*kernel.Server
	words *Words
}

// New returns the search of a board. All boards on one database must share words.
func New(board *kernel.Server, words *Words) *Service { return &Service{Server: board, words: words} }

// Query is a search for posts.
type Query struct {
	Text   string
	Forum  int64  // 0 for all forums
	Thread int64  // 0 for all threads
	Author string // empty for all authors
	Tag    string // empty for threads with any tags or none
	After  int64  // only posts with lower ids; 0 begins with the newest
	Limit  int
}

const (
	// maxSearchWords limits the words in a query, and maxQueryLength its length in bytes.
	maxSearchWords = 16
	maxQueryLength = 400
	// A search reads the posts with the words from the newest on, searchChunk at a time, and stops after maxSearch
	// posts. So finding the few posts of an author with common words takes several pages.
	searchChunk = 250
	maxSearch   = 20_000
)

// Found is a post that matches a query, and its thread.
type Found struct {
	Post   *content.Post
	Thread *content.Thread
}

// Find returns a page of the posts that contain the words of a query, newest first. Posts in forums that the actor does
// not see are excluded before anything is counted. A page may be short or empty although there is a next page. next is
// the After of the next page, or 0 on the last page.
func (s *Service) Find(ctx context.Context, a *rights.Actor, q Query) (list []Found, next int64, err error) {
	if q.Forum != 0 && !a.In(q.Forum).Visible {
		return nil, 0, kernel.NotFound()
	}
	phrases := phrasesOf(q.Text)
	if len(phrases) == 0 || len(phrases) > maxSearchWords || len(q.Text) > maxQueryLength {
		return nil, 0, kernel.BadRequest("q", "q must have 1 to 16 words")
	}
	filter := searchFilter(a, q, rights.ThreadView|rights.ForumSearch)
	if filter.where == "" {
		return nil, 0, nil
	}
	err = s.Read(ctx, func(c store.Conn) error {
		var ids []any
		walk := &wordWalk{c: c, words: queryOf(c.Dialect(), phrases), after: q.After}
		if ids, next, err = searchIDs(c, walk, filter, q.Limit); err != nil {
			return err
		}
		list, err = postsByID(c, a, ids)
		return err
	})
	return list, next, err
}

// searchIDs returns the ids of up to limit posts of a walk that meet a condition, newest first. next is the After of
// the next page, or 0 on the last page. searchIDs gives up after maxSearch posts; the page is then short, but has a
// next page.
func searchIDs(c store.Conn, walk *wordWalk, filter condition, limit int) (page []any, next int64, err error) {
	for examined := 0; examined < maxSearch; {
		matching, more, err := walk.next()
		if err != nil {
			return nil, 0, err
		}
		if len(matching) > 0 {
			statement := "SELECT i.id FROM board_post_ids i JOIN board_threads t ON t.id = i.thread_id WHERE i.id IN (" +
				kernel.Marks(len(matching)) + ") AND " + filter.where + " ORDER BY i.id DESC"
			found, err := store.Column[any](c, statement, append(matching, filter.args...)...)
			if err != nil {
				return nil, 0, err
			}
			page = append(page, found...)
		}
		switch {
		case len(page) > limit:
			return page[:limit], page[limit-1].(int64), nil
		case !more:
			return page, 0, nil
		}
		examined += len(matching)
	}
	return page, walk.after, nil
}

// condition is a part of a WHERE clause. If where is empty, no row meets the condition.
type condition struct {
	where string
	args  []any
}

// searchFilter returns the condition for visible posts that meet q, apart from the words of q, in forums that the actor
// sees and in which it has the needed rights. If there are no such forums, the condition is empty.
func searchFilter(a *rights.Actor, q Query, needed rights.Mask) (f condition) {
	var allThreads, ownThreads []any // ids of the forums in which the actor sees all threads, or only its own
	for id, r := range a.Rights.Forums {
		switch {
		case q.Forum != 0 && q.Forum != id, !r.Visible, !r.Mask.Has(needed):
			// The forum is not searched.
		case r.Mask.Has(rights.ThreadViewOthers):
			allThreads = append(allThreads, id)
		case a.User != nil:
			ownThreads = append(ownThreads, id)
		}
	}
	var conditions []string
	if len(allThreads) > 0 {
		conditions = append(conditions, "t.forum_id IN ("+kernel.Marks(len(allThreads))+")")
		f.args = append(f.args, allThreads...)
	}
	if len(ownThreads) > 0 {
		conditions = append(conditions, "t.author_id = ? AND t.forum_id IN ("+kernel.Marks(len(ownThreads))+")")
		f.args = append(append(f.args, a.ID()), ownThreads...)
	}
	if len(conditions) == 0 {
		return f
	}
	f.where = "i.visibility = 0 AND t.visibility = 0 AND (" + strings.Join(conditions, " OR ") + ")"
	if q.Thread != 0 {
		f.where += " AND i.thread_id = ?"
		f.args = append(f.args, q.Thread)
	}
	if q.Author != "" {
		f.where += " AND i.author_id = (SELECT id FROM board_users WHERE username_key = ?)"
		f.args = append(f.args, text.Fold(q.Author))
	}
	if q.Tag != "" {
		f.where += " AND EXISTS (SELECT 1 FROM board_thread_tags g JOIN board_tags n ON n.id = g.tag_id" +
			" WHERE g.thread_id = i.thread_id AND n.name_key = ?)"
		f.args = append(f.args, text.Fold(q.Tag))
	}
	return f
}

// postsByID returns the posts with these ids that the actor sees, with their threads, newest first.
func postsByID(c store.Conn, a *rights.Actor, ids []any) (list []Found, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	statement := "SELECT " + content.PostColumns + ", " + content.ThreadColumns +
		" FROM board_post_ids i JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id" +
		" JOIN board_threads t ON t.id = i.thread_id WHERE i.id IN (" + kernel.Marks(len(ids)) + ") ORDER BY i.id DESC"
	err = c.All(statement, ids, func(r store.Row) error {
		t := new(content.Thread)
		p, err := content.ScanPost(content.Tail{Row: r, More: []any{t}})
		if err != nil {
			return err
		}
		if a.Sees(t.Forum, t.Author, t.Author, t.Visibility) && a.Sees(t.Forum, t.Author, p.Author, p.Visibility) {
			list = append(list, Found{Post: p, Thread: t})
		}
		return nil
	})
	return list, err
}
