package posts

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// look is what the rules of posting look at. It is asked for at once: others who
// write in the thread wait as long as it takes.
type look struct {
	thread   *content.Thread // nil: one is to be started
	forum    *content.Forum
	followed bool     // somebody else is to be told
	recent   []string // hashes of what the author has just written in the thread
	id       int64    // of the post; 0: its row gives it

	// Of the author.
	missing   error            // why nothing is known
	full      [3]kernel.Moment // when each limit is full again
	posts     int64
	moderated bool
	oldest    kernel.Moment // of as many posts as a day may have; 0: fewer are there
}

// lookAtThread looks at what decides a reply, and holds the thread and its author.
// Holding the thread makes its posts visible in the order of their ids.
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
	if err := at.ask(c, a, &q, "thread", id); err != nil {
		return nil, err
	}
	return at, content.SeesForum(a, at.thread.Forum)
}

// lookAtForum looks at what decides a new thread, and holds its author.
func (s *Service) lookAtForum(c store.Conn, a *rights.Actor, id int64) (*look, error) {
	if err := content.SeesForum(a, id); err != nil {
		return nil, err
	}
	at := new(look)
	var q store.Questions
	q.Row(at.scanForum, content.ForumByID, id)
	return at, at.ask(c, a, &q, "forum", id)
}

func (at *look) scanForum(r store.Row) (err error) {
	at.forum, err = content.ScanForum(r)
	return kernel.OrNotFound(err)
}

// ask asks for the rest too: who follows, and the author.
func (at *look) ask(c store.Conn, a *rights.Actor, q *store.Questions, target string, id int64) error {
	q.Row(func(r store.Row) error { return r.Scan(&at.followed) },
		"SELECT EXISTS (SELECT 1 FROM board_subscriptions WHERE target = ? AND target_id = ? AND mode <> 'none'"+
			" AND user_id <> ?)", target, id, a.ID())
	// A guest, who has no row, may hear of other reasons first.
	q.Row(func(r store.Row) error {
		at.missing = r.Scan(&at.full[0], &at.full[1], &at.full[2], &at.posts, &at.moderated)
		return nil
	}, "SELECT flood_posts, hourly_threads, hourly_posts, post_count, moderated FROM board_users WHERE id = ?"+
		c.Lock(), a.ID())
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
