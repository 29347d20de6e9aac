package board

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Profile reads a member for others to see. Posts that the actor could not read
// are not counted.
func (s *Service) Profile(ctx context.Context, a *rights.Actor, id int64) (u *rights.User, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		if u, err = rights.LoadUser(c, id); err != nil {
			return err
		}
		if u.State == "deleted" || u.State == "awaiting" || u.State == "unconfirmed" || !a.May(rights.ProfileView) && a.ID() != id {
			return kernel.NotFound()
		}
		u.PostCount, err = postsSeen(c, a, id)
		return err
	})
	return u, err
}

// Report tells the moderators of a post.
func (s *Service) Report(ctx context.Context, a *rights.Actor, id int64, reason string) (report int64, err error) {
	reason, reasonErr := kernel.CheckReason(reason)
	if reasonErr == nil && text.Words(reason) == 0 {
		reasonErr = kernel.Invalid("reason", "required", "tell the moderators what is wrong")
	}
	err = s.Write(ctx, func(c store.Conn) error {
		t, p, err := postByID(c, a, id, "")
		if err != nil {
			return err
		}
		if !a.Rights.Board.Has(rights.ReportCreate) {
			return kernel.Forbidden("postId", "no_permission", "you may not report posts")
		}
		if err := a.CheckSuspended(s.Micros()); err != nil {
			return err
		}
		if reasonErr != nil {
			return reasonErr
		}
		err = c.Row("SELECT id FROM board_reports WHERE post_id = ? AND user_id = ?", p.id, a.ID()).Scan(&report)
		if err == nil {
			return kernel.Conflict("you have reported this post already")
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := s.spendReport(c, a, t.forum); err != nil {
			return err
		}
		err = c.Row("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
			p.id, t.forum, a.ID(), reason, s.Micros()).Scan(&report)
		if err != nil {
			return err
		}
		if err := s.Used(c, a, "report.create", rights.ReportCreate, 0, t.id, p.id); err != nil {
			return err
		}
		return s.hooks.Emit(c, TopicReportCreated, reportEvent{report, t.forum, t.id, p.id, a.ID(), reason})
	})
	return report, err
}

// spendReport counts reports with edits: both are small and rare.
func (s *Service) spendReport(c store.Conn, a *rights.Actor, in int64) error {
	return s.spendEdit(c, a, &forum{id: in}, s.Micros())
}
