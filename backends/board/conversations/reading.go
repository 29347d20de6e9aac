package conversations

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// compareNames compares names as strings.Compare does, but regardless of case.
func compareNames(x, y string) int { return strings.Compare(strings.ToLower(x), strings.ToLower(y)) }

// Conversation is an entry in a member's list of conversations.
type Conversation struct {
	ID     int64
	Title  string
	Last   int64 // the id of the last message
	LastAt kernel.Moment
	Unread bool
	People []Person // the participants, including the actor
}

// listing returns the query for a member's conversations, sorted by their last messages, newest first. Its arguments
// are the member, the id of a message before which the list begins, and the limit.
func listing() content.Listing {
	return content.Listing{
		Columns: "m.conversation_id, (SELECT v.title FROM board_conversations v WHERE v.id = m.conversation_id), m.last_id," +
			" (SELECT w.created_at FROM board_conversation_messages w WHERE w.id = m.last_id), m.read_id",
		From: "board_conversation_members m", Index: "board_conversation_members_list",
		Where: "m.user_id = ? AND m.last_id < ?", Order: "m.last_id DESC",
	}
}

// messages returns the query for a conversation's messages, newest first. Its arguments are the conversation's id,
// the id of a message before which the list begins, and the limit.
func messages() content.Listing {
	return content.Listing{
		Columns: "w.id, COALESCE(w.author_id, 0), COALESCE((SELECT u.username FROM board_users u WHERE u.id = w.author_id)," +
			" ''), w.message, w.created_at",
		From: "board_conversation_messages w", Index: "board_conversation_messages_conversation",
		Where: "w.conversation_id = ? AND w.id < ?", Order: "w.id DESC",
	}
}

// List returns the actor's conversations, sorted by their last messages, newest first. cursor is the previous page's
// next, or 0 for the first page. next is 0 on the last page.
func (s *Service) List(
	ctx context.Context, a *rights.Actor, cursor int64, limit int,
) (list []Conversation, next int64, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		list, next, err = page(c, listing(), a.ID(), cursor, limit, func(r store.Row) (v Conversation, err error) {
			var read int64
			err = r.Scan(&v.ID, &v.Title, &v.Last, &v.LastAt, &read)
			v.Unread = read < v.Last
			return v, err
		}, func(v Conversation) int64 { return v.Last })
		if err != nil {
			return err
		}
		ids := make([]any, len(list))
		for i, v := range list {
			ids[i] = v.ID
		}
		people, err := participants(c, ids...)
		for i := range list {
			list[i].People = people[list[i].ID]
		}
		return err
	})
	return list, next, err
}

// page reads a page of a listing. owner is the id of the member, or of the conversation, to which the entries belong.
// next is the value of cursor for the next page, or 0 on the last page. id returns the id of an entry.
func page[T any](
	c store.Conn, l content.Listing, owner, cursor int64, limit int, scan func(store.Row) (T, error), id func(T) int64,
) (list []T, next int64, err error) {
	if cursor == 0 {
		cursor = math.MaxInt64
	}
	list, err = store.List(c, scan, l.SQL(c.Dialect()), owner, cursor, limit+1)
	list, next = store.CutAt(list, limit, id)
	return list, next, err
}

// Message is a message of a conversation.
type Message struct {
	ID     int64
	Author Person
	HTML   string
	At     kernel.Moment
}

// scanMessage reads a row of the query that messages returns. HTML is set to the message's text, which is not rendered
// yet.
func scanMessage(r store.Row) (m Message, err error) {
	err = r.Scan(&m.ID, &m.Author.ID, &m.Author.Name, &m.HTML, &m.At)
	if m.Author.ID == 0 {
		m.Author.Name = DeletedName
	}
	return m, err
}

// Reading is a page of a conversation.
type Reading struct {
	ID       int64
	Title    string
	People   []Person  // the participants, including the actor
	Messages []Message // oldest first
	Earlier  int64     // the value of beforeID for the previous page; 0 if there is none
}

// Open returns up to limit messages of a conversation in which the actor participates. If beforeID is 0, these are
// the last messages, and Open marks the conversation as read. Otherwise they are the messages before the message with
// the id beforeID.
func (s *Service) Open(ctx context.Context, a *rights.Actor, id, beforeID int64, limit int) (p Reading, err error) {
	var last, read int64
	err = s.Read(ctx, func(c store.Conn) (err error) {
		p = Reading{ID: id}
		if last, read, err = participates(c, a, id); err != nil {
			return err
		}
		if err := c.Row("SELECT title FROM board_conversations WHERE id = ?", id).Scan(&p.Title); err != nil {
			return err
		}
		people, err := participants(c, id)
		if err != nil {
			return err
		}
		p.People = people[id]
		p.Messages, p.Earlier, err = page(c, messages(), id, beforeID, limit, scanMessage,
			func(m Message) int64 { return m.ID })
		return err
	})
	if err != nil {
		return p, err
	}
	slices.Reverse(p.Messages)
	for i := range p.Messages {
		p.Messages[i].HTML = markup.RenderBy(a.Rights.Settings, p.Messages[i].HTML)
	}
	if beforeID != 0 || read >= last {
		return p, nil
	}
	return p, s.Exec(ctx, "UPDATE board_conversation_members SET read_id = ?"+
		" WHERE conversation_id = ? AND user_id = ? AND read_id < ?", last, id, a.ID(), last)
}

// maxUnread is the maximum count of unread conversations.
const maxUnread = 99

// unread counts a member's unread conversations, up to a limit. Its arguments are user and limit.
const unread = "SELECT count(*) FROM (SELECT 1 FROM board_conversation_members" +
	" WHERE user_id = ? AND read_id < last_id LIMIT ?) w"

// Unread counts the actor's conversations with unread messages, up to maxUnread.
func (s *Service) Unread(ctx context.Context, a *rights.Actor) (n int, err error) {
	if a.User == nil {
		return 0, nil
	}
	return kernel.Value(ctx, s.ReadBriefly, func(c store.Conn) (n int, err error) {
		return n, c.Row(unread, a.ID(), maxUnread).Scan(&n)
	})
}
