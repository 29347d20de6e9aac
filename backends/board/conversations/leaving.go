package conversations

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Leave ends the actor's part in a conversation, whose messages stay for the others. When the last one leaves, the
// conversation is deleted.
func (s *Service) Leave(ctx context.Context, a *rights.Actor, id int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, _, err := participates(c, a, id); err != nil {
			return err
		}
		return leave(c, a.ID(), id)
	})
}

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

// Forget ends all that a member who is being deleted has to do with conversations. Its messages stay for the others,
// and its reports and what was reported of it for the moderators, without its name.
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
	for _, statement := range []string{
		"UPDATE board_conversation_messages SET author_id = NULL WHERE author_id = ?",
		"UPDATE board_reported_messages SET author_id = NULL WHERE author_id = ?",
		"UPDATE board_message_reports SET user_id = NULL WHERE user_id = ?",
		"UPDATE board_conversations SET starter_id = NULL WHERE starter_id = ?",
		"DELETE FROM board_blocks WHERE user_id = ?",
		"DELETE FROM board_blocks WHERE blocked_id = ?",
	} {
		if _, err := c.Exec(statement, user); err != nil {
			return err
		}
	}
	return nil
}

// blocked returns the query for the members whom a member has blocked. Its arguments are user and limit.
func blocked() content.Listing {
	return content.Listing{
		Columns: "b.blocked_id, (SELECT u.username FROM board_users u WHERE u.id = b.blocked_id)", From: "board_blocks b",
		Where: "b.user_id = ?", Order: "b.blocked_id",
	}
}

// Blocked lists those whom the actor has blocked.
func (s *Service) Blocked(ctx context.Context, a *rights.Actor) (list []Person, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		list, err = store.List(c, scanPerson, blocked().SQL(c.Dialect()), a.ID(), MaxBlocked)
		return err
	})
	return list, err
}

// Blocks reports whether the actor has blocked a member.
func (s *Service) Blocks(ctx context.Context, a *rights.Actor, user int64) (yes bool, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT EXISTS (SELECT 1 FROM board_blocks WHERE user_id = ? AND blocked_id = ?)",
			a.ID(), user).Scan(&yes)
	})
	return yes, err
}

// Block makes the actor accept no more messages of a member, who is not told.
func (s *Service) Block(ctx context.Context, a *rights.Actor, user int64) error {
	if user == a.ID() {
		return kernel.Invalid("userId", "self", "you cannot block yourself")
	}
	return s.Write(ctx, func(c store.Conn) error {
		var known, count int64
		err := c.Row("SELECT (SELECT count(*) FROM board_users WHERE id = ? AND state IN ('active', 'banned')),"+
			" (SELECT count(*) FROM board_blocks WHERE user_id = ?)", user, a.ID()).Scan(&known, &count)
		switch {
		case err != nil:
			return err
		case known == 0:
			return kernel.NotFound()
		case count >= MaxBlocked:
			return kernel.Conflict("you have blocked as many members as is possible")
		}
		_, err = c.Exec("INSERT INTO board_blocks (user_id, blocked_id, created_at) VALUES (?, ?, ?)"+
			" ON CONFLICT (user_id, blocked_id) DO NOTHING", a.ID(), user, s.Moment())
		return err
	})
}

// Unblock makes the actor accept messages of a member again.
func (s *Service) Unblock(ctx context.Context, a *rights.Actor, user int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("DELETE FROM board_blocks WHERE user_id = ? AND blocked_id = ?", a.ID(), user)
		return err
	})
}
