// Package content defines a board's content: forums, threads and posts as the database stores them, which of them an
// actor sees, and the views of them that clients receive.
package content

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Thread is a row of board_threads.
type Thread struct {
	ID, Forum      int64
	Title, Slug    string
	Author         int64 // 0 if the author has no account
	AuthorName     string
	Prefix         int64 // 0 if the thread has none
	Visibility     int64 // rights.Visible, …
	Sticky, Locked bool
	Replies, Views int64
	First, Last    int64 // the ids of the first and of the last post
	LastPoster     string
	Created        kernel.Moment
	LastAt         kernel.Moment // when the last post was written
	Next           int64         // the number that the next post gets
	Answer         int64         // the reply that answers the thread; 0 if none does
	HasPoll        bool          // whether a post may have a poll
}

// ThreadColumns selects a thread as a single text: its numbers, the lengths of its texts except the last, and its
// texts. Passing a column through the SQLite driver costs more than formatting and parsing a number.
const ThreadColumns = "concat_ws(' ', t.id, t.forum_id, COALESCE(t.author_id, 0), COALESCE(t.prefix_id, 0)," +
	" t.visibility, t.is_sticky, t.is_locked," +
	" t.reply_count, t.view_count, t.first_post_id, t.last_post_id, t.created_at, t.last_post_at, t.next_number, t.answer_id," +
	" t.has_poll, octet_length(t.title), octet_length(t.slug), octet_length(t.author_name), t.title, t.slug, t.author_name," +
	" t.last_poster_name)"

// ScanThread reads a row of ThreadColumns.
func ScanThread(r store.Row) (*Thread, error) {
	t := new(Thread)
	return t, r.Scan(t)
}

// Scan implements sql.Scanner for ThreadColumns.
func (t *Thread) Scan(value any) error {
	remaining, ok := value.(string)
	if !ok {
		return fmt.Errorf("scanning a thread: the column is %T, not text", value)
	}
	var sticky, locked, poll int64
	var titleLen, slugLen, authorLen int64 // in bytes
	for _, field := range [...]*int64{
		&t.ID, &t.Forum, &t.Author, &t.Prefix, &t.Visibility, &sticky, &locked,
		&t.Replies, &t.Views, &t.First, &t.Last, (*int64)(&t.Created), (*int64)(&t.LastAt), &t.Next, &t.Answer,
		&poll, &titleLen, &slugLen, &authorLen,
	} {
		if *field, remaining, ok = cutNumber(remaining); !ok {
			return errors.New("scanning a thread: a number is missing or invalid")
		}
	}
	size := int64(len(remaining))
	const spaces = 3 // one after each text except the last
	if min(titleLen, slugLen, authorLen) < 0 || max(titleLen, slugLen, authorLen) > size ||
		titleLen+slugLen+authorLen+spaces > size {
		return errors.New("scanning a thread: the texts are shorter than the lengths before them")
	}
	t.Title, remaining = remaining[:titleLen], remaining[titleLen+1:]
	t.Slug, remaining = remaining[:slugLen], remaining[slugLen+1:]
	t.AuthorName, t.LastPoster = remaining[:authorLen], remaining[authorLen+1:]
	t.Sticky, t.Locked, t.HasPoll = sticky != 0, locked != 0, poll != 0
	return nil
}

// cutNumber parses the number at the beginning of text and returns it with the text after the number and a space. ok
// reports whether there is such a number. cutNumber makes only one pass over the digits, because a list of threads
// has hundreds of numbers.
func cutNumber(text string) (n int64, rest string, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	for i := range len(digits) {
		switch c := digits[i]; {
		case '0' <= c && c <= '9' && i < 19:
			n = 10*n + int64(c-'0')
		case c == ' ' && i > 0 && n >= 0: // 19 digits overflow at most once, and then to a negative number
			if len(digits) < len(text) {
				n = -n
			}
			return n, digits[i+1:], true
		default:
			return 0, "", false
		}
	}
	return 0, "", false
}

// Forum is a row of board_forums.
type Forum struct {
	ID, Parent      int64
	Depth, Position int64
	Kind            string // category, forum or link
	Title, Slug     string
	Description     string
	Link            sql.NullString // the address to which a link leads
	Open            bool
	AllowThreads    bool
	AllowReplies    bool
	ModerateThreads bool // whether new threads are held for approval
	ModeratePosts   bool // whether replies are held for approval
	RequiresPrefix  bool
	FloodSeconds    sql.NullInt64 // replaces the setting of the board; NULL: does not
	MinWords        int64         // of a post
	MaxWords        int64         // of a post
	Answers         bool          // whether replies can be marked as the answer

	// Only ScanCounted sets these fields.
	Threads, Posts int64
	LastAt         kernel.Moment
}

// ForumColumns lists the columns of board_forums f that ScanForum reads.
const ForumColumns = "f.id, COALESCE(f.parent_id, 0), f.depth, f.position, f.type, f.title, f.slug, f.description," +
	" f.link_url, f.is_open, f.allow_threads, f.allow_replies," +
	" f.moderate_threads, f.moderate_posts, f.requires_prefix, f.flood_seconds, COALESCE(f.min_words, 1)," +
	" COALESCE(f.max_words, 10000), f.answers"

// ScanForum reads a row of ForumColumns.
func ScanForum(r store.Row) (*Forum, error) {
	f := new(Forum)
	return f, r.Scan(&f.ID, &f.Parent, &f.Depth, &f.Position, &f.Kind, &f.Title, &f.Slug, &f.Description, &f.Link, &f.Open,
		&f.AllowThreads, &f.AllowReplies,
		&f.ModerateThreads, &f.ModeratePosts, &f.RequiresPrefix, &f.FloodSeconds, &f.MinWords, &f.MaxWords, &f.Answers)
}

// Post is a row of board_posts.
type Post struct {
	Thread, ID, Number int64 // Number counts from 1 in the thread
	Author             int64 // 0 if the author has no account
	AuthorName         string
	Visibility         int64 // rights.Visible, …
	Message, HTML      string
	RenderVersion      int64  // the version of the renderer that wrote HTML
	Hash               string // of the message; finds repeated texts
	Created            kernel.Moment
	EditedAt           kernel.Moment // 0 if the post was not edited
	editedBy, reason   sql.NullString
	Edits              int64
}

// PostColumns lists the columns of board_posts p that ScanPost reads.
const PostColumns = "p.thread_id, p.id, p.number, COALESCE(p.author_id, 0), p.author_name, p.visibility, p.message," +
	" p.message_html, p.render_version, p.body_hash, p.created_at," +
	" COALESCE(p.edited_at, 0), p.edited_by, p.edit_reason, p.edit_count"

// ScanPost reads a row of PostColumns.
func ScanPost(r store.Row) (*Post, error) {
	p := new(Post)
	return p, r.Scan(&p.Thread, &p.ID, &p.Number, &p.Author, &p.AuthorName, &p.Visibility, &p.Message, &p.HTML,
		&p.RenderVersion, &p.Hash, &p.Created,
		&p.EditedAt, &p.editedBy, &p.reason, &p.Edits)
}

// ForumFor returns a forum. It returns an error if the actor does not see it.
func ForumFor(c store.Conn, a *rights.Actor, id int64) (*Forum, error) {
	if err := SeesForum(a, id); err != nil {
		return nil, err
	}
	return ReadForum(c, id)
}

// SeesForum returns an error if the actor does not see the forum. If the actor sees it only as an administrator,
// SeesForum logs a look (see rights.LookLog).
func SeesForum(a *rights.Actor, id int64) error {
	f := a.In(id)
	if !f.Visible {
		return kernel.NotFound()
	}
	if !f.Seen {
		a.LogLook(id)
	}
	return nil
}

// ForumByID is the query for a forum by its id.
const ForumByID = "SELECT " + ForumColumns + " FROM board_forums f WHERE f.id = ?"

// ReadForum returns a forum by its id, without checking that an actor sees it.
func ReadForum(c store.Conn, id int64) (*Forum, error) {
	f, err := ScanForum(c.Row(ForumByID, id))
	return f, kernel.OrNotFound(err)
}

// ThreadFor returns a thread. It returns an error if the actor does not see it. lock is appended to the query: c.Lock()
// or an empty string.
func ThreadFor(c store.Conn, a *rights.Actor, id int64, lock string) (*Thread, error) {
	return SeenThread(a, c.Row(ThreadByID+lock, id))
}

// ThreadByID is the query for a thread by its id.
const ThreadByID = "SELECT " + ThreadColumns + " FROM board_threads t WHERE t.id = ?"

// SeenThread reads a thread from a row of ThreadColumns. It returns an error if the actor does not see the thread.
func SeenThread(a *rights.Actor, r store.Row) (*Thread, error) {
	t, err := ScanThread(r)
	if err != nil {
		return nil, kernel.OrNotFound(err)
	}
	if t.Visibility == rights.Gone || !a.Sees(t.Forum, t.Author, t.Author, t.Visibility) {
		return nil, kernel.NotFound()
	}
	return t, nil
}

// PostFor returns a post of thread t. It returns an error if the actor does not see the post.
func PostFor(c store.Conn, a *rights.Actor, t *Thread, id int64) (*Post, error) {
	p, err := ReadPost(c, t.ID, id)
	if err != nil {
		return nil, kernel.OrNotFound(err)
	}
	if !a.Sees(t.Forum, t.Author, p.Author, p.Visibility) {
		return nil, kernel.NotFound()
	}
	return p, nil
}

// ReadPost returns a post of a thread, without checking that an actor sees it. If the thread has no such post, the
// error is sql.ErrNoRows.
func ReadPost(c store.Conn, thread, id int64) (*Post, error) {
	return ScanPost(c.Row("SELECT "+PostColumns+" FROM board_posts p WHERE p.thread_id = ? AND p.id = ?", thread, id))
}

// PostByID returns a post and its thread. It returns an error if the actor does not see the post. lock is appended to
// the query of the thread: c.Lock() or an empty string.
func PostByID(c store.Conn, a *rights.Actor, id int64, lock string) (*Thread, *Post, error) {
	var thread int64
	if err := c.Row("SELECT thread_id FROM board_post_ids WHERE id = ?", id).Scan(&thread); err != nil {
		return nil, nil, kernel.OrNotFound(err)
	}
	return PostIn(c, a, thread, id, lock)
}

// PostIn works like PostByID for a post of the thread with the id thread.
func PostIn(c store.Conn, a *rights.Actor, thread, id int64, lock string) (*Thread, *Post, error) {
	t, err := ThreadFor(c, a, thread, lock)
	if err != nil {
		return nil, nil, err
	}
	p, err := PostFor(c, a, t, id)
	return t, p, err
}

// Tail is a Row that ends with additional columns. They are scanned into More, after the columns that Scan's caller
// reads.
type Tail struct {
	store.Row
	More []any
}

// Scan reads the first columns of the row into the arguments, and the remaining columns into More.
func (s Tail) Scan(dest ...any) error { return s.Row.Scan(append(dest, s.More...)...) }

// Mentioned returns the ids of the members whom the post mentions.
func (p *Post) Mentioned() []int64 { return markup.Mentioned(p.HTML) }

// LastOfThread updates the row of a thread after its posts have changed: it determines which post is now the last post,
// that is, the last visible post or, if no post is visible, the first post.
func LastOfThread(c store.Conn, t *Thread) error {
	var id int64
	var created kernel.Moment
	var name string
	err := c.Row("SELECT p.id, p.created_at, p.author_name FROM board_posts p WHERE p.thread_id = ? AND p.visibility = 0"+
		" ORDER BY p.id DESC LIMIT 1", t.ID).Scan(&id, &created, &name)
	if errors.Is(err, sql.ErrNoRows) {
		err = c.Row("SELECT p.id, p.created_at, p.author_name FROM board_posts p WHERE p.thread_id = ? ORDER BY p.id LIMIT 1",
			t.ID).Scan(&id, &created, &name)
	}
	if err != nil {
		return err
	}
	_, err = c.Exec("UPDATE board_threads SET last_post_id = ?, last_post_at = ?, last_poster_name = ? WHERE id = ?",
		id, created, name, t.ID)
	if err != nil {
		return err
	}
	return UpdateTagOrder(c, t.ID, created)
}

// UpdateTagOrder moves a thread to its new position in the lists of its tags, after its last post has changed.
func UpdateTagOrder(c store.Conn, thread int64, lastAt kernel.Moment) error {
	return c.Later("UPDATE board_thread_tags SET last_post_at = ? WHERE thread_id = ?", lastAt, thread)
}

// TakeTags copies the tags of the thread source to the thread target, unless target has tags already.
func TakeTags(c store.Conn, source, target *Thread) error {
	_, err := c.Exec("INSERT INTO board_thread_tags (tag_id, thread_id, last_post_at) SELECT g.tag_id, CAST(? AS BIGINT),"+
		" CAST(? AS BIGINT) FROM board_thread_tags g WHERE g.thread_id = ? AND NOT EXISTS"+
		" (SELECT 1 FROM board_thread_tags o WHERE o.thread_id = ?)", target.ID, target.LastAt, source.ID, target.ID)
	return err
}
