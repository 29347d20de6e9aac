package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// forumSlots is over how many rows the counters of a forum are spread, since the row that counts a new post stays
// locked until the commit is durable.
const forumSlots = 16

// Count adds to the counters of a forum. Call it at the end of a transaction.
func Count(c store.Conn, forum, thread, threads, posts int64) error {
	if threads == 0 && posts == 0 {
		return nil
	}
	return c.Later("INSERT INTO board_forum_counts (forum_id, slot, threads, posts) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (forum_id, slot) DO UPDATE"+
		" SET threads = board_forum_counts.threads + excluded.threads, posts = board_forum_counts.posts + excluded.posts",
		forum, thread%forumSlots, threads, posts)
}

// These SQL expressions count the threads and the posts of a forum f.
const (
	ForumThreads = "f.thread_count + COALESCE((SELECT CAST(sum(n.threads) AS BIGINT) FROM board_forum_counts n" +
		" WHERE n.forum_id = f.id), 0)"
	ForumPosts = "f.post_count + COALESCE((SELECT CAST(sum(n.posts) AS BIGINT) FROM board_forum_counts n" +
		" WHERE n.forum_id = f.id), 0)"
)

// LastOfForum returns a subquery for a column of the newest visible thread of a forum f.
func LastOfForum(d store.Dialect, column string) string {
	index := ""
	if d == store.SQLite {
		index = " INDEXED BY board_threads_forum_visible"
	}
	return "(SELECT l." + column + " FROM board_threads l" + index + " WHERE l.forum_id = f.id AND l.visibility = 0" +
		" ORDER BY l.last_post_at DESC, l.id DESC LIMIT 1)"
}

// CountedForums returns the query for all forums with their counters. ScanCounted reads its rows.
func CountedForums(d store.Dialect) string {
	return "SELECT " + ForumColumns + ", " + ForumThreads + ", " + ForumPosts + ", COALESCE(" +
		LastOfForum(d, "last_post_at") + ", 0) FROM board_forums f"
}

// ScanCounted reads a row of CountedForums.
func ScanCounted(r store.Row) (*Forum, error) {
	var threads, posts int64
	var lastAt kernel.Moment
	f, err := ScanForum(Tail{r, []any{&threads, &posts, &lastAt}})
	f.Threads, f.Posts, f.LastAt = threads, posts, lastAt
	return f, err
}

// NewestThreads returns the query for the newest visible thread of each forum. ScanThread reads its rows.
func NewestThreads(d store.Dialect) string {
	return "SELECT " + ThreadColumns + " FROM board_forums f JOIN board_threads t ON t.id = " + LastOfForum(d, "id")
}
