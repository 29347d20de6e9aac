package posts

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// OpenReports has the arguments forum, id, limit.
func OpenReports() listing {
	return listing{
		"r.id, r.post_id, r.forum_id, (SELECT u.username FROM board_users u WHERE u.id = r.user_id), r.reason, r.created_at",
		"board_reports r", "board_reports_open", "r.forum_id = ? AND r.closed_at IS NULL AND r.id > ?", "r.id",
	}
}

// Report tells the moderators of a post.
func (s *Service) Report(ctx context.Context, a *rights.Actor, id int64, reason string) (report int64, err error) {
	reason, reasonErr := kernel.CheckReason(reason)
	if reasonErr == nil && text.Words(reason) == 0 {
		reasonErr = kernel.Invalid("reason", "required", "tell the moderators what is wrong")
	}
	err = s.Write(ctx, func(c store.Conn) error {
		t, p, err := content.PostByID(c, a, id, "")
		if err != nil {
			return err
		}
		if !a.Rights.Board.Has(rights.ReportCreate) {
			return kernel.Forbidden("postId", "no_permission", "you may not report posts")
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		if reasonErr != nil {
			return reasonErr
		}
		err = c.Row("SELECT id FROM board_reports WHERE post_id = ? AND user_id = ?", p.ID, a.ID()).Scan(&report)
		if err == nil {
			return kernel.Conflict("you have reported this post already")
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := s.spendReport(c, a, t.Forum); err != nil {
			return err
		}
		err = c.Row("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
			p.ID, t.Forum, a.ID(), reason, s.Moment()).Scan(&report)
		if err != nil {
			return err
		}
		if err := s.Used(c, a, "report.create", rights.ReportCreate, 0, t.ID, p.ID); err != nil {
			return err
		}
		return s.Hooks.Emit(c, TopicReportCreated, reportEvent{report, t.Forum, t.ID, p.ID, a.ID(), reason})
	})
	return report, err
}

// spendReport counts reports with edits: both are small and rare.
func (s *Service) spendReport(c store.Conn, a *rights.Actor, in int64) error {
	return s.spendEdit(c, a, &content.Forum{ID: in}, s.Moment())
}
