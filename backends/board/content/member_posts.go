package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The table board_member_posts counts each member's posts by forum: the visible posts in visible threads. To avoid
// deadlocks, a transaction changes rows of this table before it changes the counters of a forum.

const addMemberPosts = " ON CONFLICT (user_id, forum_id) DO UPDATE" +
	" SET posts = board_member_posts.posts + excluded.posts"

// CountPosts adds delta, which may be negative, to the number of an author's posts in a forum. If author is 0, it does
// nothing.
func CountPosts(c store.Conn, author, forum, delta int64) error {
	if author == 0 || delta == 0 {
		return nil
	}
	return c.Later("INSERT INTO board_member_posts (user_id, forum_id, posts) VALUES (?, ?, ?)"+addMemberPosts, author,
		forum, delta)
}

// CountThread counts the visible posts of a thread for each of their authors. If sign is 1 it adds these counts to the
// authors' posts in a forum, and if sign is -1 it subtracts them.
func CountThread(c store.Conn, thread, forum, sign int64) error {
	_, err := c.Exec("INSERT INTO board_member_posts (user_id, forum_id, posts)"+
		" SELECT author_id, CAST(? AS BIGINT), CAST(? AS BIGINT) * count(*) FROM board_posts WHERE thread_id = ?"+
		" AND visibility = 0 AND author_id IS NOT NULL"+
		" GROUP BY author_id ORDER BY author_id"+addMemberPosts, forum, sign, thread)
	return err
}

// PostsSeen counts a member's posts in the forums that the actor may read. It includes the posts that the member wrote
// outside this board, such as before an import, which are counted under forum 0.
func PostsSeen(c store.Conn, a *rights.Actor, member int64) (sum int64, err error) {
	err = c.All("SELECT forum_id, posts FROM board_member_posts WHERE user_id = ?",
		[]any{member}, func(r store.Row) error {
			var forum, posts int64
			err := r.Scan(&forum, &posts)
			readsOwn := a.Owns(member) && a.Reads(forum) // the actor may read its own threads there
			if forum == 0 || a.ReadsAll(forum) || readsOwn {
				sum += posts
			}
			return err
		})
	return sum, err
}
