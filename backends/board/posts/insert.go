package posts

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/idempotency"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// insert adds a post by the actor to thread t and records its files. It sends the notifications and events of the
// post. It also updates all counters except those of the forum; the method conclude updates the forum's counters.
// insert returns the id of the post.
func (s *Service) insert(
	c store.Conn, a *rights.Actor, t *content.Thread, w writing, files []*attachments.Received,
) (id int64, err error) {
	if id, err = insertID(c, a, t, w, len(files) > 0); err != nil {
		return 0, err
	}
	if err := announce(c, a, t, id, files, w.now); err != nil {
		return 0, err
	}
	err = c.Later("INSERT INTO board_posts (thread_id, id, number, author_id, author_name, visibility, message,"+
		" message_html, render_version, body_hash, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		t.ID, id, t.Next, kernel.Null(a.ID()), a.User.Name, w.visibility, w.text, w.html, markup.Version, w.hash, w.now)
	if err != nil {
		return 0, err
	}
	starts := t.Next == 1 // the post is the first of its thread
	if err := search.Index(c, id, starts, t.Title, w.text); err != nil {
		return 0, err
	}
	s.search.CountWords()
	if err := countInThread(c, a, t, w, id); err != nil {
		return 0, err
	}
	visible := w.visibility == rights.Visible
	if visible && t.Visibility == rights.Visible {
		if err := content.CountPosts(c, a.ID(), t.Forum, 1); err != nil {
			return 0, err
		}
	}
	if visible && w.followed {
		if err := s.following.Notify(c, a, t, id, starts); err != nil {
			return 0, err
		}
	}
	if visible {
		if err := s.following.Mention(c, a.User, t, id, markup.Mentioned(w.html)); err != nil {
			return 0, err
		}
	}
	p := &content.Post{ID: id, Number: t.Next, Author: a.ID(), AuthorName: a.User.Name, Visibility: w.visibility}
	if err := s.emitPosted(c, t, p, w.reason); err != nil {
		return 0, err
	}
	err = c.Later("UPDATE board_users SET post_count = post_count + ?, last_post_at = ? WHERE id = ?",
		int64(kernel.Bool(visible)), w.now, a.ID())
	return id, err
}

// countInThread updates the row of thread t for the new post w by the actor. id is the id of the post.
func countInThread(c store.Conn, a *rights.Actor, t *content.Thread, w writing, id int64) error {
	switch {
	case t.Next == 1:
		return c.Later("UPDATE board_threads SET next_number = 2, first_post_id = ?, last_post_id = ? WHERE id = ?",
			id, id, t.ID)
	case w.visibility != rights.Visible: // a held reply only uses up its number
		return c.Later("UPDATE board_threads SET next_number = next_number + 1 WHERE id = ?", t.ID)
	}
	lastAt := max(w.now, t.LastAt) // the clock of the node that wrote the last post may be ahead
	if err := c.Later("UPDATE board_threads SET next_number = next_number + 1, reply_count = reply_count + 1,"+
		" last_post_id = ?, last_poster_name = ?, last_post_at = ? WHERE id = ?", id, a.User.Name, lastAt, t.ID); err != nil {
		return err
	}
	return content.UpdateTagOrder(c, t.ID, lastAt)
}

// insertID inserts the row of a new post in board_post_ids and returns the post's id. If atOnce is set, the row exists
// when insertID returns, for rows that refer to it. Otherwise it may be inserted later in the transaction.
func insertID(c store.Conn, a *rights.Actor, t *content.Thread, w writing, atOnce bool) (int64, error) {
	const statement = "INSERT INTO board_post_ids (id, thread_id, forum_id, author_id, visibility, held_reason," +
		" created_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
	values := []any{
		kernel.Null(w.id), t.ID, t.Forum, kernel.Null(a.ID()), w.visibility,
		sql.NullString{String: w.reason, Valid: w.reason != ""},
		w.now,
	}
	if w.id != 0 && !atOnce {
		return w.id, c.Later(statement, values...)
	}
	var id int64
	err := c.Row(statement+" RETURNING id", values...).Scan(&id)
	return id, err
}

// conclude runs the last statements in the transaction of a new post. It subscribes the author if subscribe is set,
// marks the post as read by its author and, last of all, counts the post in the forum if it is visible.
func (s *Service) conclude(
	c store.Conn, a *rights.Actor, t *content.Thread, post int64, w writing, subscribe bool,
) error {
	if subscribe && a.Has(t.Forum, rights.ForumSubscribe) {
		if err := s.following.Follow(c, a, following.Thread, t.ID, "instant"); err != nil {
			return err
		}
	}
	if err := s.following.NoteRead(c, a, t.ID, post); err != nil {
		return err
	}
	if w.visibility != rights.Visible || t.Visibility != rights.Visible {
		return nil
	}
	return content.Count(c, t.Forum, t.ID, int64(kernel.Bool(t.Next == 1)), 1)
}

// turnOf identifies a group of writers who wait for each other: all writers of replies in a thread, or one author who
// starts several threads. It is a key for store.InTurn.
type turnOf struct{ thread, author int64 }

// once runs fn in a transaction, and only once for a key that a client may send again. A repeated request gets the
// result of the first request, or an error if it differs from the first request. Requests with the same turn run one
// after the other.
//
// The transaction is READ COMMITTED. It locks the key, then the thread, then the author, before it makes decisions that
// depend on them. So it misses no relevant concurrent change, and does not fail because of changes in other threads.
func (s *Service) once(
	ctx context.Context, a *rights.Actor, turn turnOf, key Once, fn func(c store.Conn) (Posted, error),
) (Posted, error) {
	ctx = store.InTurn(store.ReadCommitted(ctx), turn)
	return kernel.Value(ctx, s.Write, func(c store.Conn) (posted Posted, err error) {
		posted, err = idempotency.Do(c, Requests, a.ID(), key, s.Now(), fn)
		if errors.Is(err, idempotency.ErrMismatch) {
			return posted, kernel.Invalid(idempotency.Header, "idempotency_mismatch",
				"this Idempotency-Key was used for another request")
		}
		return posted, err
	})
}
