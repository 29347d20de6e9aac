package conversations

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/idempotency"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// NewConversation is a request to start a conversation.
type NewConversation struct {
	Recipients []string // names of members
	Title      string
	Message    string
}

// Start starts a conversation and returns its id. A request that is repeated with the same key gets the first request's
// result. The error is the same for a recipient who does not exist, cannot use the board, accepts no messages, or
// ignores the actor.
func (s *Service) Start(
	ctx context.Context, a *rights.Actor, request NewConversation, once posts.Once,
) (id int64, err error) {
	if err := s.mayWrite(a); err != nil {
		return 0, err
	}
	title, titleErr := filtered(a, request.Title, "title", a.Rights.Settings.CheckTitle)
	message, messageErr := filtered(a, request.Message, "message", a.Rights.Settings.CheckMessage)
	if titleErr != nil || messageErr != nil {
		return 0, apierror.Join(titleErr, messageErr)
	}
	return s.once(ctx, a, once, func(c store.Conn) (id int64, err error) {
		if err := s.admit(c, a, message, true); err != nil {
			return 0, err
		}
		recipients, err := s.recipients(c, a, request.Recipients)
		if err != nil {
			return 0, err
		}
		err = c.Row("INSERT INTO board_conversations (title, starter_id, created_at) VALUES (?, ?, ?) RETURNING id",
			title, a.ID(), s.Moment()).Scan(&id)
		if err != nil {
			return 0, err
		}
		for _, user := range append(recipients, a.ID()) {
			_, err := c.Exec("INSERT INTO board_conversation_members (conversation_id, user_id, last_id, read_id)"+
				" VALUES (?, ?, 0, 0)", id, user)
			if err != nil {
				return 0, err
			}
		}
		return id, s.add(c, a, id, message)
	})
}

// Reply adds a message to a conversation in which the actor participates. A request that is repeated with the same key
// has no further effect. It returns Forbidden if there are no other participants any more, or if the actor ignores, or
// is ignored by, another participant.
func (s *Service) Reply(ctx context.Context, a *rights.Actor, id int64, message string, once posts.Once) error {
	message, messageErr := filtered(a, message, "message", a.Rights.Settings.CheckMessage)
	_, err := s.once(ctx, a, once, func(c store.Conn) (int64, error) {
		// For the actor, a conversation of other members does not exist. So this check comes first, and its error precedes
		// any other error.
		if _, _, err := participates(c, a, id); err != nil {
			return 0, err
		}
		if err := s.mayWrite(a); err != nil {
			return 0, err
		}
		if messageErr != nil {
			return 0, messageErr
		}
		if err := s.admit(c, a, message, false); err != nil {
			return 0, err
		}
		if err := lock(c, id); err != nil {
			return 0, err
		}
		var others, refusing int64 // refusing counts the participants who ignore the actor or are ignored by the actor
		err := c.Row("SELECT count(*), COALESCE(sum(CASE WHEN EXISTS (SELECT 1 FROM board_blocks b"+
			" WHERE b.user_id = m.user_id AND b.blocked_id = ? OR b.user_id = ? AND b.blocked_id = m.user_id)"+
			" THEN 1 ELSE 0 END), 0) FROM board_conversation_members m WHERE m.conversation_id = ? AND m.user_id <> ?",
			a.ID(), a.ID(), id, a.ID()).Scan(&others, &refusing)
		switch {
		case err != nil:
			return 0, err
		case others == 0:
			return 0, kernel.Forbidden("conversationId", "alone", "nobody else takes part in this conversation any more")
		case refusing > 0:
			return 0, kernel.Forbidden("conversationId", "not_accepted",
				"a member of this conversation does not accept messages")
		}
		// The check is repeated under the lock, since the actor may have left meanwhile.
		if _, _, err := participates(c, a, id); err != nil {
			return 0, err
		}
		return id, s.add(c, a, id, message)
	})
	return err
}

// once runs fn in a transaction, unless the actor has sent a request with the same key before; see idempotency.Do.
func (s *Service) once(
	ctx context.Context, a *rights.Actor, once posts.Once, fn func(c store.Conn) (int64, error),
) (int64, error) {
	return kernel.Value(ctx, s.Write, func(c store.Conn) (int64, error) {
		return idempotency.Do(c, posts.Requests, a.ID(), once, s.Now(), fn)
	})
}

// lock locks a conversation until the transaction ends. It returns NotFound if the conversation does not exist.
func lock(c store.Conn, id int64) error {
	return kernel.OrNotFound(c.Row("SELECT id FROM board_conversations WHERE id = ?"+c.Lock(), id).Scan(&id))
}

// add adds a message to a conversation. For the other participants the message is unread, and they are mailed.
func (s *Service) add(c store.Conn, a *rights.Actor, id int64, message string) error {
	var last int64
	err := c.Row("INSERT INTO board_conversation_messages (conversation_id, author_id, message, created_at)"+
		" VALUES (?, ?, ?, ?) RETURNING id", id, a.ID(), message, s.Moment()).Scan(&last)
	if err != nil {
		return err
	}
	_, err = c.Exec("UPDATE board_conversation_members SET last_id = ?,"+
		" read_id = CASE WHEN user_id = ? THEN ? ELSE read_id END WHERE conversation_id = ?", last, a.ID(), last, id)
	if err != nil {
		return err
	}
	return s.queueMails(c, a, id, last)
}

// filtered checks and returns the text of a field, with filtered words replaced. check is applied before and after the
// word filter. A text with a word that holds posts is refused, since private messages cannot be held.
func filtered(a *rights.Actor, written, field string, check func(string) (string, error)) (string, error) {
	written, err := check(written)
	if err != nil {
		return "", err
	}
	words := a.Rights.Access.Words
	if words.Holds(written) {
		return "", kernel.Invalid(field, "word_filter", "the "+field+" has a word that is not allowed here")
	}
	if replaced := words.Replace(written); replaced != written {
		return check(replaced)
	}
	return written, nil
}

// admit applies the limits to a new message: the maximum number of links for new members, and the flood limits, which
// also apply to posts and threads. startsConversation reports whether the message starts a conversation. New members
// may start only newPerDay conversations a day.
func (s *Service) admit(c store.Conn, a *rights.Actor, message string, startsConversation bool) error {
	settings, now := a.Rights.Settings, s.Moment()
	var floods kernel.FloodState
	var posts int64
	err := c.Row("SELECT "+kernel.FloodColumns+", post_count FROM board_users WHERE id = ?"+c.Lock(),
		a.ID()).Scan(&floods.Flood, &floods.Threads, &floods.Posts, &posts)
	if err != nil {
		return err
	}
	isNew := posts < settings.NewMemberPosts
	if isNew && int64(text.Links(message)) > settings.NewMemberLinks {
		return kernel.Invalid("message", "links", "new members may not send so many links")
	}
	if !settings.Flood || a.May(rights.FloodBypass) {
		return nil
	}
	if startsConversation && isNew {
		if err := checkDaily(c, "board_conversations", "starter_id", a.ID(), newPerDay, now); err != nil {
			return err
		}
	}
	var floodWait time.Duration
	floods.Flood, floodWait = settings.FloodFor(posts).Take(floods.Flood, now)
	if wait := max(floodWait, floods.TakeHourly(settings, startsConversation, now)); wait > 0 {
		return kernel.Flooded(wait)
	}
	return floods.Store(c, a.ID())
}

// checkDaily returns an error if a member has added limit rows to a table within 24 hours. column holds the member's
// id.
func checkDaily(c store.Conn, table, column string, member, limit int64, now kernel.Moment) error {
	var oldest kernel.Moment // when the member added the row at the position limit, counted from the newest row
	err := c.Row("SELECT created_at FROM "+table+" WHERE "+column+" = ? AND created_at > ?"+
		" ORDER BY created_at DESC LIMIT 1 OFFSET ?", member, now.Add(-24*time.Hour), limit-1).Scan(&oldest)
	if errors.Is(err, sql.ErrNoRows) { // there are fewer rows
		return nil
	}
	if err != nil {
		return err
	}
	return kernel.Flooded(oldest.Add(24 * time.Hour).Sub(now))
}

// recipients returns the ids of the members with these names, without duplicates. It returns an error of Invalid if
// there are no or too many names, or if the actor cannot write to one of the members.
func (s *Service) recipients(c store.Conn, a *rights.Actor, names []string) (ids []int64, err error) {
	tooMany := kernel.Invalid("recipients", "too_many", "a new conversation can have at most "+
		kernel.Itoa(MaxRecipients)+" recipients")
	if len(names) > 2*MaxRecipients { // also a bound for repeated names
		return nil, tooMany
	}
	for _, name := range names {
		if name = text.Normal(name); name == "" {
			continue
		}
		id, err := s.recipient(c, a, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if len(ids) > MaxRecipients {
			return nil, tooMany
		}
	}
	if len(ids) == 0 {
		return nil, kernel.Invalid("recipients", "required", "enter the name of at least one member")
	}
	return ids, nil
}

// recipient returns the id of the member with this name. It returns an error of Invalid if the actor cannot write to
// the member.
func (s *Service) recipient(c store.Conn, a *rights.Actor, name string) (id int64, err error) {
	var ignored bool // by the actor
	err = c.Row("SELECT u.id, EXISTS (SELECT 1 FROM board_blocks b WHERE b.user_id = ? AND b.blocked_id = u.id)"+
		" FROM board_users u WHERE u.username_key = ?"+
		" AND (u.state = 'active' OR u.state = 'banned' AND u.banned_until <= ?) AND u.accepts_messages = 1"+
		" AND NOT EXISTS (SELECT 1 FROM board_blocks b WHERE b.user_id = u.id AND b.blocked_id = ?)",
		a.ID(), text.Fold(name), s.Moment(), a.ID()).Scan(&id, &ignored)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, kernel.Invalid("recipients", "not_accepted",
			"there is no member called "+text.Short(name, 40)+" who accepts messages")
	case err != nil:
		return 0, err
	case id == a.ID():
		return 0, kernel.Invalid("recipients", "self", "you cannot write to yourself")
	case ignored:
		return 0, kernel.Invalid("recipients", "blocked", "you ignore "+text.Short(name, 40))
	}
	return id, nil
}

// Preview renders a message as a conversation would show it.
func (s *Service) Preview(a *rights.Actor, message string) (string, error) {
	message, err := filtered(a, message, "message", a.Rights.Settings.CheckMessage)
	if err != nil {
		return "", err
	}
	return markup.RenderBy(a.Rights.Settings, message), nil
}
