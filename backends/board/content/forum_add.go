package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

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
