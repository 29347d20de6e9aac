package seed

import (
	"cmp"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// reserve returns n ids for new rows of a table, in ascending order. The caller must insert rows with these ids in the
// same transaction.
func reserve(c store.Conn, table string, n int) ([]int64, error) {
	ids := make([]int64, 0, n)
	if c.Dialect() == store.Postgres {
		return ids, c.All("SELECT nextval(pg_get_serial_sequence(?, 'id')) FROM generate_series(1, ?)",
			[]any{table, n}, func(r store.Row) error {
				var id int64
				err := r.Scan(&id)
				ids = append(ids, id)
				return err
			})
	}
	// SQLite has only one writer, so no lock is needed. Inserting a row with an explicit id advances the sequence.
	var last int64
	if err := c.Row("SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)",
		table).Scan(&last); err != nil {
		return nil, err
	}
	for i := range n {
		ids = append(ids, last+int64(i)+1)
	}
	return ids, nil
}

// bulk collects rows of one table, to insert many of them with each statement. statement is the part of the statement
// before the rows; row holds the placeholders of one row.
type bulk struct {
	statement, row string
	args           []any
}

// add adds a row with these values.
func (b *bulk) add(values ...any) { b.args = append(b.args, values...) }

// insert inserts the collected rows.
func (b *bulk) insert(c store.Conn) error {
	width := strings.Count(b.row, "?") // values of one row
	for args := b.args; len(args) > 0; {
		// A statement inserts 64, 8 or 1 rows, so that few different statements are prepared.
		rows := 1
		for _, n := range []int{64, 8} {
			if len(args) >= n*width {
				rows = n
				break
			}
		}
		if _, err := c.Exec(b.statement+b.row+strings.Repeat(", "+b.row, rows-1), args[:rows*width]...); err != nil {
			return err
		}
		args = args[rows*width:]
	}
	return nil
}

// placeholders returns the placeholders of a row with n values.
func placeholders(n int) string { return "(" + kernel.Marks(n) + ")" }

// nullTime converts a time for a nullable column: the zero time becomes NULL.
func nullTime(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// nullText returns text or, if text is empty, byDefault. If valid is false it returns NULL.
func nullText(text, byDefault string, valid bool) sql.NullString {
	return sql.NullString{String: cmp.Or(text, byDefault), Valid: valid}
}

// seedCounts collects how much a batch of threads increases the counters of forums and members.
type seedCounts struct {
	forums  map[int64]forumCount
	users   map[int64]userCount
	members map[memberForum]int64 // visible posts of a member in a forum
}

// memberForum is a member in a forum.
type memberForum struct{ forum, member int64 }

// forumCount counts the visible threads and posts of a forum.
type forumCount struct{ threads, posts int64 }

// userCount counts the visible posts of a member. lastAt is the time of the member's last post.
type userCount struct {
	posts  int64
	lastAt kernel.Moment
}

// addPost counts a post of thread t for its author a.
func (s seedCounts) addPost(t *content.Thread, p *readyPost, a author) {
	visible := p.visibility == rights.Visible
	n := s.users[a.id]
	n.posts += int64(kernel.Bool(visible))
	n.lastAt = max(n.lastAt, p.created)
	s.users[a.id] = n
	if visible && t.Visibility == rights.Visible {
		s.members[memberForum{t.Forum, a.id}]++
	}
}

// addThread counts a thread and its replies for the thread's forum, if the thread is visible.
func (s seedCounts) addThread(t *content.Thread) {
	if t.Visibility != rights.Visible {
		return
	}
	n := s.forums[t.Forum]
	n.threads++
	n.posts += 1 + t.Replies
	s.forums[t.Forum] = n
}

// write adds the counts to the counter rows in the database. It changes rows in ascending order, so that two nodes
// cannot deadlock.
func (s seedCounts) write(c store.Conn) error {
	for _, id := range slices.Sorted(maps.Keys(s.forums)) {
		n := s.forums[id]
		if _, err := c.Exec("UPDATE board_forums SET thread_count = thread_count + ?, post_count = post_count + ?"+
			" WHERE id = ?", n.threads, n.posts, id); err != nil {
			return err
		}
	}
	byForum := func(x, y memberForum) int {
		return cmp.Or(cmp.Compare(x.forum, y.forum), cmp.Compare(x.member, y.member))
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.members), byForum) {
		if err := content.CountPosts(c, key.member, key.forum, s.members[key]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		n := s.users[id]
		if _, err := c.Exec("UPDATE board_users SET post_count = post_count + ? WHERE id = ?", n.posts, id); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE board_users SET last_post_at = ? WHERE id = ? AND COALESCE(last_post_at, 0) < ?",
			n.lastAt, id, n.lastAt); err != nil {
			return err
		}
	}
	return nil
}
