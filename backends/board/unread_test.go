package board

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestUnreadForums checks which forums of many have unread threads.
func TestUnreadForums(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		forums, threads := make([]string, 0, 60), make([]string, 0, 120)
		for i := range 60 {
			forums = append(forums, path(`{"slug": "many-%d", "title": "Many %d", "parent": "root"}`, i, i))
			for _, kind := range []string{"older", "newest"} {
				threads = append(threads, path(`{"forum": "many-%d", "title": "%s %d", "posts": [`+
					`{"author": "alice", "message": "%s %d", "at": "2026-01-01T01:%02d:00Z"}]}`, i, kind, i, kind, i, i%60))
			}
		}
		_, err := s.service.Seed(t.Context(), strings.NewReader(`{"forums": [`+strings.Join(forums, ",")+`], "threads": [`+
			strings.Join(threads, ",")+`]}`), seed.Options{})
		must(t, err)
		unread := func() (slugs []string) {
			tree, err := s.service.Posts.Tree(t.Context(), s.actor("bob"))
			must(t, err)
			for _, f := range tree {
				if f.Unread && strings.HasPrefix(f.Slug, "many-") {
					slugs = append(slugs, f.Slug)
				}
			}
			slices.Sort(slugs)
			return slugs
		}
		if got := unread(); len(got) != 60 {
			t.Errorf("%d forums are unread that nobody has read", len(got))
		}
		s.exec("INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at)"+
			" SELECT u.id, t.id, t.last_post_id, 0 FROM board_users u, board_threads t WHERE u.username = ?", "bob")
		if got := unread(); len(got) != 0 {
			t.Errorf("unread after all was read: %v", got)
		}
		s.exec("DELETE FROM board_thread_reads WHERE thread_id IN (SELECT id FROM board_threads WHERE title IN (?, ?))",
			"older 7", "newest 9")
		if got := unread(); !slices.Equal(got, []string{"many-7", "many-9"}) {
			t.Errorf("unread: %v", got)
		}
	})
}

// TestUnread checks the list of unread threads of all forums: what it contains, in which order and on which page.
func TestUnread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		threads := make([]string, 0, 60)
		for i := range 50 {
			threads = append(threads, path(`{"forum": "busy", "title": "Busy %02d", "posts": [`+
				`{"author": "alice", "message": "Busy %d", "at": "2026-01-01T01:%02d:00Z"}]}`, i, i, i))
		}
		for _, title := range []string{"Followed", "Followed and read", "Not now"} {
			threads = append(threads, path(`{"forum": "calm", "title": "%s", "posts": [`+
				`{"author": "alice", "message": "%s", "at": "2026-01-01T00:30:00Z"}]}`, title, title))
		}
		threads = append(threads,
			`{"forum": "calm", "title": "Long ago", "posts": [{"author": "alice", "message": "Long ago", "at": "2025-01-01T00:00:00Z"}]}`,
			`{"forum": "secret", "title": "Secret", "posts": [{"author": "alice", "message": "A secret", "at": "2026-01-01T02:00:00Z"}]}`)
		_, err := s.service.Seed(t.Context(), strings.NewReader(`{"forums": [{"slug": "busy", "title": "Busy", "parent": "root"},`+
			`{"slug": "calm", "title": "Calm", "parent": "root"}, {"slug": "secret", "title": "Secret", "parent": "root"}],`+
			` "overrides": [{"forum": "secret", "group": "registered", "deny": ["forum.view"]}], "threads": [`+
			strings.Join(threads, ",")+`]}`), seed.Options{})
		must(t, err)
		s.exec("UPDATE board_threads SET visibility = 2 WHERE title = ?", "Busy 48")
		// All threads from before are read, and so are some of the busy threads.
		s.exec("INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at)"+
			" SELECT u.id, t.id, t.last_post_id, 0 FROM board_users u, board_threads t WHERE u.username = ? AND"+
			" (t.title NOT LIKE 'Busy %' AND t.title NOT IN ('Followed', 'Not now', 'Long ago', 'Secret') OR t.title LIKE 'Busy %0'"+
			" OR t.title LIKE 'Busy %2' OR t.title LIKE 'Busy %4')", "bob")
		for title, mode := range map[string]string{"Followed": "daily", "Followed and read": "instant", "Not now": "none"} {
			s.exec("INSERT INTO board_subscriptions (user_id, target, target_id, mode, created_at, last_notified_post_id)"+
				" SELECT u.id, 'thread', t.id, ?, 0, 0 FROM board_users u, board_threads t WHERE u.username = ? AND t.title = ?",
				mode, "bob", title)
		}
		bob := s.actor("bob")
		titles := func(list []content.ThreadInfo) (titles []string) {
			for _, thread := range list {
				titles = append(titles, thread.Title)
			}
			return titles
		}
		var want []string
		for i := 49; i >= 0; i-- {
			if last := i % 10; i != 48 && last != 0 && last != 2 && last != 4 {
				want = append(want, path("Busy %02d", i))
			}
		}
		want = append(want, "Not now")
		var got []string
		first, err := s.service.Posts.Unread(t.Context(), bob, "", 10)
		must(t, err)
		if list := titles(first.Followed); !slices.Equal(list, []string{"Followed"}) {
			t.Errorf("followed are %q", list)
		}
		pages := 0
		for page := first; ; pages++ {
			if len(page.Others) > 10 || len(page.Others) < 10 && page.Next != "" {
				t.Fatalf("a page has %d threads, and %q is next", len(page.Others), page.Next)
			}
			got = append(got, titles(page.Others)...)
			if page.Next == "" {
				break
			}
			page, err = s.service.Posts.Unread(t.Context(), bob, page.Next, 10)
			must(t, err)
			if len(page.Followed) != 0 {
				t.Error("a later page has the followed threads again")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("unread are\n%q, want\n%q", got, want)
		}
		if _, err := s.service.Posts.Unread(t.Context(), bob, first.Next+"x", 10); err == nil {
			t.Error("a changed cursor is accepted")
		}
		guest, err := s.service.Rights.Guest(t.Context())
		must(t, err)
		if _, err := s.service.Posts.Unread(t.Context(), guest, "", 10); !kernel.IsNotFound(err) {
			t.Errorf("a guest gets %v", err)
		}
		must(t, s.service.Following.MarkForumRead(t.Context(), bob, 0))
		if all, err := s.service.Posts.Unread(t.Context(), bob, "", 10); err != nil || len(all.Followed)+len(all.Others) != 0 || all.Next != "" {
			t.Errorf("after all was marked as read: %+v, %v", all, err)
		}
	})
}

// TestUnreadReadsBatches checks that a member who has read nearly everything gets to an old unread thread, in pages
// that each read a limited number of threads.
func TestUnreadReadsBatches(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		const count = 1100
		threads := make([]string, 0, count)
		for i := range count {
			threads = append(threads, path(`{"forum": "busy", "title": "Busy %04d", "posts": [`+
				`{"author": "alice", "message": "Busy %d", "at": "2026-01-01T01:%02d:%02dZ"}]}`, i, i, i/60, i%60))
		}
		_, err := s.service.Seed(t.Context(), strings.NewReader(`{"forums": [{"slug": "busy", "title": "Busy", "parent": "root"}],`+
			` "threads": [`+strings.Join(threads, ",")+`]}`), seed.Options{})
		must(t, err)
		s.exec("INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at)"+
			" SELECT u.id, t.id, t.last_post_id, 0 FROM board_users u, board_threads t WHERE u.username = ? AND t.title <> ?",
			"bob", "Busy 0003")
		bob := s.actor("bob")
		page, err := s.service.Posts.Unread(t.Context(), bob, "", 10)
		must(t, err)
		if len(page.Others) != 0 || page.Next == "" {
			t.Fatalf("the first page is %+v", page)
		}
		page, err = s.service.Posts.Unread(t.Context(), bob, page.Next, 10)
		must(t, err)
		if len(page.Others) != 1 || page.Others[0].Title != "Busy 0003" || page.Next != "" {
			t.Errorf("the second page is %+v", page)
		}
	})
}
