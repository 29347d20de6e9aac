// Package owndata exports a member's data for the member: the profile, posts, private conversations, bookmarks, drafts
// and reactions, as one JSON object.
package owndata

import (
	"context"
	"encoding/json"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// batch is the number of rows that are read at a time, so that no read takes long.
const batch = 200

// Service reads the data of members.
type Service struct{ *kernel.Server }

// New returns the service of a board.
func New(board *kernel.Server) *Service { return &Service{board} }

// Post is a post of the member, which may be held or deleted. The thread's title is empty if the member no longer sees
// the thread.
type Post struct {
	ID       int64         `json:"id"`
	ThreadID int64         `json:"threadId"`
	Thread   string        `json:"thread"`
	At       kernel.Moment `json:"at"`
	State    string        `json:"state"` // visible, unapproved or deleted
	Message  string        `json:"message"`
}

// Message is a message of a conversation in which the member participates. The author's name is empty if the author was
// deleted.
type Message struct {
	ConversationID int64         `json:"conversationId"`
	Conversation   string        `json:"conversation"`
	Author         string        `json:"author"`
	At             kernel.Moment `json:"at"`
	Message        string        `json:"message"`

	id int64 // of the message
}

// Note is a bookmark or a reaction of the member.
type Note struct {
	PostID int64         `json:"postId"`
	Text   string        `json:"text"` // the note of the bookmark, or the kind of the reaction
	At     kernel.Moment `json:"at"`

	key int64 // the value by which the rows are sorted: the id of the bookmark, or of the post
}

// Draft is a draft of the member. Place is reply, thread or message, and PlaceID the id of the thread, forum or
// conversation.
type Draft struct {
	Place   string        `json:"place"`
	PlaceID int64         `json:"placeId"`
	Title   string        `json:"title"`
	Message string        `json:"message"`
	At      kernel.Moment `json:"at"`

	id int64
}

// profile is the data of the member's account.
type profile struct {
	ID       int64         `json:"id"`
	Username string        `json:"username"`
	Email    string        `json:"email"`
	Title    string        `json:"title"`
	Bio      string        `json:"bio"`
	TimeZone string        `json:"timeZone"`
	Language string        `json:"language"`
	JoinedAt kernel.Moment `json:"joinedAt"`
}

// Write writes the actor's data to w. It reads the data in batches, so it may or may not contain concurrent changes.
// After an error the JSON object in w is incomplete.
func (s *Service) Write(ctx context.Context, a *rights.Actor, w io.Writer) error {
	account, err := kernel.Value(ctx, s.Read, func(c store.Conn) (p profile, err error) {
		return p, c.Row("SELECT id, username, email, title, bio, time_zone, language, joined_at FROM board_users WHERE id = ?",
			a.ID()).Scan(&p.ID, &p.Username, &p.Email, &p.Title, &p.Bio, &p.TimeZone, &p.Language, &p.JoinedAt)
	})
	if err != nil {
		return err
	}
	out := &object{ctx: ctx, service: s, w: w}
	out.raw(`{"member":`)
	out.value(account)
	out.list("posts", func(add func(any)) { eachPost(out, a, add) })
	out.list("messages", func(add func(any)) { eachMessage(out, a, add) })
	out.list("bookmarks", func(add func(any)) {
		eachNote(out, a, add, "SELECT id, post_id, note, created_at FROM board_bookmarks WHERE user_id = ? AND id > ?"+
			" ORDER BY id LIMIT ?")
	})
	out.list("reactions", func(add func(any)) {
		eachNote(out, a, add, "SELECT post_id, post_id, kind, created_at FROM board_reactions WHERE user_id = ?"+
			" AND post_id > ? ORDER BY post_id LIMIT ?")
	})
	out.list("drafts", func(add func(any)) { eachDraft(out, a, add) })
	out.raw("}\n")
	return out.err
}

// eachPost calls fn for each of the actor's posts.
func eachPost(out *object, a *rights.Actor, fn func(any)) {
	eachRow(out, a.ID(), "SELECT p.id, p.thread_id, t.title, COALESCE(t.author_id, 0), t.visibility, p.forum_id,"+
		" p.created_at, COALESCE(x.visibility, y.visibility), COALESCE(x.message, y.message)"+
		" FROM board_post_ids p JOIN board_threads t ON t.id = p.thread_id"+
		" LEFT JOIN board_posts x ON x.thread_id = p.thread_id AND x.id = p.id"+
		" LEFT JOIN board_posts_archive y ON y.id = p.id WHERE p.author_id = ? AND p.id > ? ORDER BY p.id LIMIT ?",
		func(r store.Row) (p Post, err error) {
			var author, threadVisibility, forum, visibility int64 // author is that of the thread
			err = r.Scan(&p.ID, &p.ThreadID, &p.Thread, &author, &threadVisibility, &forum, &p.At, &visibility, &p.Message)
			f := a.In(forum)
			if threadVisibility == rights.Gone || !a.SeesWith(f.Visible, f.Mask, author, author, threadVisibility) {
				p.Thread = ""
			}
			p.State = rights.VisibilityNames[visibility]
			return p, err
		}, func(p Post) int64 { fn(p); return p.ID })
}

// eachMessage calls fn for each message of the conversations in which the actor participates.
func eachMessage(out *object, a *rights.Actor, fn func(any)) {
	var conversations []int64
	eachRow(out, a.ID(), "SELECT conversation_id FROM board_conversation_members"+
		" WHERE user_id = ? AND conversation_id > ? ORDER BY conversation_id LIMIT ?",
		func(r store.Row) (id int64, err error) { return id, r.Scan(&id) },
		func(id int64) int64 { conversations = append(conversations, id); return id })
	for _, conversation := range conversations {
		eachRow(out, conversation, "SELECT w.id, w.conversation_id, v.title, COALESCE(u.username, ''), w.created_at,"+
			" w.message FROM board_conversation_messages w JOIN board_conversations v ON v.id = w.conversation_id"+
			" LEFT JOIN board_users u ON u.id = w.author_id WHERE w.conversation_id = ? AND w.id > ?"+
			" ORDER BY w.id LIMIT ?",
			func(r store.Row) (m Message, err error) {
				return m, r.Scan(&m.id, &m.ConversationID, &m.Conversation, &m.Author, &m.At, &m.Message)
			}, func(m Message) int64 { fn(m); return m.id })
	}
}

// eachNote calls fn for each row of query, which selects the actor's bookmarks or reactions.
func eachNote(out *object, a *rights.Actor, fn func(any), query string) {
	eachRow(out, a.ID(), query, func(r store.Row) (n Note, err error) {
		return n, r.Scan(&n.key, &n.PostID, &n.Text, &n.At)
	}, func(n Note) int64 { fn(n); return n.key })
}

// eachDraft calls fn for each of the actor's drafts.
func eachDraft(out *object, a *rights.Actor, fn func(any)) {
	eachRow(out, a.ID(), "SELECT id, place, place_id, title, message, saved_at FROM board_drafts WHERE user_id = ?"+
		" AND id > ? ORDER BY id LIMIT ?", func(r store.Row) (d Draft, err error) {
		return d, r.Scan(&d.id, &d.Place, &d.PlaceID, &d.Title, &d.Message, &d.At)
	}, func(d Draft) int64 { fn(d); return d.id })
}

// object writes a JSON object field by field. After an error its methods do nothing.
type object struct {
	ctx     context.Context
	service *Service
	w       io.Writer
	err     error
}

// raw writes a part of the JSON text.
func (o *object) raw(text string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.w, text)
	}
}

// value writes v as JSON.
func (o *object) value(v any) {
	text, err := json.Marshal(v)
	if o.err == nil {
		o.err = err
	}
	o.raw(string(text))
}

// list writes a field whose value is an array. fill calls add for every element of the array.
func (o *object) list(name string, fill func(add func(any))) {
	o.raw(`,"` + name + `":[`)
	separator := "\n"
	fill(func(v any) {
		o.raw(separator)
		o.value(v)
		separator = ",\n"
	})
	o.raw("]")
}

// eachRow calls fn for each row of a query, which it reads in batches. The arguments of the query are owner, the key of
// the last row of the previous batch, and the limit. fn returns the key of its row. An error is stored in o.err and
// ends eachRow.
func eachRow[T any](o *object, owner int64, query string, scan func(r store.Row) (T, error), fn func(T) int64) {
	lastKey := int64(0)
	for o.err == nil {
		list, err := kernel.Value(o.ctx, o.service.Read, func(c store.Conn) ([]T, error) {
			return store.List(c, scan, query, owner, lastKey, batch)
		})
		if err != nil {
			o.err = err
			return
		}
		for _, row := range list {
			lastKey = fn(row)
		}
		if len(list) < batch {
			return
		}
	}
}
