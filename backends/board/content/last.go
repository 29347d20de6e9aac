package content

import (
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// LastOfThread sets the last post of a thread to its last visible post, or to its first post if none is visible.
func LastOfThread(c store.Conn, t *Thread) error {
	var id int64
	var at kernel.Moment
	var name string
	err := c.Row("SELECT p.id, p.created_at, p.author_name FROM board_posts p WHERE p.thread_id = ? AND p.visibility = 0"+
		" ORDER BY p.id DESC LIMIT 1", t.ID).Scan(&id, &at, &name)
	if errors.Is(err, sql.ErrNoRows) {
		err = c.Row("SELECT p.id, p.created_at, p.author_name FROM board_posts p WHERE p.thread_id = ? ORDER BY p.id LIMIT 1",
			t.ID).Scan(&id, &at, &name)
	}
	if err != nil {
		return err
	}
	_, err = c.Exec("UPDATE board_threads SET last_post_id = ?, last_post_at = ?, last_poster_name = ? WHERE id = ?",
		id, at, name, t.ID)
	if err != nil {
		return err
	}
	return Tagged(c, t.ID, at)
}
