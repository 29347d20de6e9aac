package conversations

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MailMode is the value of both mode and source in rows of board_mails about private messages. The thread_id of such a
// row is the id of a conversation, and its last_post_id the id of a message.
const MailMode = "message"

// queueMails queues a mail about a message for each of the other participants. It skips participants who want no mails
// or have no confirmed address, and those who were mailed about an earlier message of the conversation that they have
// not read.
func (s *Service) queueMails(c store.Conn, a *rights.Actor, id, message int64) error {
	now := s.Now()
	_, err := c.Exec("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at,"+
		" created_at) SELECT m.user_id, '"+MailMode+"', '"+MailMode+"', m.conversation_id, CAST(? AS BIGINT),"+
		" CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)"+
		" FROM board_conversation_members m JOIN board_users u ON u.id = m.user_id"+
		" WHERE m.conversation_id = ? AND m.user_id <> ? AND m.mailed_id <= m.read_id"+
		" AND u.email_confirmed = 1 AND u.message_mails = 1 ORDER BY m.user_id"+
		" ON CONFLICT (user_id, mode, thread_id) DO UPDATE SET last_post_id = excluded.last_post_id,"+
		" due_at = excluded.due_at, created_at = excluded.created_at",
		message, message, now.Add(following.InstantDelay).UnixMicro(), now.UnixMicro(), id, a.ID())
	if err != nil {
		return err
	}
	_, err = c.Exec("UPDATE board_conversation_members SET mailed_id = ? WHERE conversation_id = ? AND user_id <> ?"+
		" AND mailed_id <= read_id AND EXISTS (SELECT 1 FROM board_mails b WHERE b.user_id ="+
		" board_conversation_members.user_id AND b.mode = '"+MailMode+"' AND b.thread_id = ? AND b.last_post_id = ?)",
		message, id, a.ID(), id, message)
	return err
}

// UnreadIn returns the name of a message's author, or DeletedName if the author is deleted. It returns NotFound if the
// actor does not participate in the conversation or has read all of it.
func UnreadIn(c store.Conn, a *rights.Actor, id, message int64) (author string, err error) {
	err = c.Row("SELECT COALESCE((SELECT u.username FROM board_conversation_messages w JOIN board_users u"+
		" ON u.id = w.author_id WHERE w.id = ?), '"+DeletedName+"') FROM board_conversation_members m"+
		" WHERE m.conversation_id = ? AND m.user_id = ? AND m.read_id < m.last_id", message, id, a.ID()).Scan(&author)
	return author, kernel.OrNotFound(err)
}

// Preferences are a member's settings for private messages.
type Preferences struct {
	Mails   bool // the member gets mails about new messages
	Accepts bool // others may start conversations with the member
}

// Preferences returns the actor's settings for private messages.
func (s *Service) Preferences(ctx context.Context, a *rights.Actor) (Preferences, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (p Preferences, err error) {
		return p, c.Row("SELECT message_mails = 1, accepts_messages = 1 FROM board_users WHERE id = ?", a.ID()).Scan(
			&p.Mails, &p.Accepts)
	})
}

// SetPreferences changes the actor's settings for private messages. If the actor no longer wants mails, waiting mails
// are not sent.
func (s *Service) SetPreferences(ctx context.Context, a *rights.Actor, p Preferences) error {
	return s.Exec(ctx, "UPDATE board_users SET message_mails = CAST(? AS BIGINT), accepts_messages = CAST(? AS BIGINT)"+
		" WHERE id = ?", kernel.Bool(p.Mails), kernel.Bool(p.Accepts), a.ID())
}

// EndMails switches off a member's mails about private messages.
func EndMails(c store.Conn, user int64) error {
	_, err := c.Exec("UPDATE board_users SET message_mails = 0 WHERE id = ?", user)
	return err
}
