package posts

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ruleInput holds all data on which the rules of posting depend. It is read in one round trip, since other writers in
// the same thread wait meanwhile.
type ruleInput struct {
	thread   *content.Thread // nil if a new thread is to be started
	forum    *content.Forum
	followed bool     // whether anybody else follows the thread or forum
	recent   []string // hashes of the author's latest posts in the thread
	id       int64    // the id for the new post; 0 if its insert assigns one

	// These fields describe the author.
	missing   error             // the error of reading the author's row
	floods    kernel.FloodState // before the new post
	posts     int64             // the number of visible posts
	moderated bool              // all posts wait for approval
	oldest    kernel.Moment     // the time of the post that exhausted the daily limit, or 0
}

// inputForReply reads all data on which the decision about a reply by the actor depends, and locks the rows of the
// thread with this id and of the actor. As the thread is locked, posts in it become visible in the order of their ids.
func (s *Service) inputForReply(c store.Conn, a *rights.Actor, id int64) (*ruleInput, error) {
	input := new(ruleInput)
	var q store.Questions
	q.Row(func(r store.Row) (err error) {
		input.thread, err = content.SeenThread(a, r)
		return err
	}, content.ThreadByID+c.Lock(), id)
	q.Row(input.scanForum, "SELECT "+content.ForumColumns+" FROM board_threads t JOIN board_forums f ON f.id = t.forum_id"+
		" WHERE t.id = ?", id)
	q.All(func(r store.Row) error {
		var hash string
		err := r.Scan(&hash)
		input.recent = append(input.recent, hash)
		return err
	}, "SELECT p.body_hash FROM (SELECT id, thread_id, created_at FROM board_post_ids WHERE author_id = ?"+
		" ORDER BY id DESC LIMIT 20) i"+
		" JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id WHERE i.thread_id = ? AND i.created_at > ?",
		a.ID(), id, s.Moment().Add(-time.Duration(a.Rights.Settings.DuplicateSeconds)*time.Second))
	if err := s.ask(input, c, a, &q, "thread", id); err != nil {
		return nil, err
	}
	return input, content.SeesForum(a, input.thread.Forum)
}

// inputForThread reads all data on which the decision about a new thread in the forum with this id depends, and locks
// the actor's row.
func (s *Service) inputForThread(c store.Conn, a *rights.Actor, id int64) (*ruleInput, error) {
	if err := content.SeesForum(a, id); err != nil {
		return nil, err
	}
	input := new(ruleInput)
	var q store.Questions
	q.Row(input.scanForum, content.ForumByID, id)
	return input, s.ask(input, c, a, &q, "forum", id)
}

// scanForum reads the forum from a row with content.ForumColumns.
func (in *ruleInput) scanForum(r store.Row) (err error) {
	in.forum, err = content.ScanForum(r)
	return kernel.OrNotFound(err)
}

// ask adds to q the queries that new threads and replies have in common. They read whether anybody else follows the
// thread or forum with this id (target is "thread" or "forum"), and the data of the author, whose row they lock. ask
// then sends all queries of q. Only then do the functions that were passed to q.Row and q.All run and set the fields
// of input.
func (s *Service) ask(
	input *ruleInput, c store.Conn, a *rights.Actor, q *store.Questions, target string, id int64,
) error {
	q.Row(func(r store.Row) error { return r.Scan(&input.followed) },
		"SELECT EXISTS (SELECT 1 FROM board_subscriptions WHERE target = ? AND target_id = ? AND mode <> 'none'"+
			" AND user_id <> ?)", target, id, a.ID())
	// A guest has no row. The error is stored, since there may be other reasons to refuse the guest.
	q.Row(func(r store.Row) error {
		floods := &input.floods
		input.missing = r.Scan(&floods.Flood, &floods.Threads, &floods.Posts, &input.posts, &input.moderated)
		return nil
	}, "SELECT "+kernel.FloodColumns+", post_count,"+
		" CASE WHEN moderated_until > ? THEN 1 ELSE moderated END FROM board_users WHERE id = ?"+c.Lock(), s.Moment(), a.ID())
	if a.Rights.Settings.Flood && a.Rights.PerDay > 0 {
		q.Row(func(r store.Row) error { return r.Scan(&input.oldest) },
			"SELECT COALESCE((SELECT created_at FROM board_post_ids WHERE author_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?), 0)",
			a.ID(), a.Rights.PerDay-1)
	}
	if c.Dialect() == store.Postgres {
		q.Row(func(r store.Row) error { return r.Scan(&input.id) }, "SELECT nextval('board_post_ids_id_seq')")
	}
	return c.Ask(q)
}
