package warnings

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// MaxNote is the maximum length of a note, in characters.
const MaxNote = 2000

// Note is a moderator's note about a member.
type Note struct {
	ID         int64
	Author     int64
	AuthorName string
	Message    string
	Created    kernel.Moment
}

// Record holds the warnings of a member and the notes about the member.
type Record struct {
	Warnings []Warning // for posts in forums in which the actor may approve posts
	Points   int64     // the sum of the points that count now
	Notes    []Note
}

// Moderates reports whether the actor may see the records of members, that is, whether it may approve posts in at least
// one forum.
func Moderates(a *rights.Actor) bool { return a.User != nil && a.MayAnywhere(rights.ContentApprove) }

// check returns an error unless the actor may see and change the record of a member. Members never see their own
// records, even if they are moderators.
func check(c store.Conn, a *rights.Actor, member int64) error {
	if !Moderates(a) || a.Owns(member) {
		return kernel.NotFound()
	}
	u, err := rights.LoadUser(c, member)
	if err == nil && u.State == "deleted" {
		return kernel.NotFound()
	}
	return err
}

// Of returns the record of a member. It returns NotFound to actors who may not see the record.
func (s *Service) Of(ctx context.Context, a *rights.Actor, member int64) (Record, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (r Record, err error) {
		if err := check(c, a, member); err != nil {
			return r, err
		}
		list, err := readWarnings(c, member)
		if err != nil {
			return r, err
		}
		now := s.Moment()
		for _, w := range list {
			if w.Counts(now) {
				r.Points += w.Points
			}
			if a.MayIn(w.Forum, rights.ContentApprove) {
				r.Warnings = append(r.Warnings, w)
			}
		}
		return r, c.All("SELECT id, author_id, author_name, message, created_at FROM board_member_notes WHERE user_id = ?"+
			" ORDER BY id DESC"+content.Limit(c.Dialect()), []any{member, maxRows}, func(row store.Row) error {
			var n Note
			err := row.Scan(&n.ID, &n.Author, &n.AuthorName, &n.Message, &n.Created)
			r.Notes = append(r.Notes, n)
			return err
		})
	})
}

// AddNote adds a note about a member. The actor must be allowed to see the member's record.
func (s *Service) AddNote(ctx context.Context, a *rights.Actor, member int64, message string) error {
	message = text.Normal(message)
	return s.Write(ctx, func(c store.Conn) error {
		if err := check(c, a, member); err != nil {
			return err
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		if n := utf8.RuneCountInString(message); n == 0 || n > MaxNote || strings.ContainsRune(message, 0) {
			return kernel.Invalid("message", "length", fmt.Sprintf("a note has 1 to %d characters", MaxNote))
		}
		var notes int
		if err := c.Row("SELECT count(*) FROM board_member_notes WHERE user_id = ?", member).Scan(&notes); err != nil {
			return err
		}
		if notes >= maxRows {
			return kernel.Conflict(fmt.Sprintf("there are %d notes about this member; delete one first", maxRows))
		}
		if _, err := c.Exec("INSERT INTO board_member_notes (user_id, author_id, author_name, message, created_at)"+
			" VALUES (?, ?, ?, ?, ?)", member, a.ID(), a.User.Name, message, s.Moment()); err != nil {
			return err
		}
		return s.log(c, a, "note.add", member)
	})
}

// DeleteNote deletes a note about a member. Only its author and administrators may delete it.
func (s *Service) DeleteNote(ctx context.Context, a *rights.Actor, member, id int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if err := check(c, a, member); err != nil {
			return err
		}
		var author int64
		if err := c.Row("SELECT author_id FROM board_member_notes WHERE id = ? AND user_id = ?", id,
			member).Scan(&author); err != nil {
			return kernel.OrNotFound(err)
		}
		if !a.Owns(author) && !a.MayAdminister() {
			return kernel.Forbidden("note", "no_permission", "you may delete only your own notes")
		}
		if _, err := c.Exec("DELETE FROM board_member_notes WHERE id = ?", id); err != nil {
			return err
		}
		return s.log(c, a, "note.delete", member)
	})
}

// RemovePicture removes the picture of a member. It does nothing if the member has none. The actor must be allowed to
// see the member's record.
func (s *Service) RemovePicture(ctx context.Context, a *rights.Actor, member int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		if err := check(c, a, member); err != nil {
			return err
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		removed, err := attachments.DropAvatar(c, member)
		if err != nil || !removed {
			return err
		}
		return s.log(c, a, "picture.remove", member)
	})
}

// log logs a change of a note about a member or of the member's picture. It does not log the note's text, since
// administrators, who read the log, can look up the note.
func (s *Service) log(c store.Conn, a *rights.Actor, action string, member int64) error {
	var name string
	if err := c.Row("SELECT username FROM board_users WHERE id = ?", member).Scan(&name); err != nil {
		return err
	}
	return s.rights.LogChange(c, a, action, kernel.ForLog(name))
}
