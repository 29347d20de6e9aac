package moderation

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// batch is the maximum number of rows that one transaction of a merge moves. It is small because other writers wait for
// the transaction.
const batch = 500

// Merge merges the threads with the ids first and second, in any order: all posts of the thread that begins later move
// to the other thread, whose id Merge returns. If title is not empty, it becomes the title of the remaining thread.
// URLs of the emptied thread then lead to the remaining thread. A long thread is moved in several transactions. If ctx
// or the process ends meanwhile, ResumeMerges completes the merge.
//
// The actor needs the right to move threads in both forums and, to change the title, the right to edit titles.
func (s *Service) Merge(
	ctx context.Context, a *rights.Actor, first, second int64, title string,
) (remaining int64, err error) {
	if title != "" {
		if title, err = checkTitle(a, title); err != nil {
			return 0, kernel.WithField(err, titleField)
		}
	}
	readers, err := s.readBoth(ctx, first, second)
	if err != nil {
		return 0, err
	}
	var merged int64 // the id of the thread that is emptied
	var done bool
	err = s.Write(ctx, func(c store.Conn) error {
		source, target, err := lockBoth(c, a, first, second, "other")
		if err != nil {
			return err
		}
		if source.First < target.First { // the thread that begins later is emptied
			source, target = target, source
		}
		remaining, merged = target.ID, source.ID
		if err := s.checkMerge(c, a, source, target); err != nil {
			return err
		}
		if title != "" && title != target.Title {
			if err := s.retitle(c, a, target, title); err != nil {
				return err
			}
		}
		detail := kernel.ForLog(source.Title) + ", thread " + kernel.Itoa(source.ID)
		if err := s.logMove(c, a, "thread.merge", target, source.Forum, 0, detail); err != nil {
			return err
		}
		// The first post moves last, but gets the first of the new numbers.
		firstNumber := target.Next
		target.Next++
		if _, err := c.Exec("INSERT INTO board_merged_threads (thread_id, into_id, first_post, first_number)"+
			" VALUES (?, ?, ?, ?)", source.ID, target.ID, source.First, firstNumber); err != nil {
			return err
		}
		// Nobody shall reply in the thread while its posts move.
		if _, err := c.Exec("UPDATE board_threads SET is_locked = 1 WHERE id = ?", source.ID); err != nil {
			return err
		}
		done, err = s.moveBatch(c, source, target)
		return err
	})
	if err == nil && !done {
		err = s.finishMerge(ctx, merged)
	}
	if err != nil {
		return 0, err
	}
	return remaining, s.markRead(ctx, remaining, readers)
}

// checkMerge returns nil if the actor may move posts in the forums of both threads, both threads are visible, and
// neither is part of another merge that is still running.
func (s *Service) checkMerge(c store.Conn, a *rights.Actor, source, target *content.Thread) error {
	for _, t := range []*content.Thread{source, target} {
		if err := s.checkMayMove(a, t.Forum, "other"); err != nil {
			return err
		}
		if err := checkVisible(t, "other"); err != nil {
			return err
		}
		var merging bool
		if err := c.Row("SELECT EXISTS (SELECT 1 FROM board_merged_threads WHERE (thread_id = ? OR into_id = ?)"+
			" AND merged_at IS NULL)", t.ID, t.ID).Scan(&merging); err != nil {
			return err
		}
		if merging {
			return kernel.Conflict("thread " + kernel.Itoa(t.ID) + " is being merged; try again when that is done")
		}
	}
	return nil
}

// titleField is the field in the errors of Merge about the new title. Forms show such an error next to the choice of
// the title that is kept.
const titleField = "kept"

// retitle changes the title of the thread that remains after a merge, and logs the change. It returns Forbidden if the
// actor may not edit titles.
func (s *Service) retitle(c store.Conn, a *rights.Actor, t *content.Thread, title string) error {
	if !a.Has(t.Forum, rights.ThreadEditTitle) {
		return kernel.Forbidden(titleField, "no_permission", "you may not change the title of this thread")
	}
	if err := s.rights.Logged(c, a, "thread.edit", rights.ThreadEditTitle, t.Forum, t.ID, 0, "was: "+
		t.Title); err != nil {
		return err
	}
	t.Title = title
	if _, err := c.Exec("UPDATE board_threads SET title = ?, slug = ? WHERE id = ?", title, kernel.Slug(title),
		t.ID); err != nil {
		return err
	}
	return reindex(c, t, t.First, true)
}

// reindex updates the search index for a post of thread t. isFirst reports whether the post begins the thread. The
// index has a thread's title only with its first post.
func reindex(c store.Conn, t *content.Thread, post int64, isFirst bool) error {
	p, err := content.ReadPost(c, t.ID, post)
	if err != nil {
		return err
	}
	return search.Index(c, post, isFirst, t.Title, p.Message)
}

// ResumeMerges completes merges that were interrupted, and returns their number.
func (s *Service) ResumeMerges(ctx context.Context) (n int, err error) {
	undone, err := kernel.Value(ctx, s.Read, func(c store.Conn) ([]int64, error) {
		return store.Column[int64](c, "SELECT thread_id FROM board_merged_threads WHERE merged_at IS NULL"+
			" ORDER BY thread_id LIMIT ?", batch)
	})
	for _, id := range undone {
		if err := s.finishMerge(ctx, id); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

// finishMerge moves the remaining posts of a thread whose merge has begun.
func (s *Service) finishMerge(ctx context.Context, merged int64) error {
	for {
		s.Pause()
		done, err := kernel.Value(ctx, s.Write, func(c store.Conn) (bool, error) { return s.moveNextBatch(c, merged) })
		if err != nil || done {
			return err
		}
	}
}

// moveNextBatch works like moveBatch for a merge that has begun. merged is the id of the thread that is merged into
// another thread. done is also true if another node has ended the merge, or if there is nothing to merge any more.
func (s *Service) moveNextBatch(c store.Conn, merged int64) (done bool, err error) {
	var target int64
	err = c.Row("SELECT into_id FROM board_merged_threads WHERE thread_id = ? AND merged_at IS NULL", merged).Scan(&target)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	threads := make(map[int64]*content.Thread)
	for _, id := range []int64{min(merged, target), max(merged, target)} { // the order in which lockBoth locks
		if threads[id], err = content.ScanThread(c.Row(content.ThreadByID+c.Lock(), id)); err != nil {
			return false, err
		}
	}
	src, dst := threads[merged], threads[target]
	if src.Visibility != rights.Visible || dst.Visibility != rights.Visible {
		// Somebody has deleted one of the threads meanwhile: the remaining posts stay where they are.
		_, err := c.Exec("DELETE FROM board_merged_threads WHERE thread_id = ?", merged)
		return true, err
	}
	return s.moveBatch(c, src, dst)
}

// moveBatch moves up to batch rows from one thread to another: first archived posts, then posts except the first, then
// subscriptions. When none of these rows are left, it moves the first post and ends the merge. done reports whether the
// merge has ended.
func (s *Service) moveBatch(c store.Conn, source, target *content.Thread) (done bool, err error) {
	move := &transfer{c: c, from: source, to: target}
	budget := batch // how many more rows this call may move
	archived, err := move.moveArchived(budget, target.Next)
	if err != nil {
		return false, err
	}
	budget -= archived
	target.Next += int64(archived)
	ids, err := store.Column[any](c, "SELECT id FROM board_posts WHERE thread_id = ? AND id > ? ORDER BY id LIMIT ?",
		source.ID, source.First, budget)
	if err != nil {
		return false, err
	}
	if err := move.movePosts(ids, target.Next); err != nil {
		return false, err
	}
	budget -= len(ids)
	target.Next += int64(len(ids))
	if budget > 0 {
		followers, err := s.moveFollowers(c, source, target, budget)
		if err != nil {
			return false, err
		}
		budget -= followers
	}
	if budget == 0 { // there may be more rows
		if err := move.save(); err != nil {
			return false, err
		}
		return false, move.updateForumCounts(0, 0)
	}
	if err := s.endMerge(move); err != nil {
		return false, err
	}
	return true, move.updateForumCounts(0, 1)
}

// moveFollowers moves up to limit subscriptions from one thread to another, with the followers' waiting mails, and
// returns the number of the subscriptions.
func (s *Service) moveFollowers(c store.Conn, source, target *content.Thread, limit int) (int, error) {
	ids, err := store.Column[any](c, "SELECT user_id FROM board_subscriptions WHERE target = 'thread' AND target_id = ?"+
		" ORDER BY user_id LIMIT ?", source.ID, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	const fromSubscriptions = " FROM board_subscriptions WHERE target = 'thread' AND target_id = ? AND user_id IN ("
	fromAndIDs := append([]any{source.ID}, ids...)
	if _, err := c.Exec("INSERT INTO board_subscriptions (user_id, target, target_id, mode, created_at,"+
		" last_notified_post_id) SELECT user_id, target, CAST(? AS BIGINT), mode, created_at, last_notified_post_id"+fromSubscriptions+
		kernel.Marks(len(ids))+") ON CONFLICT (user_id, target, target_id) DO NOTHING",
		append([]any{target.ID}, fromAndIDs...)...); err != nil {
		return 0, err
	}
	// A merge moves the posts that waiting mails announce. So these mails move to the other thread, too, except if the
	// member gets a mail about the other thread anyway.
	if _, err := c.Exec("UPDATE board_mails SET thread_id = ? WHERE thread_id = ? AND source <> 'link' AND user_id IN ("+
		kernel.Marks(len(ids))+") AND NOT EXISTS (SELECT 1 FROM board_mails o WHERE o.user_id = board_mails.user_id"+
		" AND o.mode = board_mails.mode AND o.thread_id = ?)",
		slices.Concat([]any{target.ID}, fromAndIDs, []any{target.ID})...); err != nil {
		return 0, err
	}
	_, err = c.Exec("DELETE"+fromSubscriptions+kernel.Marks(len(ids))+")", fromAndIDs...)
	return len(ids), err
}

// endMerge completes a merge: it moves the first post, the tags and the views of the thread that is merged into
// another.
func (s *Service) endMerge(move *transfer) error {
	c, source, target := move.c, move.from, move.to
	var firstNumber int64
	if err := c.Row("SELECT first_number FROM board_merged_threads WHERE thread_id = ?",
		source.ID).Scan(&firstNumber); err != nil {
		return err
	}
	if err := move.movePosts([]any{source.First}, firstNumber); err != nil {
		return err
	}
	if err := reindex(c, target, source.First, false); err != nil {
		return err
	}
	if err := content.TakeTags(c, source, target); err != nil {
		return err
	}
	source.Visibility, source.Replies, source.Next = rights.Gone, 0, 1 // save writes the numbers
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{"UPDATE board_threads SET view_count = view_count + ? WHERE id = ?", []any{source.Views, target.ID}},
		{
			"UPDATE board_threads SET visibility = ?, is_sticky = 0, forum_id = ?, view_count = 0, prefix_id = NULL WHERE id = ?",
			[]any{rights.Gone, target.Forum, source.ID},
		},
		{"DELETE FROM board_thread_tags WHERE thread_id = ?", []any{source.ID}},
		{"UPDATE board_merged_threads SET merged_at = ? WHERE thread_id = ?", []any{s.Moment(), source.ID}},
		{"UPDATE board_merged_threads SET into_id = ? WHERE into_id = ?", []any{target.ID, source.ID}},
	} {
		if _, err := c.Exec(statement.sql, statement.args...); err != nil {
			return err
		}
	}
	return move.save()
}

// MergedInto returns the thread into which the given thread was merged, and the id of its former first post. It returns
// NotFound if the thread was not merged or the actor does not see the result.
func (s *Service) MergedInto(ctx context.Context, a *rights.Actor, thread int64) (target, first int64, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		err := c.Row("SELECT into_id, first_post FROM board_merged_threads WHERE thread_id = ? AND merged_at IS NOT NULL",
			thread).Scan(&target, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return kernel.NotFound()
		}
		if err != nil {
			return err
		}
		_, err = content.ThreadFor(c, a, target, "")
		return err
	})
	return target, first, err
}
