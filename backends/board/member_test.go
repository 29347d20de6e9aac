package board

import (
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPostsOfMember checks that the posts and threads of a member are listed once, page by page, and only those that
// the reader may see.
func TestPostsOfMember(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		postsBy := func(reader, member string, limit int) (messages []string) {
			t.Helper()
			for after := int64(0); ; {
				page, next, err := s.service.Search.By(t.Context(), s.actor(reader), s.user(member), after, limit)
				must(t, err)
				for _, f := range page {
					messages = append(messages, f.Post.Message)
				}
				if after = next; next == 0 {
					return messages
				}
			}
		}
		threadsBy := func(reader, member string, limit int) (titles []string) {
			t.Helper()
			for after := ""; ; {
				page, next, err := s.service.Posts.ThreadsBy(t.Context(), s.actor(reader), s.user(member), after, limit)
				must(t, err)
				for _, f := range page {
					titles = append(titles, f.Title)
				}
				if after = next; next == "" {
					return titles
				}
			}
		}
		for reader, want := range map[string][]string{
			"":      {"public second"},
			"alice": {"members second", "public second"},
			"bob":   {"members second", "public second"}, // a profile shows no held or deleted posts
			"mod":   {"members second", "public second"},
		} {
			if got := postsBy(reader, "bob", 1); !slices.Equal(got, want) {
				t.Errorf("%q sees posts %q of bob, not %q", reader, got, want)
			}
		}
		for reader, want := range map[string][]string{
			"":      {"Locked thread", "Public thread"},
			"bob":   {"Members thread", "Locked thread", "Public thread"},
			"alice": {"Alice ticket", "Members thread", "Locked thread", "Public thread"},
		} {
			got := threadsBy(reader, "alice", 2)
			if !slices.Equal(got, want) {
				t.Errorf("%q sees threads %q of alice, not %q", reader, got, want)
			}
			if len(postsBy(reader, "alice", 3)) != len(want) {
				t.Errorf("%q sees posts %q of alice", reader, postsBy(reader, "alice", 3))
			}
		}
		if got := threadsBy("alice", "mod", 5); len(got) != 0 {
			t.Errorf("threads of the staff: %q", got)
		}
		_, _, err := s.service.Posts.ThreadsBy(t.Context(), s.actor(""), s.user("alice"), "broken", 5)
		refused(t, "a broken cursor", err, 400, "")
		page, _, err := s.service.Posts.ThreadsBy(t.Context(), s.actor("bob"), s.user("alice"), "", 1)
		must(t, err)
		if page[0].Title != "Members thread" {
			t.Errorf("first is %q", page[0].Title)
		}
	})
}

// TestSearchThread searches in a single thread.
func TestSearchThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread, _ := s.started("public", "Needles here", 3)
		s.started("public", "Needles there", 2)
		hidden := data[api.Created](s.do("admin", "POST", path("/forums/%d/threads", s.forum("staff")), `{"title":"Needles of the staff","message":"needles reply"}`).want(201)).ID
		find := func(in int64) int {
			t.Helper()
			found, _, err := s.service.Search.Find(t.Context(), s.actor("bob"), search.Query{Text: "reply", Thread: in, Limit: 20})
			must(t, err)
			return len(found)
		}
		if all, single, none := find(0), find(thread), find(hidden); all != 5 || single != 3 || none != 0 {
			t.Errorf("found %d, in the thread %d, in a hidden one %d", all, single, none)
		}
	})
}
