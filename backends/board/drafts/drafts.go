// Package drafts stores texts that members have begun to write and not posted yet, at most one text of a member for
// each place. Only its writer sees a draft. A draft is deleted when it is posted, or when it has not been saved for the
// duration Keep.
package drafts

import (
	"context"
	"database/sql"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// These are the limits of drafts.
const (
	Keep    = 90 * 24 * time.Hour // how long a draft is kept after it was last saved
	MaxEach = 50                  // the maximum number of drafts of one member
	maxLine = 1000                // the maximum number of characters of each field except the message
	// A draft may be maxLonger times as long as a message, so that a text that has become too long can be saved and
	// shortened.
	maxLonger = 2
)

// These are the kinds of places where a draft can be posted.
const (
	Reply   = "reply"   // in the thread with the id of the place
	Thread  = "thread"  // in the forum with the id of the place
	Message = "message" // in the conversation with the id of the place, or in a new one if the id is 0
)

// Place is where a draft is to be posted.
type Place struct {
	Kind string // Reply, Thread or Message
	ID   int64  // of the thread, forum or conversation
}

// Path returns the path of the page with the form in which the draft is written.
func (p Place) Path() string {
	id := kernel.Itoa(p.ID)
	switch {
	case p.Kind == Reply:
		return "/threads/" + id + "/reply"
	case p.Kind == Thread:
		return "/forums/" + id + "/new"
	case p.ID == 0:
		return "/conversations/new"
	}
	return "/conversations/" + id
}

// Draft is a text that is not posted yet.
type Draft struct {
	Place
	Row        int64  // identifies the draft
	Title      string // of a new thread or conversation
	Recipients string // of a new conversation
	Prefix     int64  // of a new thread
	Tags       string // of a new thread, with commas between them
	Message    string
	Saved      kernel.Moment

	// In is the title of the thread, forum or conversation of the place. In is empty for a new conversation, and if the
	// place does not exist any more or the member does not see it. Only List sets In.
	In string
}

// Gone reports whether the place of a draft that List returned no longer exists for the member.
func (d Draft) Gone() bool { return d.In == "" && d.ID != 0 }

// Service keeps the drafts of a board.
type Service struct{ *kernel.Server }

// New returns the Service of a board.
func New(board *kernel.Server) *Service { return &Service{Server: board} }

// columns begins the query for drafts of a user. Read its rows with scan.
const columns = "SELECT d.id, d.place, d.place_id, d.title, d.recipients, d.prefix_id, d.tags, d.message, d.saved_at" +
	" FROM board_drafts d WHERE d.user_id = ?"

// scan reads a row of columns.
func scan(r store.Row) (d Draft, err error) {
	return d, r.Scan(&d.Row, &d.Kind, &d.ID, &d.Title, &d.Recipients, &d.Prefix, &d.Tags, &d.Message, &d.Saved)
}

// Of returns the actor's draft for a place, or nil if the actor has no draft there.
func (s *Service) Of(ctx context.Context, a *rights.Actor, place Place) (*Draft, error) {
	if a.User == nil {
		return nil, nil
	}
	d, err := kernel.Value(ctx, s.ReadBriefly, func(c store.Conn) (Draft, error) {
		return scan(c.Row(columns+" AND d.place = ? AND d.place_id = ?", a.ID(), place.Kind, place.ID))
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &d, nil
}

// Save saves a draft of the actor, replacing an earlier draft for the same place. A draft without a text and without a
// title is deleted instead. The caller must check that the actor sees the place.
func (s *Service) Save(ctx context.Context, a *rights.Actor, d Draft) error {
	d.Title, d.Recipients, d.Message = text.Normal(d.Title), text.Normal(d.Recipients), text.Lines(d.Message)
	d.Tags = text.Normal(d.Tags)
	maxLength := maxLonger * a.Rights.Settings.MaxMessage
	switch {
	case d.Title == "" && d.Message == "":
		return s.Delete(ctx, a, d.Place)
	case int64(utf8.RuneCountInString(d.Message)) > maxLength:
		return kernel.Invalid("message", "too_long", "the message is too long, even for a draft")
	case utf8.RuneCountInString(d.Title) > maxLine:
		return kernel.Invalid("title", "too_long", "the title is too long")
	case utf8.RuneCountInString(d.Recipients) > maxLine:
		return kernel.Invalid("recipients", "too_long", "there are too many names")
	case utf8.RuneCountInString(d.Tags) > maxLine:
		return kernel.Invalid("tags", "too_long", "there are too many tags")
	}
	return s.Write(ctx, func(c store.Conn) error {
		if err := kernel.LockMember(c, a.ID()); err != nil {
			return err
		}
		var others int64 // drafts for other places
		err := c.Row("SELECT count(*) FROM board_drafts WHERE user_id = ? AND NOT (place = ? AND place_id = ?)",
			a.ID(), d.Kind, d.ID).Scan(&others)
		if err != nil {
			return err
		}
		if others >= MaxEach {
			return kernel.Conflict("you already have the maximum number of drafts; delete some first")
		}
		_, err = c.Exec("INSERT INTO board_drafts (user_id, place, place_id, title, recipients, prefix_id, tags, message,"+
			" saved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, place, place_id) DO UPDATE SET title = excluded.title,"+
			" recipients = excluded.recipients, prefix_id = excluded.prefix_id, tags = excluded.tags, message = excluded.message,"+
			" saved_at = excluded.saved_at", a.ID(), d.Kind, d.ID, text.Storable(d.Title), text.Storable(d.Recipients),
			d.Prefix, text.Storable(d.Tags), text.Storable(d.Message), s.Moment())
		return err
	})
}

// Delete deletes the actor's draft for a place, if there is one.
func (s *Service) Delete(ctx context.Context, a *rights.Actor, place Place) error {
	if d, err := s.Of(ctx, a, place); err != nil || d == nil { // most posts have no draft
		return err
	}
	return s.Exec(ctx, "DELETE FROM board_drafts WHERE user_id = ? AND place = ? AND place_id = ?", a.ID(), place.Kind, place.ID)
}

// Discard deletes the actor's draft whose Row is row. It returns NotFound if there is no such draft.
func (s *Service) Discard(ctx context.Context, a *rights.Actor, row int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		n, err := c.Exec("DELETE FROM board_drafts WHERE user_id = ? AND id = ?", a.ID(), row)
		if err == nil && n == 0 {
			return kernel.NotFound()
		}
		return err
	})
}

// List lists the actor's drafts, the newest first, with the titles of their places.
func (s *Service) List(ctx context.Context, a *rights.Actor) ([]Draft, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (list []Draft, err error) {
		list, err = store.List(c, scan, columns+" ORDER BY d.saved_at DESC, d.id DESC LIMIT ?", a.ID(), MaxEach)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].In, err = titleOf(c, a, list[i].Place); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// titleOf returns the title of a place, or an empty string if the actor does not see it.
func titleOf(c store.Conn, a *rights.Actor, place Place) (title string, err error) {
	switch place.Kind {
	case Reply:
		t, err := content.ThreadFor(c, a, place.ID, "")
		if err == nil {
			title = t.Title
		}
		return title, unlessMissing(err)
	case Thread:
		f, err := content.ForumFor(c, a, place.ID)
		if err == nil {
			title = f.Title
		}
		return title, unlessMissing(err)
	}
	err = c.Row("SELECT v.title FROM board_conversations v JOIN board_conversation_members m ON m.conversation_id = v.id"+
		" WHERE v.id = ? AND m.user_id = ?", place.ID, a.ID()).Scan(&title)
	return title, unlessMissing(kernel.OrNotFound(err))
}

// unlessMissing returns err, or nil if err is NotFound.
func unlessMissing(err error) error {
	if kernel.IsNotFound(err) {
		return nil
	}
	return err
}
