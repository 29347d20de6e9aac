package posts

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// look holds all data on which the rules of posting depend. It is read in one round trip, since other writers in the
// same thread wait meanwhile.
type look struct {
	thread   *content.Thread // nil if a new thread is to be started
	forum    *content.Forum
	followed bool     // whether anybody else follows the thread or forum
	recent   []string // hashes of what the author has just written in the thread
	id       int64    // the id for the new post; 0 if its insert assigns one

	// These fields describe the author.
	missing   error            // why nothing is known about the author
	full      [3]kernel.Moment // when each flood limit is fully available again
	posts     int64
	moderated bool
	oldest    kernel.Moment // when the post was written with which the daily limit was reached; 0 if it was not
}

// lookAtThread reads all data on which the decision about a reply depends, and locks the thread and its author. As the
// thread is locked, posts in it become visible in the order of their ids.
func (s *Service) lookAtThread(c store.Conn, a *rights.Actor, id int64) (*look, error) {
	at := new(look)
	var q store.Questions
	q.Row(func(r store.Row) (err error) {
		at.thread, err = content.SeenThread(a, r)
		return err
	}, content.ThreadByID+c.Lock(), id)
	q.Row(at.scanForum, "SELECT "+content.ForumColumns+" FROM board_threads t JOIN board_forums f ON f.id = t.forum_id"+
		" WHERE t.id = ?", id)
	q.All(func(r store.Row) error {
		var hash string
		err := r.Scan(&hash)
		at.recent = append(at.recent, hash)
		return err
	}, "SELECT p.body_hash FROM (SELECT id, thread_id, created_at FROM board_post_ids WHERE author_id = ?"+
		" ORDER BY id DESC LIMIT 20) i"+
		" JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id WHERE i.thread_id = ? AND i.created_at > ?",
		a.ID(), id, s.Moment().Add(-time.Duration(a.Rights.Settings.DuplicateSeconds)*time.Second))
	if err := s.ask(at, c, a, &q, "thread", id); err != nil {
		return nil, err
	}
	return at, content.SeesForum(a, at.thread.Forum)
}

// lookAtForum reads all data on which the decision about a new thread depends, and locks its author.
func (s *Service) lookAtForum(c store.Conn, a *rights.Actor, id int64) (*look, error) {
	if err := content.SeesForum(a, id); err != nil {
		return nil, err
	}
	at := new(look)
	var q store.Questions
	q.Row(at.scanForum, content.ForumByID, id)
	return at, s.ask(at, c, a, &q, "forum", id)
}

func (at *look) scanForum(r store.Row) (err error) {
	at.forum, err = content.ScanForum(r)
	return kernel.OrNotFound(err)
}

// ask adds the queries that new threads and replies have in common, about followers and the author. It then sends all
// queries.
func (s *Service) ask(at *look, c store.Conn, a *rights.Actor, q *store.Questions, target string, id int64) error {
	q.Row(func(r store.Row) error { return r.Scan(&at.followed) },
		"SELECT EXISTS (SELECT 1 FROM board_subscriptions WHERE target = ? AND target_id = ? AND mode <> 'none'"+
			" AND user_id <> ?)", target, id, a.ID())
	// A guest has no row. The error is stored, since there may be other reasons to refuse the guest.
	q.Row(func(r store.Row) error {
		at.missing = r.Scan(&at.full[0], &at.full[1], &at.full[2], &at.posts, &at.moderated)
		return nil
	}, "SELECT flood_posts, hourly_threads, hourly_posts, post_count,"+
		" CASE WHEN moderated_until > ? THEN 1 ELSE moderated END FROM board_users WHERE id = ?"+c.Lock(), s.Moment(), a.ID())
	if a.Rights.Settings.Flood && a.Rights.PerDay > 0 {
		q.Row(func(r store.Row) error { return r.Scan(&at.oldest) },
			"SELECT COALESCE((SELECT created_at FROM board_post_ids WHERE author_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?), 0)",
			a.ID(), a.Rights.PerDay-1)
	}
	if c.Dialect() == store.Postgres {
		q.Row(func(r store.Row) error { return r.Scan(&at.id) }, "SELECT nextval('board_post_ids_id_seq')")
	}
	return c.Ask(q)
}
