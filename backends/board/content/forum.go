package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// forumSlots is the number of rows over which the counters of one forum are spread. A single row would be contended:
// each new post locks its counter row until the commit is durable.
const forumSlots = 16

// Count adds threads and posts, which may be negative, to the counters of a forum. thread selects the row that is
// changed (see forumSlots). Call Count at the end of a transaction.
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

// LastOfForum returns a subquery that selects a column of the newest visible thread in forum f.
func LastOfForum(d store.Dialect, column string) string {
	index := ""
	if d == store.SQLite {
		index = " INDEXED BY board_threads_forum_visible"
	}
	return "(SELECT l." + column + " FROM board_threads l" + index + " WHERE l.forum_id = f.id AND l.visibility = 0" +
		" ORDER BY l.last_post_at DESC, l.id DESC LIMIT 1)"
}

// CountedForums returns the query for all forums with their counters. Read its rows with ScanCounted.
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

// NewestThreads returns the query for the newest visible thread of each forum. Read its rows with ScanThread.
func NewestThreads(d store.Dialect) string {
	return "SELECT " + ThreadColumns + " FROM board_forums f JOIN board_threads t ON t.id = " + LastOfForum(d, "id")
}

// FreeForumSlug returns an unused slug for a forum with this title, with a number at its end if necessary.
func FreeForumSlug(c store.Conn, title string) (string, error) {
	base := kernel.Slug(title)
	slug := base
	for n := int64(2); ; n++ {
		var count int
		if err := c.Row("SELECT count(*) FROM board_forums WHERE slug = ?", slug).Scan(&count); err != nil || count == 0 {
			return slug, err
		}
		slug = base[:min(len(base), kernel.MaxSlug-6)] + "-" + kernel.Itoa(n)
	}
}

// AddForum inserts a forum and returns its id. A Position of 0 puts it after its siblings.
func AddForum(c store.Conn, f Forum) (id int64, err error) {
	path, depth := "", int64(0)
	if f.Parent != 0 {
		if err := c.Row("SELECT path, depth + 1 FROM board_forums WHERE id = ?", f.Parent).Scan(&path, &depth); err != nil {
			return 0, err
		}
	}
	if f.Position == 0 {
		if err := c.Row("SELECT COALESCE(max(position), 0) + 1 FROM board_forums WHERE COALESCE(parent_id, 0) = ?",
			f.Parent).Scan(&f.Position); err != nil {
			return 0, err
		}
	}
	err = c.Row("INSERT INTO board_forums (parent_id, path, depth, position, type, title, slug, description, link_url,"+
		" is_open, allow_threads, allow_replies,"+
		" moderate_threads, moderate_posts, requires_prefix, flood_seconds, min_words, max_words, answers)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		kernel.Null(f.Parent), path, depth, f.Position, f.Kind, f.Title, f.Slug, f.Description, f.Link, kernel.Bool(f.Open),
		kernel.Bool(f.AllowThreads), kernel.Bool(f.AllowReplies),
		kernel.Bool(f.ModerateThreads), kernel.Bool(f.ModeratePosts), kernel.Bool(f.RequiresPrefix), f.FloodSeconds,
		kernel.Null(f.MinWords), kernel.Null(f.MaxWords), kernel.Bool(f.Answers)).Scan(&id)
	if err != nil {
		return 0, err
	}
	_, err = c.Exec("UPDATE board_forums SET path = ? WHERE id = ?", path+"/"+kernel.Itoa(id), id)
	return id, err
}
