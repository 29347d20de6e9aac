package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Tagged moves a thread to its place in the lists of its tags, after its last post has changed.
func Tagged(c store.Conn, thread int64, lastAt kernel.Moment) error {
	return c.Later("UPDATE board_thread_tags SET last_post_at = ? WHERE thread_id = ?", lastAt, thread)
}

// maxTags is the maximum number of tags that a thread takes over.
const maxTags = 5

// TakeTags gives a thread the tags of another one beside its own, as far as there is room.
func TakeTags(c store.Conn, from, to *Thread) error {
	_, err := c.Exec("INSERT INTO board_thread_tags (tag_id, thread_id, last_post_at) SELECT g.tag_id, CAST(? AS BIGINT),"+
		" CAST(? AS BIGINT) FROM board_thread_tags g WHERE g.thread_id = ? AND g.tag_id NOT IN"+
		" (SELECT o.tag_id FROM board_thread_tags o WHERE o.thread_id = ?) ORDER BY g.tag_id"+
		" LIMIT (SELECT CASE WHEN count(*) < CAST(? AS BIGINT) THEN CAST(? AS BIGINT) - count(*) ELSE 0 END"+
		" FROM board_thread_tags o WHERE o.thread_id = ?)",
		to.ID, to.LastAt, from.ID, to.ID, maxTags, maxTags, to.ID)
	return err
}
