package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Tagged moves a thread to its place in the lists of its tags, after its last post has changed.
func Tagged(c store.Conn, thread int64, lastAt kernel.Moment) error {
	return c.Later("UPDATE board_thread_tags SET last_post_at = ? WHERE thread_id = ?", lastAt, thread)
}

// TakeTags gives a thread that has no tags those of another one.
func TakeTags(c store.Conn, from, to *Thread) error {
	_, err := c.Exec("INSERT INTO board_thread_tags (tag_id, thread_id, last_post_at) SELECT g.tag_id, CAST(? AS BIGINT),"+
		" CAST(? AS BIGINT) FROM board_thread_tags g WHERE g.thread_id = ? AND NOT EXISTS"+
		" (SELECT 1 FROM board_thread_tags o WHERE o.thread_id = ?)", to.ID, to.LastAt, from.ID, to.ID)
	return err
}
