package board

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// spammed seeds a thread with runs of deleted posts between visible ones.
func (s *site) spammed(title string, date time.Time, runs ...int) (thread int64) {
	s.t.Helper()
	var b strings.Builder
	b.WriteString(path(`{"threads":[{"forum":"public","title":%q,"posts":[{"author":"alice","message":"first","at":%q}`, title, date.Format(time.RFC3339)))
	for n, run := range runs {
		for i := range run {
			b.WriteString(path(`,{"author":"bob","message":"spam %d %d","at":%q,"visibility":"deleted"}`, n, i, date.Format(time.RFC3339)))
		}
		b.WriteString(path(`,{"author":"alice","message":"after %d","at":%q}`, n, date.Format(time.RFC3339)))
	}
	b.WriteString("]}]}")
	if _, err := s.service.Seed(s.t.Context(), strings.NewReader(b.String()), seed.Options{}); err != nil {
		s.t.Fatal(err)
	}
	return s.threadOf(title)
}

// TestArchive checks that long runs of old deleted posts are archived, that clients notice nothing except those who
// see deleted posts, and that restore brings an archived post back.
func TestArchive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		month := s.clock.now().Add(-31 * 24 * time.Hour)
		thread := s.spammed("Spammed", month, posts.ArchiveRun+700, 300, posts.ArchiveRun+1, posts.ArchiveRun)
		young := s.spammed("Spammed of late", s.clock.now().Add(-29*24*time.Hour), posts.ArchiveRun+200)
		list := path("/threads/%d/posts", thread)
		before := s.do("", "GET", list, "").want(200).body
		last := s.do("", "GET", path("/threads/%d", thread), "").want(200).body

		const want = 2*posts.ArchiveRun + 701
		if moved, err := s.service.Posts.Archive(t.Context()); moved != want || err != nil {
			t.Fatalf("%d moved, want %d: %v", moved, want, err)
		}
		if moved, err := s.service.Posts.Archive(t.Context()); moved != 0 || err != nil {
			t.Errorf("%d moved again: %v", moved, err)
		}
		for query, want := range map[string]int64{
			"SELECT count(*) FROM board_posts WHERE visibility = 2 AND thread_id = ?":         300 + posts.ArchiveRun,
			"SELECT count(*) FROM board_posts_archive WHERE visibility = 2 AND thread_id = ?": want,
			"SELECT count(*) FROM board_post_ids WHERE visibility = 3 AND thread_id = ?":      want,
		} {
			if n := s.number(query, thread); n != want {
				t.Errorf("%s: %d, want %d", query, n, want)
			}
		}
		if n := s.number("SELECT count(*) FROM board_posts_archive WHERE thread_id = ?", young); n != 0 {
			t.Errorf("%d posts of less than a month are archived", n)
		}
		if after := s.do("", "GET", list, "").want(200).body; after != before {
			t.Errorf("the page was\n%s\nand is\n%s", before, after)
		}
		if after := s.do("", "GET", path("/threads/%d", thread), "").want(200).body; after != last {
			t.Errorf("the thread was\n%s\nand is\n%s", last, after)
		}

		id := s.number("SELECT min(id) FROM board_posts_archive")
		s.do("bob", "POST", path("/posts/%d/restore", id), "").want(404)
		if n := s.number("SELECT count(*) FROM board_posts_archive"); n != want {
			t.Errorf("a refused restore leaves %d in the archive", n)
		}
		s.do("mod", "POST", path("/posts/%d/restore", id), "").want(200)
		if p := data[content.PostInfo](s.do("", "GET", path("%s/%d", list, id), "").want(200)); p.Message != "spam 0 0" || p.Number != 2 {
			t.Errorf("restored %+v", p)
		}
		if n := s.number("SELECT count(*) FROM board_posts_archive"); n != want-1 {
			t.Errorf("%d in the archive after one was restored", n)
		}
		s.do("mod", "POST", path("/posts/%d/restore", id), "").want(409)

		// Archived posts move with their thread to another forum.
		archived := s.number("SELECT min(id) FROM board_posts_archive")
		s.exec("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) VALUES (?, ?, ?, 'spam', 1)", archived, s.forum("public"), s.actor("bob").ID())
		s.do("mod", "PATCH", path("/threads/%d", thread), path(`{"forumId":%d}`, s.forum("members"))).want(200)
		for _, table := range []string{"board_post_ids WHERE visibility = 3", "board_reports WHERE post_id IN (SELECT id FROM board_posts_archive)"} {
			if n := s.number("SELECT count(*) FROM "+table+" AND forum_id <> ?", s.forum("members")); n != 0 {
				t.Errorf("%s: %d are of the old forum", table, n)
			}
		}
		if n := s.number(`SELECT count(*) FROM board_threads t WHERE t.reply_count <>
			(SELECT count(*) FROM board_posts p WHERE p.thread_id = t.id AND p.visibility = 0 AND p.number > 1)`); n != 0 {
			t.Errorf("%d threads count wrong", n)
		}
	})
}
