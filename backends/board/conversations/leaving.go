package conversations

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Leave removes the actor from a conversation, whose messages stay for the other participants. When the last
// participant leaves, the conversation is deleted.
func (s *Service) Leave(ctx context.Context, a *rights.Actor, id int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, _, err := participates(c, a, id); err != nil {
			return err
		}
		return leave(c, a.ID(), id)
	})
}

// leave removes a member from a conversation and, if no participant is left, deletes the conversation.
func leave(c store.Conn, user, id int64) error {
	if err := lock(c, id); err != nil {
		return err
	}
	_, err := c.Exec("DELETE FROM board_conversation_members WHERE conversation_id = ? AND user_id = ?", id, user)
	if err != nil {
		return err
	}
	var left int64
	err = c.Row("SELECT count(*) FROM board_conversation_members WHERE conversation_id = ?", id).Scan(&left)
	if err != nil || left > 0 {
		return err
	}
	if _, err := c.Exec("DELETE FROM board_conversation_messages WHERE conversation_id = ?", id); err != nil {
		return err
	}
	_, err = c.Exec("DELETE FROM board_conversations WHERE id = ?", id)
	return err
}

// Forget removes a member who is being deleted from all conversations. The member's messages stay for the other
// participants, without the name. Reports by the member, and copies of reported messages, stay for the moderators,
// without the name.
func Forget(c store.Conn, user int64) error {
	ids, err := store.List(c, func(r store.Row) (id int64, err error) { return id, r.Scan(&id) },
		"SELECT conversation_id FROM board_conversation_members WHERE user_id = ?", user)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := leave(c, user, id); err != nil {
			return err
		}
	}
	return kernel.ExecAll(c, []string{
		"UPDATE board_conversation_messages SET author_id = NULL WHERE author_id = ?",
		"UPDATE board_reported_messages SET author_id = NULL WHERE author_id = ?",
		"UPDATE board_message_reports SET user_id = NULL WHERE user_id = ?",
		"UPDATE board_conversations SET starter_id = NULL WHERE starter_id = ?",
		"DELETE FROM board_blocks WHERE user_id = ?",
		"DELETE FROM board_blocks WHERE blocked_id = ?",
	}, user)
}
