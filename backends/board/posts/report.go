package posts

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// OpenReports returns the query for the open reports of a forum. Its arguments are the forum's id, the id of the
// report before the page, and the limit.
func OpenReports() content.Listing {
	return content.Listing{
		Columns: "r.id, r.post_id, r.forum_id, (SELECT u.username FROM board_users u" +
			" WHERE u.id = r.user_id), r.reason, r.created_at", From: "board_reports r", Index: "board_reports_open",
		Where: "r.forum_id = ? AND r.closed_at IS NULL AND r.id > ?", Order: "r.id",
	}
}

// Report reports the post with this id to the moderators. It returns the id of the report.
func (s *Service) Report(ctx context.Context, a *rights.Actor, id int64, reason string) (int64, error) {
	reason, reasonErr := kernel.CheckReason(reason)
	if reasonErr == nil && text.Words(reason) == 0 {
		reasonErr = kernel.Invalid("reason", "required", "tell the moderators what is wrong")
	}
	return kernel.Value(ctx, s.Write, func(c store.Conn) (report int64, err error) {
		t, p, err := content.PostByID(c, a, id, "")
		if err != nil {
			return report, err
		}
		if !a.Rights.Board.Has(rights.ReportCreate) {
			return report, kernel.Forbidden("postId", "no_permission", "you may not report posts")
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return report, err
		}
		if reasonErr != nil { // only now, since nobody else may learn that the post exists
			return report, reasonErr
		}
		if err := s.mayReport(c, a, p.ID); err != nil {
			return report, err
		}
		// A report counts as an edit, since both are small and rare.
		if err := s.spendEdit(c, a, t.Forum, s.Moment()); err != nil {
			return report, err
		}
		err = c.Row("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) VALUES (?, ?, ?, ?, ?)"+
			" ON CONFLICT (post_id, user_id) WHERE closed_at IS NULL DO NOTHING RETURNING id",
			p.ID, t.Forum, a.ID(), reason, s.Moment()).Scan(&report)
		if errors.Is(err, sql.ErrNoRows) {
			return report, errStillOpen()
		}
		if err != nil {
			return report, err
		}
		if err := s.rights.LogIfAdministrator(c, a, "report.create", rights.ReportCreate, 0, t.ID, p.ID); err != nil {
			return report, err
		}
		return report, s.Hooks.Emit(c, kernel.TopicReportCreated, reportEvent{report, t.Forum, t.ID, p.ID, a.ID(), reason})
	})
}

// reportAgain is how long a member must wait before reporting the same post again after the moderators have closed the
// first report. If the post is edited, the member need not wait.
const reportAgain = 24 * time.Hour

// errStillOpen returns the error for a second report of a post by the same member while the first report is open.
func errStillOpen() error { return kernel.Conflict("you have reported this post already") }

// mayReport returns an error if the actor's previous report of the post is still open, or was closed less than
// reportAgain ago. If the post was edited after the report was closed, the actor may report it at once.
func (s *Service) mayReport(c store.Conn, a *rights.Actor, post int64) error {
	var closed, edited kernel.Moment
	err := c.Row("SELECT COALESCE(r.closed_at, 0), COALESCE((SELECT MAX(v.edited_at) FROM board_post_revisions v"+
		" WHERE v.post_id = r.post_id), 0)"+
		" FROM board_reports r WHERE r.post_id = ? AND r.user_id = ? ORDER BY r.id DESC LIMIT 1",
		post, a.ID()).Scan(&closed, &edited)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case closed == 0:
		return errStillOpen()
	case edited <= closed && s.Moment() < closed.Add(reportAgain):
		return kernel.Conflict("the moderators have already handled your report of this post; you may report it again a day" +
			" later, or after the post is edited")
	}
	return nil
}
