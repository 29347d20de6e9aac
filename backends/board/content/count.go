package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// forumSlots is over how many rows the counts of a forum are spread. The row that
// counts a post is held until the commit is durable.
const forumSlots = 16

// Count adds to what a forum counts. It belongs to the end of a transaction.
func Count(c store.Conn, forum, thread, threads, posts int64) error {
	if threads == 0 && posts == 0 {
		return nil
	}
	return c.Later("INSERT INTO board_forum_counts (forum_id, slot, threads, posts) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (forum_id, slot) DO UPDATE"+
		" SET threads = board_forum_counts.threads + excluded.threads, posts = board_forum_counts.posts + excluded.posts",
		forum, thread%forumSlots, threads, posts)
}

// The counts of a forum f, and its newest thread t.
const (
	ForumThreads = "f.thread_count + COALESCE((SELECT CAST(sum(n.threads) AS BIGINT) FROM board_forum_counts n" +
		" WHERE n.forum_id = f.id), 0)"
	ForumPosts = "f.post_count + COALESCE((SELECT CAST(sum(n.posts) AS BIGINT) FROM board_forum_counts n" +
		" WHERE n.forum_id = f.id), 0)"
)

// LastOfForum selects a column of the newest visible thread of a forum f.
func LastOfForum(d store.Dialect, column string) string {
	index := ""
	if d == store.SQLite {
		index = " INDEXED BY board_threads_forum_visible"
	}
	return "(SELECT l." + column + " FROM board_threads l" + index + " WHERE l.forum_id = f.id AND l.visibility = 0" +
		" ORDER BY l.last_post_at DESC, l.id DESC LIMIT 1)"
}

// CountedForums selects all forums with what they count.
func CountedForums(d store.Dialect) string {
	return "SELECT " + ForumColumns + ", " + ForumThreads + ", " + ForumPosts + ", COALESCE(" +
		LastOfForum(d, "last_post_at") + ", 0) FROM board_forums f"
}

// ScanCounted reads a forum with its counts.
func ScanCounted(r store.Row) (*Forum, error) {
	var threads, posts int64
	var lastAt kernel.Moment
	f, err := ScanForum(Tail{r, []any{&threads, &posts, &lastAt}})
	f.Threads, f.Posts, f.LastAt = threads, posts, lastAt
	return f, err
}

// NewestThreads selects the newest visible thread of each forum.
func NewestThreads(d store.Dialect) string {
	return "SELECT " + ThreadColumns + " FROM board_forums f JOIN board_threads t ON t.id = " + LastOfForum(d, "id")
}
