package mails

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MailMessage says in a mail that there are private messages in a conversation. Neither its title nor what was written
// is in the mail.
type MailMessage struct {
	ID     int64  // of the conversation
	Author string // who wrote the message that the mail is about
}

// composeMessages fills in the address of a mailing and the conversations that the member has not read. The address
// stays empty if it is not confirmed, or if the member wants no such mails any more.
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
