package conversations

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MailMode is the mode and the source, in the table board_mails, of mails about private messages. The thread_id of such
// a row is a conversation, and its last_post_id a message.
const MailMode = "message"

// queueMails queues a mail about a message for the others who take part, unless they want none, have no confirmed
// address, or were mailed about an earlier message of the conversation that they have not read.
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

// UnreadIn returns the name of the author of a message of a conversation, or DeletedName if the author is deleted. The
// error is NotFound if the actor takes no part in the conversation or has read all of it.
func UnreadIn(c store.Conn, a *rights.Actor, id, message int64) (author string, err error) {
	err = c.Row("SELECT COALESCE((SELECT u.username FROM board_conversation_messages w JOIN board_users u"+
		" ON u.id = w.author_id WHERE w.id = ?), '"+DeletedName+"') FROM board_conversation_members m"+
		" WHERE m.conversation_id = ? AND m.user_id = ? AND m.read_id < m.last_id", message, id, a.ID()).Scan(&author)
	return author, kernel.OrNotFound(err)
}

// Wishes are what a member wishes about private messages.
type Wishes struct {
	Mails   bool // mails about new ones
	Accepts bool // that others may start conversations with it
}

// Wishes returns what the actor wishes.
func (s *Service) Wishes(ctx context.Context, a *rights.Actor) (Wishes, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (w Wishes, err error) {
		return w, c.Row("SELECT message_mails = 1, accepts_messages = 1 FROM board_users WHERE id = ?", a.ID()).Scan(
			&w.Mails, &w.Accepts)
	})
}

// Wish sets what the actor wishes. Mails that wait are not sent to one who wants none any more.
func (s *Service) Wish(ctx context.Context, a *rights.Actor, w Wishes) error {
	return s.Exec(ctx, "UPDATE board_users SET message_mails = CAST(? AS BIGINT), accepts_messages = CAST(? AS BIGINT)"+
		" WHERE id = ?", kernel.Bool(w.Mails), kernel.Bool(w.Accepts), a.ID())
}

// EndMails makes a member get no more mails about private messages.
func EndMails(c store.Conn, user int64) error {
	_, err := c.Exec("UPDATE board_users SET message_mails = 0 WHERE id = ?", user)
	return err
}
