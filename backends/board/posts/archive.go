package posts

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// ArchiveRun is the length above which a run of consecutive hidden posts is archived. In shorter runs, the pages of a
	// thread skip the posts.
	ArchiveRun = 1000
	// archiveAge is the age from which a deleted post can be archived.
	archiveAge = 30 * 24 * time.Hour
	// The limits of threads in one call of Archive, of rows in one read, and of rows moved in one transaction.
	archiveThreads = 10_000
	archiveRead    = 2000
	archiveBatch   = 500
)

// archiveColumns lists the columns that board_posts and board_posts_archive have in common.
const archiveColumns = "thread_id, id, number, author_id, author_name, visibility, message, message_html," +
	" render_version, body_hash, created_at, edited_at, edited_by, edit_reason, edit_count"

// Archive moves deleted posts older than archiveAge into the archive if they are part of a run of more than
// ArchiveRun hidden posts, as after a flood of spam. A page of the thread then need not read past all these posts.
// Archive examines only threads with more than ArchiveRun/2 such deleted posts, and never moves the first post of a
// thread. It returns the number of moved posts. Restore brings an archived post back.
func (s *Service) Archive(ctx context.Context) (moved int64, err error) {
	cutoff := s.Moment().Add(-archiveAge)
	threads, err := kernel.Value(ctx, s.Read, func(c store.Conn) ([]int64, error) {
		return store.Column[int64](c, ArchiveCandidates(c.Dialect()), cutoff, ArchiveRun/2, archiveThreads)
	})
	if err != nil {
		return 0, err
	}
	for _, thread := range threads {
		n, err := s.archiveThread(ctx, thread, cutoff)
		moved += n
		if err != nil {
			return moved, kernel.Wrap("archiving posts of thread "+kernel.Itoa(thread), err)
		}
	}
	return moved, nil
}

// ArchiveCandidates returns the statement that finds threads to archive: those with many old deleted posts. Its
// arguments are the time before which posts count as old, the number of such posts that a thread must exceed, and the
// limit. The statement reads only the index of deleted posts.
func ArchiveCandidates(d store.Dialect) string {
	table := "board_post_ids"
	if d == store.SQLite {
		table += " INDEXED BY board_post_ids_deleted"
	}
	return "SELECT thread_id FROM " + table + " WHERE visibility = 2 AND created_at < ?" +
		" GROUP BY thread_id HAVING count(*) > ? ORDER BY thread_id" + content.Limit(d)
}

// archiveThread archives the posts of a thread that were created before cutoff and are in a long run of hidden posts.
func (s *Service) archiveThread(ctx context.Context, thread int64, cutoff kernel.Moment) (moved int64, err error) {
	type post struct{ id, visibility int64 }
	var run []int64 // the ids of the hidden posts since the last visible post; a run may extend over several pages
	for lastID := int64(0); ; {
		page, err := kernel.Value(ctx, s.Read, func(c store.Conn) ([]post, error) {
			return store.List(c, func(r store.Row) (p post, err error) {
				return p, r.Scan(&p.id, &p.visibility)
			}, "SELECT p.id, p.visibility FROM board_posts p WHERE p.thread_id = ? AND p.id > ? ORDER BY p.id"+
				content.Limit(c.Dialect()), thread, lastID, archiveRead)
		})
		if err != nil {
			return moved, err
		}
		for _, p := range page {
			if p.visibility != rights.Visible {
				run = append(run, p.id)
				continue
			}
			n, err := s.archiveRun(ctx, thread, run, cutoff)
			moved += n
			if err != nil {
				return moved, err
			}
			run = run[:0]
		}
		if len(page) < archiveRead { // the thread has no more posts
			n, err := s.archiveRun(ctx, thread, run, cutoff)
			return moved + n, err
		}
		lastID = page[len(page)-1].id
	}
}

// archiveRun archives those deleted posts of a run that were created before cutoff. run holds the ids of consecutive
// hidden posts of a thread. archiveRun does nothing unless the run has more than ArchiveRun posts. Each batch has its
// own transaction, so that other writers need not wait long.
func (s *Service) archiveRun(
	ctx context.Context, thread int64, run []int64, cutoff kernel.Moment,
) (moved int64, err error) {
	if len(run) <= ArchiveRun {
		return 0, nil
	}
	const (
		inRange    = "thread_id = ? AND id BETWEEN ? AND ?"
		archivable = inRange + " AND visibility = 2 AND created_at < ? AND number > 1"
	)
	for start, end := run[0], run[len(run)-1]; ; {
		var ids []int64 // of the posts that this transaction moves
		err := s.Write(ctx, func(c store.Conn) (err error) {
			ids, err = store.Column[int64](c, "SELECT id FROM board_posts WHERE "+archivable+" ORDER BY id"+
				content.Limit(c.Dialect()), thread, start, end, cutoff, archiveBatch)
			if err != nil || len(ids) == 0 {
				return err
			}
			last := ids[len(ids)-1]
			if _, err = c.Exec("INSERT INTO board_posts_archive ("+archiveColumns+") SELECT "+
				archiveColumns+" FROM board_posts WHERE "+archivable, thread, start, last, cutoff); err != nil {
				return err
			}
			if _, err = c.Exec("DELETE FROM board_posts WHERE "+archivable, thread, start, last, cutoff); err != nil {
				return err
			}
			// 3 stands for an archived post. No list of posts includes it.
			_, err = c.Exec("UPDATE board_post_ids SET visibility = 3 WHERE id IN (SELECT id FROM board_posts_archive WHERE "+
				inRange+")", thread, start, last)
			return err
		})
		if err != nil {
			return moved, err
		}
		moved += int64(len(ids))
		if len(ids) < archiveBatch {
			return moved, nil
		}
		start = ids[len(ids)-1] + 1
	}
}

// unarchive moves a post from the archive back to its thread, where the post is deleted as before. It does nothing if
// the post is not archived.
func unarchive(c store.Conn, id int64) error {
	n, err := c.Exec("INSERT INTO board_posts ("+archiveColumns+") SELECT "+archiveColumns+" FROM board_posts_archive"+
		" WHERE id = ?", id)
	if err != nil || n == 0 {
		return err
	}
	if _, err := c.Exec("DELETE FROM board_posts_archive WHERE id = ?", id); err != nil {
		return err
	}
	_, err = c.Exec("UPDATE board_post_ids SET visibility = ? WHERE id = ?", rights.Deleted, id)
	return err
}
