package board

import (
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// crowd adds posts of many words to a thread. Each tenth has the word "tenth",
// each has "every", the first has "needle", and those of the first half have "old".
func (s *site) crowd(thread int64, posts int) {
	s.t.Helper()
	message := "'every word' || (n % 20) || CASE WHEN n % 10 = 0 THEN ' tenth' ELSE '' END || CASE WHEN n = 1 THEN ' needle' ELSE '' END || CASE WHEN n <= ? / 2 THEN ' old' ELSE '' END"
	numbers := "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
	words := "INSERT INTO board_search (rowid, title, message) SELECT p.id, '', p.message FROM board_posts p WHERE p.thread_id = ? AND p.id > ?"
	if s.service.DB.Dialect() == store.Postgres {
		words = "INSERT INTO board_search (post_id, words) SELECT p.id, to_tsvector('simple', p.message) FROM board_posts p WHERE p.thread_id = ? AND p.id > ?"
	}
	last := s.number("SELECT max(id) FROM board_post_ids")
	s.exec(numbers+"INSERT INTO board_post_ids (thread_id, forum_id, visibility, created_at) SELECT t.id, t.forum_id, 0, CAST(n AS BIGINT) FROM numbers, board_threads t WHERE t.id = ?", posts, thread)
	s.exec("INSERT INTO board_posts (thread_id, id, number, author_name, visibility, message, message_html, render_version, body_hash, created_at)"+
		" SELECT thread_id, id, n + 1, 'crowd', 0, "+message+", '', 0, '', n FROM (SELECT thread_id, id, id - CAST(? AS BIGINT) n FROM board_post_ids WHERE thread_id = ? AND id > ?) i", posts, last, thread, last)
	s.exec(words, thread, last)
}

// found walks a search page by page and counts its posts, which come newest first.
func (s *site) found(words string) (n int) {
	s.t.Helper()
	before := int64(0)
	guest, err := s.service.Guest(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for after := int64(0); ; {
		page, next, err := s.service.Search(s.t.Context(), guest, posts.SearchQuery{Text: words, After: after, Limit: 90})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, f := range page {
			if before != 0 && f.Post.ID >= before {
				s.t.Fatalf("%s: post %d behind %d", words, f.Post.ID, before)
			}
			before = f.Post.ID
		}
		if n += len(page); next == 0 {
			return n
		}
		after = next
	}
}

// TestSearchWalk: every post with the words is found once, however many there are
// and wherever.
func TestSearchWalk(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		thread := s.number("SELECT min(id) FROM board_threads WHERE visibility = 0 AND forum_id = ?", s.forum("public"))
		const posts = 6000
		s.crowd(thread, posts)
		for words, want := range map[string]int{
			"needle": 1, "tenth": posts / 10, "old": posts / 2, "old tenth": posts / 20, "word7": posts / 20, "needle tenth": 0, "nowhere": 0, "every old tenth": posts / 20,
		} {
			if n := s.found(words); n != want {
				t.Errorf("%s: %d posts, want %d", words, n, want)
			}
		}
	})
}

// TestSearchReadsWhatItFinds: on PostgreSQL a search for a rare word does not walk
// through all posts.
func TestSearchReadsWhatItFinds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		if db.Dialect() == store.SQLite {
			return // see TestPlans
		}
		s := newSite(t, db, kernel.Options{})
		thread := s.number("SELECT min(id) FROM board_threads WHERE visibility = 0 AND forum_id = ?", s.forum("public"))
		const posts = 60_000
		s.crowd(thread, posts)
		bare := func(statement string) {
			t.Helper()
			if err := db.Read(t.Context(), func(c store.Conn) error { _, err := c.Exec(statement); return err }); err != nil {
				t.Fatal(err)
			}
		}
		bare("VACUUM ANALYZE board_search")
		// read is how many rows all have read, when that is told of.
		read := func(scans int64) (rows int64) {
			t.Helper()
			deadline := time.Now().Add(2 * time.Minute)
			for s.number("SELECT idx_scan + seq_scan FROM pg_stat_user_tables WHERE relname = 'board_search'") < scans {
				if time.Now().After(deadline) {
					t.Fatal("the scans are not told of")
				}
				time.Sleep(10 * time.Millisecond)
			}
			return s.number("SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'board_search'")
		}
		scans := s.number("SELECT idx_scan + seq_scan FROM pg_stat_user_tables WHERE relname = 'board_search'")
		before := read(0)
		if n := s.found("needle"); n != 1 {
			t.Fatalf("%d posts", n)
		}
		if rows := read(scans+1) - before; rows > posts/10 {
			t.Errorf("%d of %d rows were read for one", rows, posts)
		}
	})
}
