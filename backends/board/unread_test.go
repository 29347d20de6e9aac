package board

import (
	"slices"
	"strings"
	"testing"

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
