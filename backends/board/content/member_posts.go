package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The posts of members are counted by forum: the visible ones in visible threads. A transaction changes these rows
// before those that count the posts of a forum, so that two transactions do not deadlock.

const addMemberPosts = " ON CONFLICT (user_id, forum_id) DO UPDATE" +
	" SET posts = board_member_posts.posts + excluded.posts"

// CountPosts adds to the number of an author's posts in a forum. It does nothing for author 0.
func CountPosts(c store.Conn, author, forum, more int64) error {
	if author == 0 || more == 0 {
		return nil
	}
	return c.Later("INSERT INTO board_member_posts (user_id, forum_id, posts) VALUES (?, ?, ?)"+addMemberPosts, author,
		forum, more)
}

// CountThread adds the visible posts of a thread to the numbers of their authors' posts in a forum if sign is 1,
// and subtracts them if it is -1.
func CountThread(c store.Conn, thread, forum, sign int64) error {
	_, err := c.Exec("INSERT INTO board_member_posts (user_id, forum_id, posts)"+
		" SELECT author_id, CAST(? AS BIGINT), CAST(? AS BIGINT) * count(*) FROM board_posts WHERE thread_id = ?"+
		" AND visibility = 0 AND author_id IS NOT NULL"+
		" GROUP BY author_id ORDER BY author_id"+addMemberPosts, forum, sign, thread)
	return err
}

// PostsSeen counts a member's posts in the forums in which the actor could read them.
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
