package board

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// crowd adds posts of many words to a thread. Every tenth post has the word "tenth", each one has "every", the first
// has "needle", and those of the first half have "old".
func (s *site) crowd(thread int64, posts int) {
	s.t.Helper()
	message := "'every word' || (n % 20) || CASE WHEN n % 10 = 0 THEN ' tenth' ELSE '' END || CASE WHEN n = 1 THEN ' needle' ELSE '' END || CASE WHEN n <= ? / 2 THEN ' old' ELSE '' END"
	numbers := "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
	words := "INSERT INTO board_search (rowid, title, message) SELECT p.id, '', p.message FROM board_posts p WHERE p.thread_id = ? AND p.id > ?"
	if s.service.kernel.DB.Dialect() == store.Postgres {
		words = "INSERT INTO board_search (post_id, words) SELECT p.id, to_tsvector('simple', p.message) FROM board_posts p WHERE p.thread_id = ? AND p.id > ?"
	}
	last := s.number("SELECT max(id) FROM board_post_ids")
	s.exec(numbers+"INSERT INTO board_post_ids (thread_id, forum_id, visibility, created_at) SELECT t.id, t.forum_id, 0, CAST(n AS BIGINT) FROM numbers, board_threads t WHERE t.id = ?", posts, thread)
	s.exec("INSERT INTO board_posts (thread_id, id, number, author_name, visibility, message, message_html, render_version, body_hash, created_at)"+
		" SELECT thread_id, id, n + 1, 'crowd', 0, "+message+", '', 0, '', n FROM (SELECT thread_id, id, id - CAST(? AS BIGINT) n FROM board_post_ids WHERE thread_id = ? AND id > ?) i", posts, last, thread, last)
	s.exec(words, thread, last)
}

// found walks through a search page by page and counts its posts, which must come newest first.
func (s *site) found(words string) (n int) {
	s.t.Helper()
	before := int64(0)
	guest, err := s.service.Rights.Guest(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for after := int64(0); ; {
		page, next, err := s.service.Search.Find(s.t.Context(), guest, search.Query{Text: words, After: after, Limit: 90})
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

// TestSearchWalk checks that a search finds every post with the words once, however many there are and wherever they
// are.
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

// TestSearchReadsFewPosts checks that on PostgreSQL a search for a rare word does not read all posts.
func TestSearchReadsFewPosts(t *testing.T) {
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
		// read returns how many rows were read by all connections, once the statistics have it.
		read := func(scans int64) (rows int64) {
			t.Helper()
			deadline := time.Now().Add(2 * time.Minute)
			for s.number("SELECT idx_scan + seq_scan FROM pg_stat_user_tables WHERE relname = 'board_search'") < scans {
				if time.Now().After(deadline) {
					t.Fatal("the statistics do not show the scans")
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

// split is a text whose words engines split otherwise than people do.
const split = "See https://docs.example.com/guide/install.html?x=abc or mail bob.smith@acme.org; set config.yaml in /etc/nginx/ to v1.2.3, -5 or 3.14." +
	" #include <vector> List<String> AT&T foo-bar snake_case node.js don’t Straße ΣΊΣΥΦΟΣ İstanbul Café 東京タワーに行った ภาษาไทย हिन्दी key=value" +
	" 학교에서 공부했다 Łódź Ørsted Đurđica Ærø"

// A search finds the words of wordsOfSplit in the text, and those of noWordsOfSplit not.
var (
	wordsOfSplit = []string{
		"docs.example.com", "example", "guide", "install.html", "abc", "bob.smith@acme.org", "smith", "config.yaml", "yaml", "/etc/nginx/", "v1.2.3", "5", "-5", "3.14", "14",
		"include", "vector", "<vector>", "List<String>", "string", "AT&T", "foo", "foo-bar", "snake", "snake_case", "node.js", "NODE", "don't", "don’t", "STRASSE", "σίσυφος", "istanbul", "cafe", "café",
		"東京", "タワー", "東京タワーに行った", "東京 行った", "ไทย", "हिन्दी", "value", `"node"`, `'node`,
		"학교", "학교에서", "공부", "\u1112\u1161\u11a8\u1100\u116d", "lodz", "łódź", "LODZ", "orsted", "Ørsted", "durdica", "aero", "Ærø",
	}
	noWordsOfSplit = []string{"京東", "東行", "exampl", "nod", "東京 nowhere", "node OR (nowhere)", "교학", "학에", "odz"}
)

// TestSearchSplitsWords checks that both engines find every word of a text whatever surrounds it, and parts of what
// is written without spaces.
func TestSearchSplitsWords(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.do("mod", "POST", path("/forums/%d/threads", s.forum("public")), path(`{"title":"第一編","message":%s}`, quoted(split))).want(201)
		s.finds(wordsOfSplit, noWordsOfSplit)
		s.finds([]string{"一編"}, []string{"編See"}) // no phrase spans the title and the text
		// The largest numbers of words, and of positions of one word.
		s.do("mod", "POST", path("/forums/%d/threads", s.forum("public")), path(`{"title":"Many","message":%s}`, quoted(strings.Repeat("長", 4900)+strings.Repeat("x", 5000)+" behind"))).want(201)
		s.finds([]string{"長長長", strings.Repeat("x", 200), "behind"}, nil)
	})
}

// finds checks which words find a post.
func (s *site) finds(words, others []string) {
	s.t.Helper()
	for _, word := range words {
		if n := s.found(word); n != 1 {
			s.t.Errorf("%s: %d posts", word, n)
		}
	}
	for _, word := range others {
		if n := s.found(word); n != 0 {
			s.t.Errorf("%s: %d posts, want none", word, n)
		}
	}
}

// TestSearchOfOlderPosts checks that posts whose words were split by the engine are split again, once.
func TestSearchOfOlderPosts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		if n, err := s.service.Search.IndexPosts(t.Context()); err != nil || n != 0 {
			t.Fatalf("of a new board: %d, %v", n, err)
		}
		created := data[api.Created](s.do("mod", "POST", path("/forums/%d/threads", s.forum("public")), path(`{"title":"Search","message":%s}`, quoted(split))).want(201))
		s.exec("DELETE FROM board_search WHERE " + map[store.Dialect]string{store.SQLite: "rowid", store.Postgres: "post_id"}[db.Dialect()] + " > 0")
		older := "INSERT INTO board_search (rowid, title, message) SELECT id, 'Search', message FROM board_posts"
		if db.Dialect() == store.Postgres {
			older = "INSERT INTO board_search (post_id, words) SELECT id, to_tsvector('simple', message) FROM board_posts"
		}
		s.exec(older)
		s.exec("DELETE FROM board_settings WHERE name = 'search_indexed'") // all posts are to be indexed again
		if s.found("東京") != 0 {
			t.Fatal("nothing is to be done")
		}
		if n, err := s.service.Search.IndexPosts(t.Context()); err != nil || n == 0 {
			t.Fatalf("%d, %v", n, err)
		}
		s.finds(wordsOfSplit, noWordsOfSplit)
		if n, err := s.service.Search.IndexPosts(t.Context()); err != nil || n != 0 {
			t.Errorf("once more: %d, %v", n, err)
		}
		// A post that was in the archive meanwhile is found after it was restored.
		s.exec("DELETE FROM board_search WHERE "+map[store.Dialect]string{store.SQLite: "rowid", store.Postgres: "post_id"}[db.Dialect()]+" = ?", created.PostID)
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", created.ID, created.PostID), "").want(200)
		s.do("mod", "POST", path("/posts/%d/restore", created.PostID), "").want(200)
		s.finds(wordsOfSplit, noWordsOfSplit)
	})
}
