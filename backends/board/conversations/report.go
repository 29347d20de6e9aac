package conversations

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// ContextSize is the maximum number of messages before a reported message that the moderators see.
	ContextSize = 3
	// reportsPerDay is the maximum number of messages that a member may report in 24 hours.
	reportsPerDay = 20
)

// Reportable returns a message of a conversation in which the actor participates. It returns NotFound if there is no
// such message.
func (s *Service) Reportable(ctx context.Context, a *rights.Actor, id, message int64) (m Message, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		m, err = messageOf(c, a, id, message)
		return err
	})
	m.HTML = markup.RenderBy(a.Rights.Settings, m.HTML)
	return m, err
}

// messageOf works like Reportable, but HTML is set to the message's text, which is not rendered yet.
func messageOf(c store.Conn, a *rights.Actor, id, message int64) (m Message, err error) {
	if _, _, err := participates(c, a, id); err != nil {
		return m, err
	}
	l := messages()
	m, err = scanMessage(c.Row("SELECT "+l.Columns+" FROM "+l.From+" WHERE w.id = ? AND w.conversation_id = ?",
		message, id))
	return m, kernel.OrNotFound(err)
}

// Report reports a message to the moderators, who see copies of it and of at most ContextSize messages before it. The
// actor must participate in the conversation and may report a message only once, and only messages of other members. In
// 24 hours a member may report at most reportsPerDay messages.
func (s *Service) Report(ctx context.Context, a *rights.Actor, id, message int64, reason string) error {
	reason, reasonErr := kernel.CheckReason(reason)
	if reasonErr == nil && text.Words(reason) == 0 {
		reasonErr = kernel.Invalid("reason", "required", "tell the moderators what is wrong")
	}
	return s.Write(ctx, func(c store.Conn) error {
		m, err := messageOf(c, a, id, message)
		switch {
		case err != nil:
			return err
		case !a.May(rights.ReportCreate):
			return kernel.Forbidden("messageId", "no_permission", "you may not report messages")
		case a.Owns(m.Author.ID):
			return kernel.Invalid("messageId", "self", "you cannot report your own message")
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		if reasonErr != nil {
			return reasonErr
		}
		if err := s.admitReport(c, a); err != nil {
			return err
		}
		var report int64
		err = c.Row("INSERT INTO board_message_reports (message_id, user_id, reason, created_at) VALUES (?, ?, ?, ?)"+
			" ON CONFLICT (message_id, user_id) DO NOTHING RETURNING id", message, a.ID(), reason, s.Moment()).Scan(&report)
		if errors.Is(err, sql.ErrNoRows) {
			return kernel.Conflict("you have reported this message already")
		}
		if err != nil {
			return err
		}
		_, err = c.Exec("INSERT INTO board_reported_messages (report_id, message_id, author_id, message, created_at)"+
			" SELECT CAST(? AS BIGINT), id, author_id, message, created_at FROM board_conversation_messages"+
			" WHERE conversation_id = ? AND id <= ? ORDER BY id DESC LIMIT ?", report, id, message, ContextSize+1)
		if err != nil {
			return err
		}
		return s.rights.Logged(c, a, "report.create", rights.ReportCreate, 0, 0, 0, logDetail(report, ""))
	})
}

// logDetail returns the detail of the log entry about a report. note may be empty.
func logDetail(report int64, note string) string {
	return kernel.JoinDetail("private message, report "+kernel.Itoa(report), note)
}

// admitReport returns an error if the actor has reported reportsPerDay messages in 24 hours. It locks the actor's row,
// so that concurrent reports by the actor wait for the end of the transaction.
func (s *Service) admitReport(c store.Conn, a *rights.Actor) error {
	if err := kernel.LockMember(c, a.ID()); err != nil {
		return err
	}
	return checkDaily(c, "board_message_reports", "user_id", a.ID(), reportsPerDay, s.Moment())
}

// MessageReport is an open report of a message.
type MessageReport struct {
	ID       int64
	User     Person // the member who has reported the message
	Reason   string
	At       kernel.Moment
	Messages []Message // oldest first; the reported one is the last
}

// Reported returns the message that was reported.
func (r MessageReport) Reported() Message { return r.Messages[len(r.Messages)-1] }

// Context returns the messages before the reported one.
func (r MessageReport) Context() []Message { return r.Messages[:len(r.Messages)-1] }

// MayHandle reports whether the actor may see and close reports of messages. The actor needs the right to approve posts
// on the whole board. Moderators of single forums lack it, as private messages belong to no forum.
func MayHandle(a *rights.Actor) bool { return a.User != nil && a.May(rights.ContentApprove) }

// openReports returns the query for the open reports. Its arguments are the id of a report after which the list
// begins, and the limit.
func openReports() content.Listing {
	return content.Listing{
		Columns: "r.id, COALESCE(r.user_id, 0), COALESCE((SELECT u.username FROM board_users u WHERE u.id = r.user_id), '')," +
			" r.reason, r.created_at",
		From: "board_message_reports r", Index: "board_message_reports_open",
		Where: "r.closed_at IS NULL AND r.id > ?", Order: "r.id",
	}
}

// reportedMessages returns the query for the copied messages of a report. Its arguments are the report's id and the
// limit.
func reportedMessages() content.Listing {
	l := messages()
	l.Columns = "w.message_id" + l.Columns[len("w.id"):]
	l.From, l.Index, l.Where, l.Order = "board_reported_messages w", "", "w.report_id = ?", "w.message_id DESC"
	return l
}

// Reports lists the oldest open reports of messages. It returns an empty list if the actor may not handle reports. more
// reports whether there are further reports.
func (s *Service) Reports(
	ctx context.Context, a *rights.Actor, limit int,
) (list []MessageReport, more bool, err error) {
	if !MayHandle(a) {
		return nil, false, nil
	}
	err = s.Read(ctx, func(c store.Conn) error {
		list, err = store.List(c, func(r store.Row) (m MessageReport, err error) {
			err = r.Scan(&m.ID, &m.User.ID, &m.User.Name, &m.Reason, &m.At)
			if m.User.ID == 0 {
				m.User.Name = DeletedName
			}
			return m, err
		}, openReports().SQL(c.Dialect()), 0, limit+1) // 0: from the oldest report on
		if err != nil {
			return err
		}
		list, more = store.Cut(list, limit)
		for i := range list {
			list[i].Messages, err = store.List(c, scanMessage, reportedMessages().SQL(c.Dialect()), list[i].ID, ContextSize+1)
			if err != nil {
				return err
			}
			slices.Reverse(list[i].Messages)
		}
		return nil
	})
	for _, r := range list {
		for i := range r.Messages {
			r.Messages[i].HTML = markup.RenderBy(a.Rights.Settings, r.Messages[i].HTML)
		}
	}
	return list, more, err
}

// CloseReport closes a report of a message with a note for the log, and deletes the copies of messages. It returns a
// conflict error if the report is closed already.
func (s *Service) CloseReport(ctx context.Context, a *rights.Actor, report int64, note string) error {
	note, noteErr := kernel.CheckReason(note)
	if !MayHandle(a) {
		return kernel.NotFound()
	}
	if err := a.CheckSuspended(s.Moment()); err != nil {
		return err
	}
	if noteErr != nil {
		return noteErr
	}
	return s.Write(ctx, func(c store.Conn) error {
		n, err := c.Exec("UPDATE board_message_reports SET closed_at = ?, closed_by = ?, note = ?"+
			" WHERE id = ? AND closed_at IS NULL", s.Moment(), a.ID(), note, report)
		if err != nil {
			return err
		}
		if n == 0 {
			return kernel.Conflict("there is no open report with this id")
		}
		if _, err := c.Exec("DELETE FROM board_reported_messages WHERE report_id = ?", report); err != nil {
			return err
		}
		return s.rights.Logged(c, a, "report.close", rights.ContentApprove, 0, 0, 0, logDetail(report, note))
	})
}
