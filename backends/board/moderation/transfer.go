package moderation

import (
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// transfer moves posts from one visible thread to another in a transaction. Both threads are locked. All counters are
// updated at once, except those of the forums. The method updateForumCounts updates these at the end of the
// transaction.
type transfer struct {
	c        store.Conn
	from, to *content.Thread
	visible  int64 // how many visible posts were moved
}

// postColumns lists the columns of board_posts that a move does not change.
const postColumns = "author_id, author_name, visibility, message, message_html, render_version, body_hash, created_at," +
	" edited_at, edited_by, edit_reason, edit_count"

// movePosts moves posts, whose ids are in ascending order. The first of them gets the given number, and the others the
// following numbers.
func (t *transfer) movePosts(ids []any, number int64) error {
	if len(ids) == 0 {
		return nil
	}
	inIDs := " IN (" + kernel.Marks(len(ids)) + ")"
	args := append([]any{t.from.ID}, ids...)
	type authorPosts struct{ author, posts int64 }
	authors, err := store.List(t.c, func(r store.Row) (n authorPosts, err error) {
		return n, r.Scan(&n.author, &n.posts)
	}, "SELECT COALESCE(author_id, 0), count(*) FROM board_posts WHERE thread_id = ? AND id"+inIDs+
		" AND visibility = 0 GROUP BY author_id ORDER BY author_id", args...)
	if err != nil {
		return err
	}
	// row_number begins with 1, so the first of the posts gets the given number.
	if _, err := t.c.Exec("INSERT INTO board_posts (thread_id, id, number, "+postColumns+")"+
		" SELECT CAST(? AS BIGINT), id, CAST(? AS BIGINT) + row_number() OVER (ORDER BY id), "+postColumns+
		" FROM board_posts WHERE thread_id = ? AND id"+inIDs, append([]any{t.to.ID, number - 1}, args...)...); err != nil {
		return err
	}
	if _, err := t.c.Exec("DELETE FROM board_posts WHERE thread_id = ? AND id"+inIDs, args...); err != nil {
		return err
	}
	if err := t.updateReferences(ids); err != nil {
		return err
	}
	var visible int64
	for _, n := range authors {
		visible += n.posts
	}
	if t.from.Forum != t.to.Forum {
		for _, forum := range t.forums() {
			for _, n := range authors {
				if err := content.CountPosts(t.c, n.author, forum, t.sign(forum)*n.posts); err != nil {
					return err
				}
			}
		}
	}
	t.visible += visible
	t.from.Replies -= visible
	t.to.Replies += visible
	return nil
}

// updateReferences updates the rows of other tables that refer to the thread or forum of the posts. A post that was the
// answer of its old thread is not the answer of the new one.
func (t *transfer) updateReferences(ids []any) error {
	inIDs := " IN (" + kernel.Marks(len(ids)) + ")"
	if _, err := t.c.Exec("UPDATE board_post_ids SET thread_id = ?, forum_id = ? WHERE id"+inIDs,
		append([]any{t.to.ID, t.to.Forum}, ids...)...); err != nil {
		return err
	}
	if _, err := t.c.Exec("UPDATE board_attachments SET thread_id = ? WHERE removed_at IS NULL AND post_id"+inIDs,
		append([]any{t.to.ID}, ids...)...); err != nil {
		return err
	}
	if _, err := t.c.Exec("UPDATE board_threads SET answer_id = 0 WHERE id = ? AND answer_id"+inIDs,
		append([]any{t.from.ID}, ids...)...); err != nil {
		return err
	}
	if _, err := t.c.Exec("UPDATE board_threads SET has_poll = 1 WHERE id = ? AND EXISTS (SELECT 1 FROM board_polls"+
		" WHERE post_id"+inIDs+")", append([]any{t.to.ID}, ids...)...); err != nil {
		return err
	}
	_, err := t.c.Exec("UPDATE board_reports SET forum_id = ? WHERE post_id"+inIDs,
		append([]any{t.to.Forum}, ids...)...)
	return err
}

// moveArchived moves up to limit archived posts and returns how many it has moved. The first of them gets the given
// number, and the others the following numbers.
func (t *transfer) moveArchived(limit int, number int64) (int, error) {
	ids, err := store.Column[any](t.c, "SELECT id FROM board_posts_archive WHERE thread_id = ? ORDER BY id LIMIT ?",
		t.from.ID, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	for i, id := range ids {
		if _, err := t.c.Exec("UPDATE board_posts_archive SET thread_id = ?, number = ? WHERE id = ?",
			t.to.ID, number+int64(i), id); err != nil {
			return 0, err
		}
	}
	return len(ids), t.updateReferences(ids)
}

// save writes the counters and the last posts of both threads.
func (t *transfer) save() error {
	for _, thread := range []*content.Thread{t.from, t.to} {
		if _, err := t.c.Exec("UPDATE board_threads SET reply_count = ?, next_number = ?, first_post_id = ? WHERE id = ?",
			thread.Replies, thread.Next, thread.First, thread.ID); err != nil {
			return err
		}
		if thread.Visibility == rights.Gone {
			continue // the thread has no posts left
		}
		if err := content.LastOfThread(t.c, thread); err != nil {
			return err
		}
	}
	return nil
}

// updateForumCounts updates the numbers of posts and threads of both forums. added is the number of new threads in
// the forum that gets the posts. removed is the number of threads that are removed from the other forum. Call
// updateForumCounts at the end of the transaction, because the rows of forums are locked from then on.
func (t *transfer) updateForumCounts(added, removed int64) error {
	if t.from.Forum == t.to.Forum { // its number of posts stays the same
		return content.Count(t.c, t.to.Forum, t.to.ID, added-removed, 0)
	}
	for _, forum := range t.forums() {
		thread, threads, posts := t.to.ID, added, t.visible
		if forum == t.from.Forum {
			thread, threads, posts = t.from.ID, -removed, -t.visible
		}
		if err := content.Count(t.c, forum, thread, threads, posts); err != nil {
			return err
		}
	}
	return nil
}

// forums lists the forums of both threads in the order in which their rows are changed.
func (t *transfer) forums() []int64 {
	return []int64{min(t.from.Forum, t.to.Forum), max(t.from.Forum, t.to.Forum)}
}

// sign returns 1 for the forum to which posts move, and -1 for the forum that they leave.
func (t *transfer) sign(forum int64) int64 {
	if forum == t.to.Forum {
		return 1
	}
	return -1
}
