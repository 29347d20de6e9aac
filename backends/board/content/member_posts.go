package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Members' posts are counted by forum: those that are visible, in threads that
// are. All changes of these rows come before one of their forum's row, so that
// two transactions do not wait for each other.

const addMemberPosts = " ON CONFLICT (user_id, forum_id) DO UPDATE" +
	" SET posts = board_member_posts.posts + excluded.posts"

// CountPosts adds to what an author has posted in a forum; author 0 is nobody.
func CountPosts(c store.Conn, author, forum, more int64) error {
	if author == 0 || more == 0 {
		return nil
	}
	return c.Later("INSERT INTO board_member_posts (user_id, forum_id, posts) VALUES (?, ?, ?)"+addMemberPosts, author,
		forum, more)
}

// CountThread adds (1) the visible posts of a thread to their authors' in a
// forum, or takes them away (-1).
func CountThread(c store.Conn, thread, forum, sign int64) error {
	_, err := c.Exec("INSERT INTO board_member_posts (user_id, forum_id, posts)"+
		" SELECT author_id, CAST(? AS BIGINT), CAST(? AS BIGINT) * count(*) FROM board_posts WHERE thread_id = ?"+
		" AND visibility = 0 AND author_id IS NOT NULL"+
		" GROUP BY author_id ORDER BY author_id"+addMemberPosts, forum, sign, thread)
	return err
}

// PostsSeen counts what a member has posted where the actor could read it.
func PostsSeen(c store.Conn, a *rights.Actor, member int64) (sum int64, err error) {
	err = c.All("SELECT forum_id, posts FROM board_member_posts WHERE user_id = ?",
		[]any{member}, func(r store.Row) error {
			var forum, posts int64
			err := r.Scan(&forum, &posts)
			if forum == 0 || a.ReadsAll(forum) || a.Owns(member) && a.Reads(forum) {
				sum += posts
			}
			return err
		})
	return sum, err
}
