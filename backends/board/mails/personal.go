package mails

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// composeMentions sets the address of a mailing, and the threads with posts that mention the member. It leaves out
// posts that the member does not see and those whose notifications the member has read. The address stays empty if it
// is not confirmed, or if the member no longer wants such mails.
func (s *Service) composeMentions(ctx context.Context, a *rights.Actor, m *Mailing) error {
	m.Unsubscribe = s.UnsubscribeToken(m.User, following.MentionMode[0], 0)
	return s.Read(ctx, func(c store.Conn) error {
		m.Threads, m.More = nil, 0
		err := c.Row("SELECT CASE WHEN email_confirmed = 1 AND mention_mails = 1 THEN email ELSE '' END FROM board_users"+
			" WHERE id = ?", m.User).Scan(&m.Email)
		if err != nil {
			return err
		}
		for _, r := range m.rows {
			t, err := content.ThreadFor(c, a, r.thread, "")
			if kernel.NotFoundErr(err) {
				continue
			}
			if err != nil {
				return err
			}
			in := MailThread{ID: t.ID, Forum: t.Forum, Title: t.Title, Slug: t.Slug}
			err = in.read(c, a, " FROM board_posts p WHERE p.thread_id = ? AND p.id >= ? AND p.id <= ? AND p.visibility = 0"+
				" AND EXISTS (SELECT 1 FROM board_notifications n WHERE n.user_id = ? AND n.post_id = p.id AND n.kind = ?"+
				" AND n.read_at IS NULL)", []any{t.ID, r.first, r.last, m.User, following.KindMention})
			if err != nil {
				return err
			}
			m.add(in)
		}
		return nil
	})
}

// MailMessage announces private messages in a conversation. The mail contains neither the title of the conversation nor
// the text of the messages.
type MailMessage struct {
	ID     int64  // of the conversation
	Author string // who wrote the message that the mail is about
}

// composeMessages sets the address of a mailing, and the conversations that the member has not read. The address stays
// empty if it is not confirmed, or if the member no longer wants such mails.
func (s *Service) composeMessages(ctx context.Context, a *rights.Actor, m *Mailing) error {
	m.Unsubscribe = s.UnsubscribeToken(m.User, 'm', 0)
	return s.Read(ctx, func(c store.Conn) error {
		m.Messages = nil
		err := c.Row("SELECT CASE WHEN email_confirmed = 1 AND message_mails = 1 THEN email ELSE '' END FROM board_users"+
			" WHERE id = ?", m.User).Scan(&m.Email)
		if err != nil {
			return err
		}
		for _, r := range m.rows {
			author, err := conversations.UnreadIn(c, a, r.thread, r.last)
			if kernel.NotFoundErr(err) {
				continue
			}
			if err != nil {
				return err
			}
			m.Messages = append(m.Messages, MailMessage{r.thread, author})
		}
		return nil
	})
}
