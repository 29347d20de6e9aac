package board

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Profile reads a member for others to see. Posts that the actor could not read
// are not counted.
func (s *Service) Profile(ctx context.Context, a *Actor, id int64) (u *User, err error) {
	err = s.read(ctx, func(c store.Conn) error {
		if u, err = loadUser(c, id); err != nil {
			return err
		}
		if u.State == "deleted" || u.State == "awaiting" || u.State == "unconfirmed" || !a.May(ProfileView) && a.id() != id {
			return notFound()
		}
		u.PostCount, err = postsSeen(c, a, id)
		return err
	})
	return u, err
}

// Report tells the moderators of a post.
func (s *Service) Report(ctx context.Context, a *Actor, id int64, reason string) (report int64, err error) {
	reason, reasonErr := checkReason(reason)
	if reasonErr == nil && text.Words(reason) == 0 {
		reasonErr = invalid("reason", "required", "tell the moderators what is wrong")
	}
	err = s.write(ctx, func(c store.Conn) error {
		t, p, err := postByID(c, a, id, "")
		if err != nil {
			return err
		}
		if !a.rights.board.Has(ReportCreate) {
			return forbidden("postId", "no_permission", "you may not report posts")
		}
		if err := a.suspended(s.micros()); err != nil {
			return err
		}
		if reasonErr != nil {
			return reasonErr
		}
		err = c.Row("SELECT id FROM board_reports WHERE post_id = ? AND user_id = ?", p.id, a.id()).Scan(&report)
		if err == nil {
			return conflict("you have reported this post already")
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := s.spendReport(c, a, t.forum); err != nil {
			return err
		}
		err = c.Row("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
			p.id, t.forum, a.id(), reason, s.micros()).Scan(&report)
		if err != nil {
			return err
		}
		if err := s.used(c, a, "report.create", ReportCreate, 0, t.id, p.id); err != nil {
			return err
		}
		return s.emit(c, TopicReportCreated, reportEvent{report, t.forum, t.id, p.id, a.id(), reason})
	})
	return report, err
}

// spendReport counts reports with edits: both are small and rare.
func (s *Service) spendReport(c store.Conn, a *Actor, in int64) error {
	return s.spendEdit(c, a, &forum{id: in}, s.micros())
}
