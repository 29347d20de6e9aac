package reactions

import (
	"context"
	"math"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// These are the limits of bookmarks.
const (
	MaxBookmarks = 5000 // of one member
	MaxNote      = 200  // characters of a bookmark's note
)

// Bookmark is a post that a member has bookmarked. To bookmark a thread, a member bookmarks its first post.
type Bookmark struct {
	ID     int64
	Note   string // empty if there is none
	At     kernel.Moment
	Post   content.PostInfo
	Thread *content.Thread
}

// bookmarks returns the query for the bookmarks of a member, newest first. Its arguments are the member's id, the id
// of the bookmark before the page, and the limit.
func bookmarks() content.Listing {
	return content.Listing{
		Columns: "k.id, k.post_id, k.note, k.created_at", From: "board_bookmarks k", Index: "board_bookmarks_list",
		Where: "k.user_id = ? AND k.id < ?", Order: "k.id DESC",
	}
}

// Bookmarks lists the actor's bookmarks of posts that the actor still sees, newest first. beforeID is the value of next
// from the previous page, or 0 for the first page. next is 0 on the last page. A page may be short or empty although
// there is a next page.
func (s *Service) Bookmarks(
	ctx context.Context, a *rights.Actor, beforeID int64, limit int,
) (list []Bookmark, next int64, err error) {
	if beforeID == 0 {
		beforeID = math.MaxInt64
	}
	err = s.Read(ctx, func(c store.Conn) error {
		list = nil
		rows, err := store.List(c, func(r store.Row) (b Bookmark, err error) {
			return b, r.Scan(&b.ID, &b.Post.ID, &b.Note, &b.At)
		}, bookmarks().SQL(c.Dialect()), a.ID(), beforeID, limit+1)
		if err != nil {
			return err
		}
		rows, next = store.CutAt(rows, limit, func(b Bookmark) int64 { return b.ID })
		for _, b := range rows {
			t, p, err := content.PostByID(c, a, b.Post.ID, "")
			if kernel.IsNotFound(err) { // the actor no longer sees the post
				continue
			}
			if err != nil {
				return err
			}
			b.Post, b.Thread = content.ViewPost(p), t
			list = append(list, b)
		}
		return nil
	})
	return list, next, err
}

// Bookmarked returns the actor's bookmarks of some posts, as a map from the ids of posts to the ids of their bookmarks.
// Posts without a bookmark are not in the map, and for guests the map is empty. posts holds the ids of the posts as
// int64 values; it must not be empty.
func Bookmarked(c store.Conn, a *rights.Actor, posts ...any) (map[int64]int64, error) {
	bookmarkIDs := make(map[int64]int64)
	if a.User == nil {
		return bookmarkIDs, nil
	}
	err := c.All("SELECT post_id, id FROM board_bookmarks WHERE user_id = ? AND post_id IN ("+
		kernel.Marks(len(posts))+")", append([]any{a.ID()}, posts...), content.CollectInto(bookmarkIDs))
	return bookmarkIDs, err
}

// BookmarkOf returns the note of the actor's bookmark of a post, and whether the actor has bookmarked the post.
func (s *Service) BookmarkOf(
	ctx context.Context, a *rights.Actor, post int64,
) (note string, bookmarked bool, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		err := c.Row("SELECT note FROM board_bookmarks WHERE user_id = ? AND post_id = ?", a.ID(), post).Scan(&note)
		bookmarked = err == nil
		return kernel.IgnoreNoRows(err)
	})
	return note, bookmarked, err
}

// Bookmark adds a post that the actor sees to the actor's bookmarks, or changes the note of the bookmark.
func (s *Service) Bookmark(ctx context.Context, a *rights.Actor, post int64, note string) error {
	note = text.Normal(note)
	if utf8.RuneCountInString(note) > MaxNote || !text.IsLine(note) {
		return kernel.Invalid("note", "length", "a note has at most "+kernel.Itoa(MaxNote)+" characters, in one line")
	}
	return s.Write(ctx, func(c store.Conn) error {
		if _, _, err := content.PostByID(c, a, post, ""); err != nil {
			return err
		}
		var count int64
		if err := c.Row("SELECT count(*) FROM board_bookmarks WHERE user_id = ? AND post_id <> ?", a.ID(),
			post).Scan(&count); err != nil {
			return err
		}
		if count >= MaxBookmarks {
			return kernel.Conflict("you have reached the limit of bookmarks; remove one first")
		}
		_, err := c.Exec("INSERT INTO board_bookmarks (user_id, post_id, note, created_at) VALUES (?, ?, ?, ?)"+
			" ON CONFLICT (user_id, post_id) DO UPDATE SET note = excluded.note", a.ID(), post, note, s.Moment())
		return err
	})
}

// Unbookmark removes the actor's bookmark of a post, even if the actor no longer sees the post.
func (s *Service) Unbookmark(ctx context.Context, a *rights.Actor, post int64) error {
	return s.Exec(ctx, "DELETE FROM board_bookmarks WHERE user_id = ? AND post_id = ?", a.ID(), post)
}
