package board

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// thread is a row of board_threads.
type thread struct {
	id, forum      int64
	title, slug    string
	author         int64
	authorName     string
	prefix         int64
	visibility     int64
	sticky, locked bool
	replies, views int64
	first, last    int64
	lastPoster     string
	created        int64
	lastAt         int64
	next           int64
}

// threadColumns are a thread as one text: its numbers, the lengths of all texts
// but the last, and the texts. Handing over a column costs more, in the driver of
// SQLite, than to write and read a number.
const threadColumns = "concat_ws(' ', t.id, t.forum_id, COALESCE(t.author_id, 0), COALESCE(t.prefix_id, 0), t.visibility, t.is_sticky, t.is_locked," +
	" t.reply_count, t.view_count, t.first_post_id, t.last_post_id, t.created_at, t.last_post_at, t.next_number," +
	" octet_length(t.title), octet_length(t.slug), octet_length(t.author_name), t.title || t.slug || t.author_name || t.last_poster_name)"

func scanThread(r store.Row) (*thread, error) {
	t := new(thread)
	return t, r.Scan(t)
}

// Scan implements sql.Scanner for threadColumns.
func (t *thread) Scan(value any) error {
	rest, ok := value.(string)
	if !ok {
		return fmt.Errorf("a thread is %T, not text", value)
	}
	var sticky, locked, title, slug, author int64
	for _, into := range [...]*int64{
		&t.id, &t.forum, &t.author, &t.prefix, &t.visibility, &sticky, &locked,
		&t.replies, &t.views, &t.first, &t.last, &t.created, &t.lastAt, &t.next,
		&title, &slug, &author,
	} {
		var number string
		var err error
		number, rest, _ = strings.Cut(rest, " ")
		if *into, err = strconv.ParseInt(number, 10, 64); err != nil {
			return fmt.Errorf("the numbers of a thread: %w", err)
		}
	}
	size := int64(len(rest))
	if min(title, slug, author) < 0 || max(title, slug, author) > size || title+slug+author > size {
		return errors.New("the texts of a thread are shorter than their lengths")
	}
	t.title, rest = rest[:title], rest[title:]
	t.slug, rest = rest[:slug], rest[slug:]
	t.authorName, t.lastPoster = rest[:author], rest[author:]
	t.sticky, t.locked = sticky != 0, locked != 0
	return nil
}

// forum is a row of board_forums.
type forum struct {
	id, parent      int64
	depth, position int64
	kind            string
	title, slug     string
	description     string
	link            sql.NullString
	open            bool
	allowThreads    bool
	allowReplies    bool
	moderateThreads bool
	moderatePosts   bool
	requiresPrefix  bool
	floodSeconds    sql.NullInt64
	minWords        int64
	maxWords        int64

	// Of those that were read as countedForums.
	threads, posts int64
	lastAt         int64
}

const forumColumns = "f.id, COALESCE(f.parent_id, 0), f.depth, f.position, f.type, f.title, f.slug, f.description, f.link_url, f.is_open, f.allow_threads, f.allow_replies," +
	" f.moderate_threads, f.moderate_posts, f.requires_prefix, f.flood_seconds, COALESCE(f.min_words, 1), COALESCE(f.max_words, 10000)"

func scanForum(r store.Row) (*forum, error) {
	f := new(forum)
	return f, r.Scan(&f.id, &f.parent, &f.depth, &f.position, &f.kind, &f.title, &f.slug, &f.description, &f.link, &f.open, &f.allowThreads, &f.allowReplies,
		&f.moderateThreads, &f.moderatePosts, &f.requiresPrefix, &f.floodSeconds, &f.minWords, &f.maxWords)
}

// post is a row of board_posts.
type post struct {
	thread, id, number int64
	author             int64
	authorName         string
	visibility         int64
	message, html      string
	renderVersion      int64
	hash               string
	created            int64
	editedAt           int64
	editedBy, reason   sql.NullString
	edits              int64
}

const postColumns = "p.thread_id, p.id, p.number, COALESCE(p.author_id, 0), p.author_name, p.visibility, p.message, p.message_html, p.render_version, p.body_hash, p.created_at," +
	" COALESCE(p.edited_at, 0), p.edited_by, p.edit_reason, p.edit_count"

func scanPost(r store.Row) (*post, error) {
	p := new(post)
	return p, r.Scan(&p.thread, &p.id, &p.number, &p.author, &p.authorName, &p.visibility, &p.message, &p.html, &p.renderVersion, &p.hash, &p.created,
		&p.editedAt, &p.editedBy, &p.reason, &p.edits)
}

// forumFor reads a forum that the actor sees.
func forumFor(c store.Conn, a *rights.Actor, id int64) (*forum, error) {
	f := a.In(id)
	if !f.Visible {
		return nil, kernel.NotFound()
	}
	if !f.Seen {
		a.Looked(id)
	}
	return readForum(c, id)
}

func readForum(c store.Conn, id int64) (*forum, error) {
	f, err := scanForum(c.Row("SELECT "+forumColumns+" FROM board_forums f WHERE f.id = ?", id))
	return f, kernel.OrNotFound(err)
}

// threadFor reads a thread that the actor sees.
func threadFor(c store.Conn, a *rights.Actor, id int64, lock string) (*thread, error) {
	t, err := scanThread(c.Row("SELECT "+threadColumns+" FROM board_threads t WHERE t.id = ?"+lock, id))
	if err != nil {
		return nil, kernel.OrNotFound(err)
	}
	if !a.Sees(t.forum, t.author, t.author, t.visibility) {
		return nil, kernel.NotFound()
	}
	return t, nil
}

// postFor reads a post of a thread that the actor sees.
func postFor(c store.Conn, a *rights.Actor, t *thread, id int64) (*post, error) {
	p, err := scanPost(c.Row("SELECT "+postColumns+" FROM board_posts p WHERE p.thread_id = ? AND p.id = ?", t.id, id))
	if err != nil {
		return nil, kernel.OrNotFound(err)
	}
	if !a.Sees(t.forum, t.author, p.author, p.visibility) {
		return nil, kernel.NotFound()
	}
	return p, nil
}

// postByID reads a post that the actor sees, with its thread.
func postByID(c store.Conn, a *rights.Actor, id int64, lock string) (*thread, *post, error) {
	var in int64
	if err := c.Row("SELECT thread_id FROM board_post_ids WHERE id = ?", id).Scan(&in); err != nil {
		return nil, nil, kernel.OrNotFound(err)
	}
	t, err := threadFor(c, a, in, lock)
	if err != nil {
		return nil, nil, err
	}
	p, err := postFor(c, a, t, id)
	return t, p, err
}

// postsByID reads those of posts that the actor sees, with their threads, newest
// first.
func postsByID(c store.Conn, a *rights.Actor, ids []any) (list []Found, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	statement := "SELECT " + postColumns + ", " + threadColumns + " FROM board_post_ids i JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id JOIN board_threads t ON t.id = i.thread_id" +
		" WHERE i.id IN (" + kernel.Marks(len(ids)) + ") ORDER BY i.id DESC"
	err = c.All(statement, ids, func(r store.Row) error {
		t := new(thread)
		p, err := scanPost(scanTail{r, []any{t}})
		if err == nil && a.Sees(t.forum, t.author, t.author, t.visibility) && a.Sees(t.forum, t.author, p.author, p.visibility) {
			list = append(list, Found{p, t})
		}
		return err
	})
	return list, err
}

// number is a path's id; what is none is not found.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || text[0] == '+' {
		return 0, kernel.NotFound()
	}
	return n, nil
}
