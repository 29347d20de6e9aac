package admin

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ReportedPost is a post with its open reports.
type ReportedPost struct {
	PostID     int64
	Forum      int64
	ForumTitle string
	Post       *content.PostInfo // nil if the actor can no longer see it
	Thread     *content.ThreadInfo
	Author     AuthorRecord
	Reports    []ReportEntry
}

// ReportEntry is a report by a member.
type ReportEntry struct {
	ID     int64
	User   string // the member's name
	Reason string
	At     kernel.Moment

	post, forum int64
}

// Reports lists open reports, oldest first and grouped by post. It lists those of one forum or, if forum is 0, of all
// forums in which the actor may approve posts. cursor is the previous page's next, or 0 for the first page. next is 0
// on the last page. limit is the maximum number of reports, not of posts.
func (s *Service) Reports(
	ctx context.Context, a *rights.Actor, forum, cursor int64, limit int,
) (list []ReportedPost, next int64, err error) {
	forums, err := posts.Moderated(a, forum)
	if err != nil {
		return nil, 0, err
	}
	err = s.Read(ctx, func(c store.Conn) error {
		var entries []ReportEntry
		for _, id := range forums {
			open, err := store.List(c, func(r store.Row) (e ReportEntry, err error) {
				return e, r.Scan(&e.ID, &e.post, &e.forum, &e.User, &e.Reason, &e.At)
			}, posts.OpenReports().SQL(c.Dialect()), id, cursor, limit+1)
			if err != nil {
				return err
			}
			entries = append(entries, open...)
		}
		kernel.SortBy(entries, func(e ReportEntry) int64 { return e.ID })
		entries, next = store.CutAt(entries, limit, func(e ReportEntry) int64 { return e.ID })
		list, err = s.byPost(c, a, entries)
		return err
	})
	return list, next, err
}

// byPost groups reports by their posts, in the order of the first report of each post.
func (s *Service) byPost(c store.Conn, a *rights.Actor, entries []ReportEntry) (list []ReportedPost, err error) {
	indexes, titles := make(map[int64]int), make(map[int64]string)
	for _, e := range entries {
		i, known := indexes[e.post]
		if !known {
			item := ReportedPost{PostID: e.post, Forum: e.forum}
			if item.ForumTitle, err = titleOf(c, titles, e.forum); err != nil {
				return nil, err
			}
			t, p, err := content.PostByID(c, a, e.post, "")
			switch {
			case err == nil:
				post, thread := content.ViewPost(p), content.ViewThread(a, t, content.Marks{}, s.Moment())
				item.Post, item.Thread = &post, &thread
				if item.Author, err = recordOf(c, a, p.Author); err != nil {
					return nil, err
				}
			case !kernel.IsNotFound(err):
				return nil, err
			}
			i = len(list)
			indexes[e.post] = i
			list = append(list, item)
		}
		list[i].Reports = append(list[i].Reports, e)
	}
	return list, nil
}

// CloseReports closes the open reports of a post, with a note for the log. It returns a conflict error if the post has
// no open reports.
func (s *Service) CloseReports(ctx context.Context, a *rights.Actor, post int64, note string) error {
	return s.Write(ctx, func(c store.Conn) error { return s.closeReports(c, a, post, note) })
}

// closeReports works like CloseReports in the caller's transaction.
func (s *Service) closeReports(c store.Conn, a *rights.Actor, post int64, note string) error {
	note, noteErr := kernel.CheckReason(note)
	var forum, thread int64
	if err := c.Row("SELECT forum_id, thread_id FROM board_post_ids WHERE id = ?",
		post).Scan(&forum, &thread); err != nil {
		return kernel.OrNotFound(err)
	}
	switch f := a.In(forum); {
	case !f.Visible:
		return kernel.NotFound()
	case !f.Mask.Has(rights.ContentApprove):
		return kernel.Forbidden("postId", "no_permission", "you may not close reports in this forum")
	}
	if err := a.CheckSuspended(s.Moment()); err != nil {
		return err
	}
	if noteErr != nil {
		return noteErr
	}
	n, err := c.Exec("UPDATE board_reports SET closed_at = ?, closed_by = ?, note = ? WHERE post_id = ?"+
		" AND closed_at IS NULL", s.Moment(), kernel.Null(a.ID()), note, post)
	if err != nil {
		return err
	}
	if n == 0 {
		return kernel.Conflict("there is no open report of this post")
	}
	return s.rights.Logged(c, a, "report.close", rights.ContentApprove, forum, thread, post, note)
}

// DeleteReported deletes a reported post and closes its reports in one transaction.
func (s *Service) DeleteReported(ctx context.Context, a *rights.Actor, post int64, note string) error {
	return s.Write(ctx, func(c store.Conn) error {
		t, _, err := content.PostByID(c, a, post, "")
		if err != nil {
			return err
		}
		if _, err := s.posts.DeleteBy(c, a, t.ID, post, nil); err != nil {
			return err
		}
		return s.closeReports(c, a, post, note)
	})
}
